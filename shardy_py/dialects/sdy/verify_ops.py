"""Verifiers of the ops of the dialect other than collectives.

Each check names its rules in its docstring, in their order. Not here: shardings themselves
(`verify_sharding.py`), collectives (`verify_collectives.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from shardy_py.dialects.sdy import ops
from shardy_py.dialects.sdy.value_sharding import sharding_behind_barriers
from shardy_py.dialects.sdy.verify_axes import mesh_faults
from shardy_py.dialects.sdy.verify_manual import check_manual_axes, check_manual_computation
from shardy_py.dialects.sdy.verify_sharding import prefixed, sharding_faults, sharding_list_faults, sizes_of
from shardy_py.dialects.verification.faults import Fault, Faults, Note
from shardy_py.dialects.verification.scope import Scope
from shardy_py.sharding import Axes, TensorSharding
from shardy_py.sharding.axis_lists import difference, overlaps
from shardy_py.text.attribute_writer import attribute_text


def _check_mesh(op: ops.MeshOp, scope: Scope) -> Faults:
    """A mesh is in a module and is valid: the reader ensures that, Python code may not."""
    if not isinstance(op.parent_op(), ModuleOp):
        yield Fault("expects parent op 'builtin.module'")
    yield from map(Fault, mesh_faults(op.mesh.data))


def _check_constraint(op: ops.ShardingConstraintOp | ops.ReshardOp, scope: Scope) -> Faults:
    """A sharding constraint or reshard: its sharding fits its type.

    Unreduced axes that it adds are those of a sum, and it drops the operand's by their own reduction.
    """
    found = (*sharding_faults(op.sharding.data, op.result.type, scope),)
    yield from found
    source = sharding_behind_barriers(op.input)
    if not found and source is not None:
        yield from transition_faults(
            source, op.sharding.data, scope, introduced="sum", removed=source.reduction
        )


def transition_faults(
    source: TensorSharding,
    result: TensorSharding,
    scope: Scope,
    *,
    introduced: str | None,
    removed: str | None,
) -> Faults:
    """Changes of unreduced axes between operand and result:

    - new ones only where `introduced` allows, and with that reduction
    - fewer only where `removed` allows, and with that reduction
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
        yield Fault(f"cannot add new unreduced axis '{added[0].name}'.")
        return
    if added and result.reduction != introduced and overlaps(after, added):
        yield Fault(f"cannot introduce '{result.reduction}' unreduced axes. Expected '{introduced}'.")
        return
    if dropped and removed is None:
        yield Fault(
            f"dropped unreduced axis '{dropped[0].name}' without a blessed operation (e.g., sdy.reshard). "
            "This is an invalid transition from unreduced to reduced."
        )
        return
    if dropped and source.reduction != removed and overlaps(before, dropped):
        yield Fault(f"cannot reduce '{source.reduction}' unreduced axes. Expected '{removed}'.")
        return
    yield from _kept_faults(before, after, source, result)


def _kept_faults(before: Axes, after: Axes, source: TensorSharding, result: TensorSharding) -> Faults:
    if source.reduction != result.reduction and overlaps(before, after):
        yield Fault(
            f"cannot change the reduction operator of kept unreduced axes from {source.reduction} to "
            f"{result.reduction}."
        )


def _has_static_shape(value: SSAValue) -> bool:
    sizes = sizes_of(value.type)
    return sizes is not None and None not in sizes


def _has_one_use(value: SSAValue) -> bool:
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is None


def _check_data_flow_edge(op: ops.DataFlowEdgeOp, scope: Scope) -> Faults:
    """A data-flow edge:

    - its result has a static shape; it is the only user of its input
    - its input comes from no op of this dialect but those that bound a computation
    - its sharding fits its type
    """
    if not _has_static_shape(op.result):
        yield Fault(
            "expected sdy.data_flow_edge to have a static-shaped result. type: "
            f"'{attribute_text(op.result.type)}'"
        )
        return
    if not _has_one_use(op.input):
        yield Fault("expected input of sdy.data_flow_edge to have a single user")
        return
    source = op.input.owner
    computations = (ops.ManualComputationOp, ops.NamedComputationOp)
    if (
        isinstance(source, Operation)
        and source.name.startswith("sdy.")
        and not isinstance(source, computations)
    ):
        note = Note("sdy op defining the input of the sdy.data_flow_edge", source.location)
        yield Fault(
            "expected input of sdy.data_flow_edge to not be defined by an SdyDialect op (other than an "
            "sdy.named_computation).",
            notes=(note,),
        )
        return
    if op.sharding is not None:
        yield from sharding_faults(op.sharding.data, op.result.type, scope)


