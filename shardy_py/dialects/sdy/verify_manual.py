"""Verifier of manual computations: the invariants of the sharding API.

    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"data"}, {"model", ?}]>]
        out_shardings=[<@mesh, [{"data"}, {?}]>] manual_axes={"data"} (%arg1: tensor<8x32xf32>) { ... }

Types in the body are local along the manual axes, and global along the free ones. A program may come with
manual axes in any order and leave those unmentioned that shard nothing; `sdy-manual-axes-cleanup` puts that
right.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute

from shardy_py.dialects.faults import Fault, prefixed
from shardy_py.dialects.sdy.ops import ManualComputationOp
from shardy_py.dialects.sdy.verify_sharding import check_shardings, check_unbound, sizes_of
from shardy_py.dialects.verification.scope import Scope
from shardy_py.sharding import AxisRef, TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.text.attribute_writer import attribute_text


def check_manual_axes(op: ManualComputationOp, scope: Scope) -> None:
    """No manual axis is bound by a manual computation around."""
    check_unbound(map(AxisRef, op.manual_axes.data), scope)


def check_manual_computation(op: ManualComputationOp, scope: Scope) -> None:
    """A manual computation, in this order, operands before results:

    - one sharding a value, each fitting the global type; as many values inside as outside
    - in each dimension manual axes precede free ones, and divide its size
    - the type inside is the local one
    - all shardings are of one mesh, or of an empty one; it has the manual axes
    """
    last = op.body.block.last_op
    returned = [value.type for value in last.operands] if last is not None else []
    ins, outs = op.in_shardings.data, op.out_shardings.data
    arguments = [v.type for v in op.body.block.args]
    _check_side(op, scope, "operand", ins, [v.type for v in op.operands], arguments)
    _check_side(op, scope, "result", outs, [v.type for v in op.results], returned)
    _check_meshes(op, scope, (*ins, *outs))


def _check_side(
    op: ManualComputationOp,
    scope: Scope,
    what: str,
    shardings: Sequence[TensorSharding],
    outer: Sequence[Attribute],
    inner: Sequence[Attribute],
) -> None:
    if not (outer or inner or shardings):
        return
    with prefixed(f"{what} "):
        check_shardings(shardings, outer, scope)
    if len(outer) != len(inner):
        raise Fault(
            f"number of op {what}s and region {what}s must match. Op has {len(outer)} op {what}s and "
            f"{len(inner)} region {what}s"
        )
    manual = frozenset(op.manual_axes.data)
    for index, (sharding, global_type, local_type) in enumerate(zip(shardings, outer, inner, strict=False)):
        _check_axis_order(sharding, manual, what, index)
        expected = _local_type(sharding, manual, global_type, scope, what)
        if expected not in (None, local_type):
            raise Fault(
                f"{what} shape, corresponding sharding, and region {what} shape at index {index} must match. "
                f"Expected local shape '{attribute_text(expected)}', actual local shape "
                f"'{attribute_text(local_type)}'"
            )


def _check_axis_order(sharding: TensorSharding, manual: frozenset[str], what: str, index: int) -> None:
    for number, dimension in enumerate(sharding.dimensions):
        for axis, following in pairwise(dimension.axes):
            if axis.name not in manual and following.name in manual:
                raise Fault(
                    f"{what} sharding at index {index} must have all manual axes come before free axes in "
                    f"its dimension sharding at index {number}. Saw manual axis {following} after free axis "
                    f"{axis}"
                )


def _local_type(
    sharding: TensorSharding, manual: frozenset[str], type_: Attribute, scope: Scope, what: str
) -> Attribute | None:
    """The type in the body of a value of `type_`; None if that is no ranked tensor."""
    sizes, mesh = sizes_of(type_), scope.mesh(sharding)
    if sizes is None or mesh is None or not isinstance(type_, TensorType):
        return None
    local: list[int] = []
    for size, dimension in zip(sizes, sharding.dimensions, strict=False):
        parts = total_size([axis for axis in dimension.axes if axis.name in manual], mesh)
        if size is not None and size % parts:
            raise Fault(f"{what} dimension size {size} is not divisible by the manual axes size {parts}")
        local.append(DYNAMIC_INDEX if size is None else size // parts)
    return TensorType(cast("TensorType[Attribute]", type_).element_type, local)


def _check_meshes(op: ManualComputationOp, scope: Scope, shardings: Sequence[TensorSharding]) -> None:
    names = op.manual_axes.data
    meshes = {mesh for s in shardings if (mesh := scope.mesh(s)) is not None}
    filled = {mesh for mesh in meshes if mesh.axes or mesh.device_ids}
    if len(filled) > 1 and names:
        raise Fault("all in and out shardings must be bound to the same mesh or an empty mesh.")
    mesh = next(iter(filled or meshes), None)
    for name in names:
        if mesh is not None and name not in mesh.sizes:
            raise Fault(f'unknown manual axis: "{name}"')
