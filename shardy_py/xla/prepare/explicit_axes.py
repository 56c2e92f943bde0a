"""Meshes with `AxisType.Explicit`, as JAX lowers them: shardings are types, so that each op has a constraint.

    %1 = stablehlo.sine %0 : ...                             loc("jit(f)/sin")
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}, {}]>     loc("jit(f)/sin")

Users change them by `out_sharding=` of some functions and by `jax.sharding.reshard`: with such axes
`with_sharding_constraint` only asserts. Not here: the words of advice (`shardy_py.search.advice`).
"""

from __future__ import annotations

from typing import Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult

from shardy_py.mlir.dialects.sdy import ShardingConstraintOp
from shardy_py.mlir.holders import Holder, Place, read
from shardy_py.mlir.ir import find_ops, operands_of
from shardy_py.mlir.location_names import name_stack

Given = Literal["jax.sharding.reshard", "out_sharding="]
"""The primitives of JAX that give a value its type."""
_RESHARD = "reshard"
_CONSTRAINT = "sharding_constraint"
_TAKE_SHARDING = {
    *("broadcast_in_dim", "conv_general_dilated", "dot_general", "gather", "iota", "ragged_dot_general"),
    *("random_bits", "reshape", "scatter", "scatter-add"),
}
"""Primitives of functions with `out_sharding=`."""


def has_explicit_axes(module: ModuleOp) -> bool:
    """Returns whether all axes are explicit: an op is followed by a constraint of its own location.

    With some automatic axes, such constraints are open, and others are for `with_sharding_constraint`.
    """
    return any(map(_is_type, find_ops(module, ShardingConstraintOp.name)))


def given_by(constraint: Operation) -> Given | None:
    """Returns what gives a value the type that a constraint is; None if the types of its operands do."""
    primitive = _primitive(constraint)
    if primitive == _RESHARD:
        return "jax.sharding.reshard"
    return "out_sharding=" if primitive in _TAKE_SHARDING else None


def typed(op: Operation) -> Operation:
    """Returns the op whose result a constraint is the type of; another op, or one of an argument, itself."""
    computing = op
    while isinstance(computing, ShardingConstraintOp):
        operand = operands_of(computing)[0]
        if not isinstance(operand, OpResult):
            return op
        computing = operand.op
    return computing


def _is_type(constraint: Operation) -> bool:
    operand, location = operands_of(constraint)[0], constraint.location
    if not isinstance(operand, OpResult) or operand.op.location != location:
        return False
    primitive, sharding = _primitive(constraint), read(Holder(Place.PROPERTY, constraint))
    is_closed = sharding is not None and all(each.is_closed for each in sharding.dimensions)
    return is_closed and primitive not in ("", _RESHARD, _CONSTRAINT)


def _primitive(op: Operation) -> str:
    """The last name of JAX's name stack, that of the primitive which an op is lowered from."""
    return name_stack(op.location).rpartition("/")[2]
