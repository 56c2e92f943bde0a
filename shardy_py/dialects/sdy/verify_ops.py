"""Verifiers of the ops of the dialect other than collectives.

Each check names its rules in its docstring, in their order. Not here: shardings themselves
(`verify_sharding.py`), collectives (`verify_collectives.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from shardy_py.dialects.faults import Fault, inferred_fault, note, prefixed
from shardy_py.dialects.sdy import ops, verify_types
from shardy_py.dialects.sdy.value_sharding import sharding_behind_barriers
from shardy_py.dialects.sdy.verify_manual import check_manual_axes, check_manual_computation
from shardy_py.dialects.sdy.verify_sharding import check_sharding, check_shardings, sizes_of
from shardy_py.dialects.sdy.verify_values import check_mesh
from shardy_py.dialects.verification.declared import check_single_block
from shardy_py.dialects.verification.scope import Scope
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.axis_lists import difference, overlaps
from shardy_py.text.attribute_writer import attribute_text


def _check_mesh(op: ops.MeshOp, scope: Scope) -> None:
    """A mesh is in a module and is valid: the reader ensures that, Python code may not."""
    if not isinstance(op.parent_op(), ModuleOp):
        raise Fault("expects parent op 'builtin.module'")
    check_mesh(op.mesh.data)


def _check_constraint(op: ops.ShardingConstraintOp | ops.ReshardOp, scope: Scope) -> None:
    """A sharding constraint or reshard: its sharding fits its type.

    Unreduced axes that it adds are those of a sum, and it drops the operand's by their own reduction.
    """
    check_sharding(op.sharding.data, op.result.type, scope)
    source = sharding_behind_barriers(op.input)
    if source is not None:
        check_transition(source, op.sharding.data, scope, introduced="sum", removed=source.reduction)


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
    if added and introduced is None:
        raise Fault(f"cannot add new unreduced axis '{added[0].name}'.")
    if added and result.reduction != introduced and overlaps(after, added):
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


def _check_named_results(op: ops.NamedComputationOp) -> None:
    """The body of a named computation returns its results."""
    last = op.body.block.last_op
    if isinstance(last, ops.ReturnOp):
        returned = [value.type for value in last.operands]
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

RESULTS = {"sdy.named_computation": _check_named_results}
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
