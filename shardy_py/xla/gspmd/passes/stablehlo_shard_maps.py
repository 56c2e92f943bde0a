"""Manual computations to GSPMD's shard maps, and back."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.calls import calls_in, functions_top_down
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects.sdy import ManualAxesAttr, ManualComputationOp, TensorShardingPerValueAttr
from shardy_py.mlir.dialects.stablehlo import ConvertOp
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.ir import place_before, walk_pre_order
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.nesting import innermost_first
from shardy_py.mlir.op_errors import error_at, errors_at
from shardy_py.mlir.symbols import Symbols, callee_name, function_name, meshes_of, set_callee
from shardy_py.mlir.value_shardings import rank_of, sharding_of
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.sharding.tensor_sharding import without_manual_axes
from shardy_py.xla.gspmd import encoding, shard_maps


@dataclass(frozen=True, slots=True)
class ManualRegion:
    """The manual axes of a region.

    axes: those of all manual computations around it, the outermost first.
    mesh: that of the innermost; None outside of all.
    """

    axes: tuple[str, ...] = ()
    mesh: str | Mesh | None = None


OUTSIDE = ManualRegion()


def regions_of_functions(module: ModuleOp, symbols: Symbols) -> dict[Operation, ManualRegion]:
    """The manual axes of each function; one called in regions with different axes is copied for each."""
    called: dict[str, dict[ManualRegion, list[Operation]]] = {}
    found: dict[Operation, ManualRegion] = {}
    for function in functions_top_down(module):
        kinds = called.get(function_name(function), {})
        if not kinds or function.properties.get("sym_visibility") != StringAttr("private"):
            kinds = {OUTSIDE: [], **kinds}
        copies = [function, *(clone(function, {}) for _ in range(1, len(kinds)))]
        for copy, (region, calls) in zip(copies, kinds.items(), strict=True):
            name = symbols.insert(copy)
            for call in calls:
                set_callee(call, name)
            found[copy] = region
            for call in calls_in(copy):
                kind = called.setdefault(callee_name(call), {})
                kind.setdefault(region_at(call, region), []).append(call)
    return found


def region_at(op: Operation, of_function: ManualRegion) -> ManualRegion:
    """The manual axes at `op`, in a function with those of `of_function`."""
    parent = op.parent_op()
    if parent is None or isinstance(parent, FuncOp):
        return of_function
    region = region_at(parent, of_function)
    return _inside(parent, region) if isinstance(parent, ManualComputationOp) else region


def _inside(computation: ManualComputationOp, around: ManualRegion) -> ManualRegion:
    """The manual axes in a computation, with those around it."""
    shardings = (*computation.in_shardings.data, *computation.out_shardings.data)
    mesh = shardings[0].mesh if shardings else around.mesh
    return ManualRegion(around.axes + computation.manual_axes.data, mesh)


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
            encoding.rewrite_entries(function, lambda place, index, entries, r=region: _marked(entries, r))
        around = {function: region}
        for inner in walk_pre_order(function, include_root=False):
            own = around[parent] if (parent := inner.parent_op()) is not None else region
            if isinstance(inner, ManualComputationOp):
                outside[inner] = own.axes
                around[inner] = _inside(inner, own)
                continue
            if inner.regions:
                around[inner] = own
            if SHARDING in inner.attributes or encoding.is_control_flow(inner):
                _mark(inner, own, meshes)
    for computation in innermost_first(outside):
        assert isinstance(computation, ManualComputationOp)
        _export(computation, outside[computation], symbols)


def _marked(attributes: encoding.Entries, region: ManualRegion) -> encoding.Entries:
    if SHARDING not in attributes or encoding.MANUAL_MARK in attributes:
        return attributes
    return {**attributes, encoding.MANUAL_MARK: ManualAxesAttr(region.axes)}


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
    op.attributes.setdefault(encoding.MANUAL_MARK, ManualAxesAttr(region.axes))


def _export(computation: ManualComputationOp, outside: tuple[str, ...], symbols: Symbols) -> None:
    """Replaces a manual computation, around which the axes `outside` are manual."""
    own = computation.manual_axes.data
    inside = outside + own

    def call_before(
        target: str, value: SSAValue, like: SSAValue, sharding: TensorSharding, axes: tuple[str, ...]
    ) -> SSAValue:
        call = encoding.sharding_call(target, value, like.type, sharding, computation.location)
        if axes:
            call.attributes[encoding.MANUAL_MARK] = ManualAxesAttr(axes)
        place_before(call, computation)
        return call.results[0]

    arguments, shardings = computation.body.blocks[0].args, computation.in_shardings.data
    local: list[SSAValue] = []
    for operand, argument, sharding in zip(computation.operands, arguments, shardings, strict=True):
        constrained = call_before(encoding.SHARDING_TARGET, operand, operand, sharding, outside)
        inner = without_manual_axes(sharding, own)
        local.append(call_before(encoding.FULL_TO_SHARD, constrained, argument, inner, inside))
    call = shard_maps.outline_body(computation, shard_maps.GSPMD_BODY, local, symbols)
    full: list[SSAValue] = []
    shardings = computation.out_shardings.data
    for result, value, sharding in zip(computation.results, call.results, shardings, strict=True):
        inner = without_manual_axes(sharding, own)
        constrained = call_before(encoding.SHARDING_TARGET, value, value, inner, inside)
        full.append(call_before(encoding.SHARD_TO_FULL, constrained, result, sharding, outside))
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
    if encoding.calls_of(module, (encoding.FULL_TO_SHARD, encoding.SHARD_TO_FULL)):
        shard_maps.outline_shard_maps(module, symbols)
        _import_calls(module, symbols)


def _import_calls(module: ModuleOp, symbols: Symbols) -> None:
    for call in calls_in(module):
        with errors_at(call):
            parts = _parts(call)
            if parts is not None:
                shard_maps.to_manual_computation(parts, symbols)
    encoding.erase_unused(encoding.calls_of(module, (encoding.FULL_TO_SHARD, encoding.SHARD_TO_FULL)))


def _parts(call: Operation) -> shard_maps.ManualCall | None:
    entries = [
        op for value in call.operands if (op := encoding.producer(value, encoding.FULL_TO_SHARD)) is not None
    ]
    exits = [_exits(result) for result in call.results]
    all_exits = [op for ops in exits for op in ops]
    if not entries and not all_exits:
        return None
    if len(entries) != len(call.operands):
        raise ShardyError(
            f"expected every operand of the call of @{callee_name(call)} from @{encoding.FULL_TO_SHARD}"
        )
    sources = [encoding.producer(op.operands[0], encoding.SHARDING_TARGET) for op in entries]
    constraints = [op for op in sources if op is not None]
    called = (user for result in call.results for user in encoding.users(result))
    inner_constraints = [op for op in called if _is_constraint(op)]
    inside = shard_maps.marked_axes([*entries, *inner_constraints])
    outside = shard_maps.marked_axes([*all_exits, *constraints])
    axes = tuple(axis for axis in inside if axis not in outside)
    if not axes:
        raise ShardyError(f"expected manual axes around the call of @{callee_name(call)}")
    outer = [op if source is None else source for op, source in zip(entries, sources, strict=True)]
    results = [ops[0].results[0] if ops else call.results[i] for i, ops in enumerate(exits)]
    return shard_maps.ManualCall(
        call,
        tuple(op.operands[0] for op in outer),
        tuple(tuple(op.results[0] for op in ops) for ops in exits),
        tuple(result.type for result in results),
        tuple(_in_sharding(op) for op in entries),
        tuple(_out_sharding(ops, call.results[i], entries + all_exits) for i, ops in enumerate(exits)),
        axes,
        (*all_exits, *inner_constraints, *entries, *constraints),
    )


def _in_sharding(entry: Operation) -> TensorSharding:
    """The sharding that @Sharding constrains the full value to, else the one of that value."""
    value = entry.operands[0]
    constraint = encoding.producer(value, encoding.SHARDING_TARGET)
    found = encoding.constraint_sharding(constraint) if constraint is not None else sharding_of(value)
    if found is None:
        raise error_at(entry, ShardyError("expected an operand with a sharding"))
    return found


def _out_sharding(exits: list[Operation], result: OpResult, around: list[Operation]) -> TensorSharding:
    """The sharding of the full value; an unused result keeps its local shape."""
    own, others = (
        [s for op in ops if (s := encoding.constraint_sharding(op)) is not None] for ops in (exits, around)
    )
    return own[0] if own else TensorSharding.fully_closed(others[0].mesh, rank_of(result.type))


def _is_constraint(op: Operation) -> bool:
    """True for @Sharding, and for a copy with a sharding, which XLA's dumps of MHLO have in its place."""
    is_copy = isinstance(op, ConvertOp) and op.operands[0].type == op.results[0].type
    return encoding.call_target(op) == encoding.SHARDING_TARGET or (is_copy and SHARDING in op.attributes)


def _exits(result: SSAValue) -> list[Operation]:
    """The @SPMDShardToFullShape of a result of the call, directly or through a @Sharding."""
    found: list[Operation] = []
    for user in encoding.users(result):
        if _is_constraint(user):
            found += (
                op
                for op in encoding.users(user.results[0])
                if encoding.call_target(op) == encoding.SHARD_TO_FULL
            )
        elif encoding.call_target(user) == encoding.SHARD_TO_FULL:
            found.append(user)
    return found
