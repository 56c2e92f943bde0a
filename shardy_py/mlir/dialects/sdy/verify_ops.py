"""Verifiers of the ops of the dialect other than collectives.

Each check names its rules in its docstring, in their order. Those of manual computations are the invariants
of the sharding API:

    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"data"}, {"model", ?}]>]
        out_shardings=[<@mesh, [{"data"}, {?}]>] manual_axes={"data"} (%arg1: tensor<8x32xf32>) { ... }

Types in the body are local along the manual axes, and global along the free ones. A program may come with
manual axes in any order and leave those unmentioned that shard nothing; `sdy-manual-axes-cleanup` puts that
right. Not here: shardings themselves (`verify_sharding.py`), collectives (`verify_collectives.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.dialects.faults import Fault, check_terminators, inferred_fault, note, prefixed
from shardy_py.mlir.dialects.sdy import ops, verify_types
from shardy_py.mlir.dialects.sdy.ops import ManualComputationOp
from shardy_py.mlir.dialects.sdy.verify_sharding import (
    check_sharding,
    check_shardings,
    check_unbound,
    sharding_behind_barriers,
    sizes_of,
)
from shardy_py.mlir.dialects.sdy.verify_values import check_mesh
from shardy_py.mlir.dialects.verification.declared import check_single_block
from shardy_py.mlir.dialects.verification.scope import Scope
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.sharding import AxisRef, TensorSharding
from shardy_py.sharding.axis_lists import difference, overlaps, total_size


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
    """The type in the body of a value of `type_`; None unless that is a ranked tensor."""
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


def _check_mesh(op: ops.MeshOp, scope: Scope) -> None:
    """A mesh is in a module and is valid: the reader ensures that, Python code may not."""
    if not isinstance(op.parent_op(), ModuleOp):
        raise Fault("expects parent op 'builtin.module'")
    check_mesh(op.mesh.data)


def _check_constraint(op: ops.ShardingConstraintOp | ops.ReshardOp, scope: Scope) -> None:
    """A sharding constraint or reshard: its sharding fits its type.

    It may add unreduced axes of any reduction (before JAX 0.12: a sum), and drops the operand's by their own.
    """
    check_sharding(op.sharding.data, op.result.type, scope)
    source = sharding_behind_barriers(op.input)
    if source is not None:
        result = op.sharding.data
        introduced = result.reduction if Behaviour.MAXIMA_ARE_INTRODUCED.holds else "sum"
        check_transition(source, result, scope, introduced=introduced, removed=source.reduction)


def check_transition(
    source: TensorSharding, result: TensorSharding, scope: Scope, *, introduced: str | None, removed: str
) -> None:
    """Changes of unreduced axes between operand and result:

    - new ones only where `introduced` allows, and with that reduction
    - fewer only with the reduction `removed`
    - those kept keep their reduction

    Nothing is checked between two meshes.
    """
    meshes = {mesh for sharding in (source, result) if (mesh := scope.mesh(sharding)) is not None}
    if len(meshes) != 1:
        return
    mesh = meshes.pop()
    before, after = source.unreduced_axes, result.unreduced_axes
    added, dropped = difference(after, before, mesh), difference(before, after, mesh)
    if added and introduced is None and Behaviour.REDUCTIONS_ADD_NO_UNREDUCED_AXES.holds:
        raise Fault(f"cannot add new unreduced axis '{added[0].name}'.")
    if added and introduced and result.reduction != introduced and overlaps(after, added):
        raise Fault(f"cannot introduce '{result.reduction}' unreduced axes. Expected '{introduced}'.")
    if dropped and source.reduction != removed and overlaps(before, dropped):
        raise Fault(f"cannot reduce '{source.reduction}' unreduced axes. Expected '{removed}'.")
    if source.reduction != result.reduction and overlaps(before, after):
        raise Fault(
            f"cannot change the reduction operator of kept unreduced axes from {source.reduction} to "
            f"{result.reduction}."
        )


def _check_edge_ends(op: ops.DataFlowEdgeOp | ops.FuncDataFlowEdgeOp, value: SSAValue, what: str) -> None:
    """The result of a data-flow edge has a static shape; the edge is the only user of its operand."""
    sizes = sizes_of(op.result.type)
    if sizes is None or None in sizes:
        text = attribute_text(op.result.type)
        raise Fault(f"expected {op.name} to have a static-shaped result. type: '{text}'")
    if not value.has_one_use():
        raise Fault(f"expected {what} of {op.name} to have a single user")


def _check_data_flow_edge(op: ops.DataFlowEdgeOp, scope: Scope) -> None:
    """A data-flow edge:

    - its result has a static shape; it is the only user of its input
    - its input comes from no op of this dialect but those that bound a computation
    - its sharding fits its type
    """
    _check_edge_ends(op, op.input, "input")
    source = op.input.owner
    computations = (ops.ManualComputationOp, ops.NamedComputationOp)
    if (
        isinstance(source, Operation)
        and source.name.startswith("sdy.")
        and not isinstance(source, computations)
    ):
        raise Fault(
            "expected input of sdy.data_flow_edge to not be defined by an SdyDialect op (other than an "
            "sdy.named_computation).",
            note("sdy op defining the input of the sdy.data_flow_edge", source.location),
        )
    if op.sharding is not None:
        check_sharding(op.sharding.data, op.result.type, scope)


def _check_func_data_flow_edge(op: ops.FuncDataFlowEdgeOp, scope: Scope) -> None:
    """A function's data-flow edge:

    - its result has a static shape; it is the only user of its operand
    - its operand is an argument of a function or the result of a call
    """
    _check_edge_ends(op, op.operand, "operand")
    owner = op.operand.owner
    if isinstance(owner, Block):
        if not isinstance(owner.parent_op(), FuncOp):
            raise Fault("expected operand of sdy.func_data_flow_edge to be a block argument of a func op.")
    elif not isinstance(owner, CallOp):
        raise Fault("expected operand of sdy.func_data_flow_edge to be a result of call op.")


def _check_barrier(op: ops.PropagationBarrierOp) -> None:
    """A propagation barrier has a tensor, and blocks at least one direction."""
    verify_types.CHECKS[op.name](op)
    if op.direction == "BOTH":
        raise Fault(
            "cannot specify `BOTH` as the direction. Not blocking propagation direction makes the op "
            "redundant."
        )


def _check_constant(op: ops.ConstantOp) -> None:
    """A constant has a static shape, and the type of its value."""
    verify_types.CHECKS[op.name](op)
    type_ = getattr(op.value, "type", None)
    if type_ is not None and type_ != op.output.type:
        raise inferred_fault([_quoted(type_)], [_quoted(op.output.type)])


def _quoted(type_: Attribute) -> str:
    return f"'{attribute_text(type_)}'"


def _check_return(op: ops.ManualComputationOp | ops.NamedComputationOp) -> None:
    check_terminators(op, ops.ReturnOp.name)


def _check_named_results(op: ops.NamedComputationOp) -> None:
    """The body of a named computation returns its results."""
    _check_return(op)
    last = op.body.block.last_op
    returned = [] if last is None else [value.type for value in last.operands]
    given = [result.type for result in op.results]
    if returned != given:
        raise inferred_fault(map(_quoted, returned), map(_quoted, given))


def _check_named_computation(op: ops.NamedComputationOp, scope: Scope) -> None:
    """A named computation:

    - its body has one argument an operand, of the same type
    - its shardings, where given, are one a value, and fit
    """
    arguments = op.body.block.args
    if len(arguments) != len(op.operands):
        counts = f"{len(arguments)} != {len(op.operands)}"
        raise Fault(f"number of block arguments must match the number of operands: {counts}", is_plain=True)
    for index, (argument, operand) in enumerate(zip(arguments, op.operands, strict=True)):
        if argument.type != operand.type:
            raise Fault(
                f"expected the type of the {index}'th block argument to match the type of the corresponding "
                f"operand: {_quoted(argument.type)} vs {_quoted(operand.type)}",
                is_plain=True,
            )
    for name, shardings, values in (
        ("in_shardings", op.in_shardings, op.operands),
        ("out_shardings", op.out_shardings, op.results),
    ):
        if shardings is not None:
            with prefixed(f"{name} "):
                check_shardings(shardings.data, [value.type for value in values], scope)


CHECKS = {
    **verify_types.CHECKS,
    "sdy.propagation_barrier": _check_barrier,
    "sdy.constant": _check_constant,
    "sdy.manual_computation": check_single_block,
    "sdy.named_computation": check_single_block,
}
"""Checks of an op by itself."""

RESULTS = {
    "sdy.manual_computation": _check_return,
    "sdy.named_computation": _check_named_results,
}
"""Checks of an op's results, once its regions are verified."""

STRUCTURE = {"sdy.mesh": _check_mesh, "sdy.manual_computation": check_manual_axes}
"""Checks of an op in its place."""

USES = {
    "sdy.sharding_constraint": _check_constraint,
    "sdy.reshard": _check_constraint,
    "sdy.data_flow_edge": _check_data_flow_edge,
    "sdy.func_data_flow_edge": _check_func_data_flow_edge,
    "sdy.manual_computation": check_manual_computation,
    "sdy.named_computation": _check_named_computation,
}
"""Checks of an op with the meshes of its module and the ops around it."""
