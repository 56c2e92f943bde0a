"""Manual computations to GSPMD's shard maps, and back."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.dialects.sdy import ManualAxesAttr, ManualComputationOp, TensorShardingPerValueAttr
from shardy_py.errors import ShardyError
from shardy_py.graph.calls import calls_in
from shardy_py.graph.holders import SHARDING
from shardy_py.graph.movements import replace_by_values
from shardy_py.graph.nesting import innermost_first
from shardy_py.graph.op_errors import error_at, errors_at
from shardy_py.graph.symbols import Symbols, callee_name, meshes_of
from shardy_py.graph.value_shardings import rank_of, sharding_of
from shardy_py.gspmd.custom_calls import (
    call_target,
    calls_of,
    constraint_sharding,
    erase_unused,
    producer,
    sharding_call,
    users,
)
from shardy_py.gspmd.encoding import (
    FULL_TO_SHARD,
    MANUAL_MARK,
    SHARD_TO_FULL,
    SHARDING_TARGET,
    Entries,
    is_control_flow,
    rewrite_entries,
)
from shardy_py.gspmd.inlined_shard_maps import outline_shard_maps
from shardy_py.gspmd.manual_regions import ManualRegion, region_at, regions_of_functions
from shardy_py.gspmd.shard_maps import GSPMD_BODY, ManualCall, outline_body, to_manual_computation
from shardy_py.ir import place_before, walk_pre_order
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.sharding.tensor_sharding import without_manual_axes


def xla_sdy_stablehlo_round_trip_shard_map_export(module: ModuleOp) -> None:
    """`xla-sdy-stablehlo-round-trip-shard-map-export`: replaces manual computations by what GSPMD supports.

    The body becomes a function; custom calls around its call slice the operands and join the results.

    before  %5 = sdy.manual_computation(%0) in_shardings=[S] out_shardings=[T] manual_axes={...} { ... }
    after   %1 = custom_call @Sharding(%0) {S}
            %2 = custom_call @SPMDFullToShardShape(%1) {xla.sdy.manual_axes}
            %3 = call @shmap_body(%2)
            %4 = custom_call @Sharding(%3) {xla.sdy.manual_axes}
            %5 = custom_call @SPMDShardToFullShape(%4) {T}

    Ops of the body with a sharding are marked with the manual axes too, loops and branches always, and so are
    the ops of functions called there; `xla-sdy-stablehlo-export-shardings` converts both. A function that is
    called outside too is copied. The inverse: `xla-sdy-stablehlo-round-trip-shard-map-import`.
    """
    symbols = Symbols(module)
    meshes = meshes_of(module)
    outside: dict[ManualComputationOp, tuple[str, ...]] = {}
    for function, region in regions_of_functions(module, symbols).items():
        if region.axes:
            rewrite_entries(function, lambda place, index, entries, r=region: _marked(entries, r))
        for inner in walk_pre_order(function, include_root=False):
            if isinstance(inner, ManualComputationOp):
                outside[inner] = region_at(inner, region).axes
            elif SHARDING in inner.attributes or is_control_flow(inner):
                _mark(inner, region_at(inner, region), meshes)
    for computation in innermost_first(outside):
        assert isinstance(computation, ManualComputationOp)
        _export(computation, outside[computation], symbols)


def _marked(attributes: Entries, region: ManualRegion) -> Entries:
    """The attributes of an argument or result, with the manual axes beside a sharding."""
    if SHARDING not in attributes or MANUAL_MARK in attributes:
        return attributes
    return {**attributes, MANUAL_MARK: ManualAxesAttr(region.axes)}


def _mark(op: Operation, region: ManualRegion, meshes: Mapping[str, Mesh]) -> None:
    """Marks an op with the manual axes; a sharding on a mesh without axes becomes one on their mesh."""
    if not region.axes or region.mesh is None:
        return
    given = op.attributes.get(SHARDING)
    if isinstance(given, TensorShardingPerValueAttr):
        ranks = [rank_of(result.type) for result in op.results] or [0] * len(given.data)
        on_mesh = (
            sharding if mesh_of(sharding, meshes).axes else TensorSharding.fully_closed(region.mesh, rank)
            for sharding, rank in zip(given.data, ranks, strict=True)
        )
        op.attributes[SHARDING] = TensorShardingPerValueAttr(tuple(on_mesh))
    op.attributes.setdefault(MANUAL_MARK, ManualAxesAttr(region.axes))


def _export(computation: ManualComputationOp, outside: tuple[str, ...], symbols: Symbols) -> None:
    """Replaces a manual computation, around which the axes `outside` are manual."""
    own = computation.manual_axes.data
    inside = outside + own

    def call_before(
        target: str, value: SSAValue, like: SSAValue, sharding: TensorSharding, axes: tuple[str, ...]
    ) -> SSAValue:
        call = sharding_call(target, value, like.type, sharding, computation.location)
        if axes:
            call.attributes[MANUAL_MARK] = ManualAxesAttr(axes)
        place_before(call, computation)
        return call.results[0]

    arguments, shardings = computation.body.blocks[0].args, computation.in_shardings.data
    local: list[SSAValue] = []
    for operand, argument, sharding in zip(computation.operands, arguments, shardings, strict=True):
        constrained = call_before(SHARDING_TARGET, operand, operand, sharding, outside)
        inner = without_manual_axes(sharding, own)
        local.append(call_before(FULL_TO_SHARD, constrained, argument, inner, inside))
    call = outline_body(computation, GSPMD_BODY, local, symbols)
    full: list[SSAValue] = []
    shardings = computation.out_shardings.data
    for result, value, sharding in zip(computation.results, call.results, shardings, strict=True):
        inner = without_manual_axes(sharding, own)
        constrained = call_before(SHARDING_TARGET, value, value, inner, inside)
        full.append(call_before(SHARD_TO_FULL, constrained, result, sharding, outside))
    replace_by_values(computation, full)


def xla_sdy_stablehlo_round_trip_shard_map_import(module: ModuleOp) -> None:
    """`xla-sdy-stablehlo-round-trip-shard-map-import`: converts GSPMD's shard maps to manual computations.

    before  %1 = custom_call @Sharding(%0) {S}
            %2 = custom_call @SPMDFullToShardShape(%1) {manual}
            %3 = call @shmap_body(%2)
            %4 = custom_call @Sharding(%3) {manual}
            %5 = custom_call @SPMDShardToFullShape(%4) {T}
    after   %5 = sdy.manual_computation(%0) in_shardings=[S] out_shardings=[T] manual_axes={...} { ... }

    A body that XLA has inlined is outlined first. Requires `xla-sdy-import-shardings`, which converts the
    shardings and marks the manual axes.
    """
    symbols = Symbols(module)
    _import_calls(module, symbols)
    if calls_of(module, (FULL_TO_SHARD, SHARD_TO_FULL)):
        outline_shard_maps(module, symbols)
        _import_calls(module, symbols)


def _import_calls(module: ModuleOp, symbols: Symbols) -> None:
    for call in calls_in(module):
        with errors_at(call):
            parts = _parts(call)
            if parts is not None:
                to_manual_computation(parts, symbols)
    erase_unused(calls_of(module, (FULL_TO_SHARD, SHARD_TO_FULL)))


def _parts(call: Operation) -> ManualCall | None:
    """The shard map around a call; None for other calls."""
    entries = [op for value in call.operands if (op := producer(value, FULL_TO_SHARD)) is not None]
    exits = [_exits(result) for result in call.results]
    all_exits = [op for ops in exits for op in ops]
    if not entries and not all_exits:
        return None
    if len(entries) != len(call.operands):
        raise ShardyError(f"expected every operand of the call of @{callee_name(call)} from @{FULL_TO_SHARD}")
    sources = [producer(op.operands[0], SHARDING_TARGET) for op in entries]
    constraints = [op for op in sources if op is not None]
    inner_constraints = [op for op in _users(call) if call_target(op) == SHARDING_TARGET]
    inside = _marked_axes([*entries, *inner_constraints])
    outside = _marked_axes([*all_exits, *constraints])
    axes = tuple(axis for axis in inside if axis not in outside)
    if not axes:
        raise ShardyError(f"expected manual axes around the call of @{callee_name(call)}")
    return ManualCall(
        call,
        tuple(
            op.operands[0] if source is None else source.operands[0]
            for op, source in zip(entries, sources, strict=True)
        ),
        tuple(tuple(op.results[0] for op in ops) for ops in exits),
        tuple(
            ops[0].results[0].type if ops else result.type
            for ops, result in zip(exits, call.results, strict=True)
        ),
        tuple(_in_sharding(op) for op in entries),
        tuple(_out_sharding(ops, call.results[i], entries + all_exits) for i, ops in enumerate(exits)),
        axes,
        (*all_exits, *inner_constraints, *entries, *constraints),
    )


def _marked_axes(ops: list[Operation]) -> tuple[str, ...]:
    """The manual axes of the first of `ops` that is marked."""
    marks = (op.attributes.get(MANUAL_MARK) for op in ops)
    return next((mark.data for mark in marks if isinstance(mark, ManualAxesAttr)), ())


def _in_sharding(entry: Operation) -> TensorSharding:
    """The sharding that @Sharding constrains the full value to, else the one of that value."""
    value = entry.operands[0]
    constraint = producer(value, SHARDING_TARGET)
    found = constraint_sharding(constraint) if constraint is not None else sharding_of(value)
    if found is None:
        raise error_at(entry, ShardyError("expected an operand with a sharding"))
    return found


def _out_sharding(exits: list[Operation], result: OpResult, around: list[Operation]) -> TensorSharding:
    """The sharding of the full value; an unused result keeps its local shape."""
    for op in exits:
        found = constraint_sharding(op)
        if found is not None:
            return found
    known = [found for op in around if (found := constraint_sharding(op)) is not None]
    return TensorSharding.fully_closed(known[0].mesh, rank_of(result.type))


def _exits(result: SSAValue) -> list[Operation]:
    """The @SPMDShardToFullShape of a result of the call, directly or through a @Sharding."""
    found: list[Operation] = []
    for user in users(result):
        if call_target(user) == SHARDING_TARGET:
            found += (op for op in users(user.results[0]) if call_target(op) == SHARD_TO_FULL)
        elif call_target(user) == SHARD_TO_FULL:
            found.append(user)
    return found


def _users(op: Operation) -> list[Operation]:
    return [user for result in op.results for user in users(result)]