def _check_func_data_flow_edge(op: ops.FuncDataFlowEdgeOp, scope: Scope) -> Faults:
    """A function's data-flow edge:

    - its result has a static shape; it is the only user of its operand
    - its operand is an argument of a function or the result of a call
    """
    if not _has_static_shape(op.result):
        yield Fault(
            "expected sdy.func_data_flow_edge to have a static-shaped result. type: "
            f"'{attribute_text(op.result.type)}'"
        )
        return
    if not _has_one_use(op.operand):
        yield Fault("expected operand of sdy.func_data_flow_edge to have a single user")
        return
    owner = op.operand.owner
    if isinstance(owner, Block):
        if not isinstance(owner.parent_op(), FuncOp):
            yield Fault("expected operand of sdy.func_data_flow_edge to be a block argument of a func op.")
    elif not isinstance(owner, CallOp):
        yield Fault("expected operand of sdy.func_data_flow_edge to be a result of call op.")


def _check_barrier(op: ops.PropagationBarrierOp) -> Faults:
    """A propagation barrier blocks at least one direction."""
    if op.direction == "BOTH":
        yield Fault(
            "cannot specify `BOTH` as the direction. Not blocking propagation direction makes the op "
            "redundant."
        )


def _check_constant(op: ops.ConstantOp) -> Faults:
    """A constant has the type of its value."""
    type_ = getattr(op.value, "type", None)
    if type_ is not None and type_ != op.output.type:
        yield from inferred_faults([attribute_text(type_)], [attribute_text(op.output.type)])


def inferred_faults(inferred: Sequence[str], given: Sequence[str]) -> Faults:
    """The two faults of an op whose result types differ from the inferred ones."""
    yield Fault(
        f"inferred type(s) {_quoted(inferred)} are incompatible with return type(s) of operation "
        f"{_quoted(given)}",
        is_followed=True,
    )
    yield Fault("failed to infer returned types")


def _quoted(types: Iterable[str]) -> str:
    return ", ".join(f"'{type_}'" for type_ in types)


def _check_named_results(op: ops.NamedComputationOp) -> Faults:
    """The body of a named computation returns its results."""
    last = op.body.block.last_op
    if isinstance(last, ops.ReturnOp):
        returned = [value.type for value in last.operands]
        given = [result.type for result in op.results]
        if returned != given:
            yield from inferred_faults([*map(attribute_text, returned)], [*map(attribute_text, given)])


def _check_named_computation(op: ops.NamedComputationOp, scope: Scope) -> Faults:
    """A named computation:

    - its body has one argument an operand, of the same type
    - its shardings, where given, are one a value, and fit
    """
    arguments = op.body.block.args
    if len(arguments) != len(op.operands):
        yield Fault(
            f"number of block arguments must match the number of operands: {len(arguments)} != "
            f"{len(op.operands)}",
            is_plain=True,
        )
        return
    for index, (argument, operand) in enumerate(zip(arguments, op.operands, strict=True)):
        if argument.type != operand.type:
            yield Fault(
                f"expected the type of the {index}'th block argument to match the type of the corresponding "
                f"operand: '{attribute_text(argument.type)}' vs '{attribute_text(operand.type)}'",
                is_plain=True,
            )
    for name, shardings, values in (
        ("in_shardings", op.in_shardings, op.operands),
        ("out_shardings", op.out_shardings, op.results),
    ):
        if shardings is not None:
            types = [value.type for value in values]
            yield from prefixed(f"{name} ", sharding_list_faults(shardings.data, types, scope))


CHECKS = {"sdy.propagation_barrier": _check_barrier, "sdy.constant": _check_constant}
"""Checks of an op by itself."""

RESULTS = {"sdy.named_computation": _check_named_results}
"""Checks of an op's results, once its regions are verified."""

STRUCTURE = {
    "sdy.mesh": _check_mesh,
    "sdy.manual_computation": check_manual_axes,
}
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
