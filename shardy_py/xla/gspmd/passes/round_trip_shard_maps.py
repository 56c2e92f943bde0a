"""Manual computations to calls of their bodies, as Shardy encodes them in HLO, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.calls import calls_in
from shardy_py.mlir.dialects.sdy import ManualComputationOp
from shardy_py.mlir.ir import erase, find_ops, place_before
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.nesting import innermost_first
from shardy_py.mlir.op_errors import errors_at
from shardy_py.mlir.symbols import Symbols, callee_name, functions_of, meshes_of, module_of, symbol_name
from shardy_py.mlir.value_shardings import sharding_of
from shardy_py.sharding import AxisRef, Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.xla.gspmd.encoding import (
    BODY_BORDERS,
    GLOBAL_TO_LOCAL,
    IN_SHARDINGS,
    INLINEABLE,
    LOCAL_TO_GLOBAL,
    MANUAL_AXES,
    MANUAL_COMPUTATION_BODY,
    MANUAL_MARK,
    OUT_SHARDINGS,
    SHARDING_TARGET,
    FrontendAttribute,
    Kind,
    call_target,
    calls_of,
    constraint_sharding,
    custom_call,
    erase_unused,
    producer,
    users,
    with_frontend,
)
from shardy_py.xla.gspmd.shard_maps import ManualCall, marked_axes, outline_body, to_manual_computation


def xla_sdy_round_trip_shard_map_export(module: ModuleOp) -> None:
    """`xla-sdy-round-trip-shard-map-export`: replaces manual computations by calls that XLA's HLO preserves.

    before  %3 = sdy.manual_computation(%0) in_shardings=[...] out_shardings=[...] manual_axes={...} { ... }
    after   %1 = custom_call @xla.sdy.GlobalToLocalShape(%0) {... xla.sdy.in_shardings, xla.sdy.manual_axes}
        %2 = call @xla.sdy.manual_computation_body(%1)
        %3 = custom_call @xla.sdy.LocalToGlobalShape(%2) {... xla.sdy.out_shardings, xla.sdy.manual_axes}

    The inverse: `xla-sdy-round-trip-shard-map-import`.
    """
    symbols = Symbols(module)
    for computation in innermost_first(find_ops(module, ManualComputationOp.name)):
        arguments = computation.regions[0].blocks[0].args
        local = _border(computation, GLOBAL_TO_LOCAL, computation.operands, arguments)
        attributes = with_frontend(computation.attributes, {INLINEABLE: StringAttr("false")})
        call = outline_body(computation, MANUAL_COMPUTATION_BODY, local, symbols, attributes)
        made = _border(computation, LOCAL_TO_GLOBAL, call.results, computation.results)
        replace_by_values(computation, made)


def _border(
    computation: Operation, target: str, operands: Sequence[SSAValue], like: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """The results, with types as of `like`, of a new custom call before the computation; () without any."""
    if not operands:
        return ()
    entries = {entry.name: computation.properties[name] for entry, name in BODY_BORDERS[target].items()}
    types = [value.type for value in like]
    call = custom_call(target, operands, types, with_frontend({}, entries), computation.location)
    place_before(call, computation)
    return call.results


def xla_sdy_round_trip_shard_map_import(module: ModuleOp) -> None:
    """`xla-sdy-round-trip-shard-map-import`: restores manual computations from Shardy's encoding in HLO.

    before  %1 = custom_call @xla.sdy.GlobalToLocalShape(%0) {... xla.sdy.in_shardings, xla.sdy.manual_axes}
        %2 = call @xla.sdy.manual_computation_body(%1)
        %3 = custom_call @xla.sdy.LocalToGlobalShape(%2) {... xla.sdy.out_shardings, xla.sdy.manual_axes}
    after   %3 = sdy.manual_computation(%0) in_shardings=[...] out_shardings=[...] manual_axes={...} { ... }

    A call with unused results is erased: they have no elements, and constants have replaced them. Bodies
    without calls are erased too. Tuples are flattened before: `stablehlo-ext-canonicalize-from-hlo-import`.
    """
    symbols = Symbols(module)
    while calls := [c for c in calls_in(module) if MANUAL_COMPUTATION_BODY in callee_name(c)]:
        call = calls[0]
        if call.results and not any(result.first_use for result in call.results):
            erase(call)
            continue
        with errors_at(call):
            to_manual_computation(_parts(call), symbols)
    erase_unused(calls_of(module, BODY_BORDERS))
    for function in functions_of(module):
        if MANUAL_COMPUTATION_BODY in (symbol_name(function) or ""):
            symbols.erase(function)


def _parts(call: Operation) -> ManualCall:
    befores = [op for operand in call.operands if (op := producer(operand, GLOBAL_TO_LOCAL)) is not None]
    if call.operands and not befores:
        raise ShardyError(
            f"expected at least one operand of @{callee_name(call)} to be produced by a {GLOBAL_TO_LOCAL} "
            "CustomCallOp"
        )
    afters = [u for result in call.results for u in users(result) if call_target(u) == LOCAL_TO_GLOBAL]
    if call.results and not afters:
        raise ShardyError(
            f"expected the first use of @{callee_name(call)} to be a {LOCAL_TO_GLOBAL} CustomCallOp"
        )
    before, after = befores[:1], afters[:1]
    operands = tuple(value for op in before for value in op.operands)
    results = tuple(result for op in after for result in op.results)
    # Dumps of older versions have the attributes on the call itself.
    holders = (*before, *after, call)
    axes = _entry(holders, MANUAL_AXES)
    if axes is None and any(MANUAL_MARK in op.attributes for op in holders):
        return _parts_by_shardings(call, operands, results, before, after)
    if axes is None and (operands or results):
        raise ShardyError(f"expected '{MANUAL_AXES.name}' on the custom calls around the call")
    in_shardings, out_shardings = _entry(holders, IN_SHARDINGS), _entry(holders, OUT_SHARDINGS)
    return ManualCall(
        call,
        operands,
        tuple((result,) for result in results),
        tuple(result.type for result in results),
        () if in_shardings is None else in_shardings.data,
        () if out_shardings is None else out_shardings.data,
        () if axes is None else axes.data,
        (*after, *before),
    )


def _parts_by_shardings(
    call: Operation,
    operands: Sequence[SSAValue],
    results: Sequence[SSAValue],
    before: Sequence[Operation],
    after: Sequence[Operation],
) -> ManualCall:
    """The parts of a call in HLO since JAX 0.11, where shardings by mesh and axes say what is manual.

    The operands of the custom call before it have the outer shardings, its results the manual axes; the
    results of the one after it have the outer shardings.
    """
    inside, outside = marked_axes((*before, call)), marked_axes(after)
    manual = tuple(axis for axis in inside if axis not in outside)
    sources = [producer(operand, SHARDING_TARGET) for operand in operands]
    pairs = list(zip(sources, operands, strict=True))
    values = [operand if op is None else op.operands[0] for op, operand in pairs]
    given = [sharding_of(operand) if op is None else constraint_sharding(op) for op, operand in pairs]
    made = [sharding_of(result) for result in results]
    meshes = meshes_of(module_of(call))
    known = [sharding for sharding in (*given, *made) if sharding is not None]
    if len(known) < len(operands) + len(results):
        raise ShardyError("expected shardings of what enters and leaves the body of a manual computation")
    complete = [_with_replicated(sharding, manual, mesh_of(sharding, meshes)) for sharding in known]
    return ManualCall(
        call,
        tuple(values),
        tuple((result,) for result in results),
        tuple(result.type for result in results),
        tuple(complete[: len(operands)]),
        tuple(complete[len(operands) :]),
        manual,
        (*after, *before, *(op for op in sources if op is not None)),
    )


def _with_replicated(sharding: TensorSharding, manual: Sequence[str], mesh: Mesh) -> TensorSharding:
    """The sharding with the manual axes that it does not have, replicated, in the order of the mesh."""
    used = {axis.name for dimension in sharding.dimensions for axis in dimension.axes}
    used |= {axis.name for axis in (*sharding.replicated_axes, *sharding.unreduced_axes)}
    missing = [AxisRef(axis) for axis in manual if axis not in used]
    order = {axis.name: place for place, axis in enumerate(mesh.axes)}
    replicated = sorted((*sharding.replicated_axes, *missing), key=lambda axis: order.get(axis.name, 0))
    return replace(sharding, replicated_axes=tuple(replicated))


def _entry(holders: Sequence[Operation], entry: FrontendAttribute[Kind]) -> Kind | None:
    found = (entry.read(op.attributes) for op in holders)
    return next((value for value in found if value is not None), None)
