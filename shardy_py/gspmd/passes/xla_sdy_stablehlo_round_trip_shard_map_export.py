"""`xla-sdy-stablehlo-round-trip-shard-map-export`: replaces manual computations by what GSPMD supports.

The body becomes a function; custom calls around its call slice the operands and join the results.

    before  %5 = sdy.manual_computation(%0) in_shardings=[S] out_shardings=[T] manual_axes={...} { ... }
    after   %1 = custom_call @Sharding(%0) {S}
            %2 = custom_call @SPMDFullToShardShape(%1) {xla.sdy.manual_axes}
            %3 = call @shmap_body(%2)
            %4 = custom_call @Sharding(%3) {xla.sdy.manual_axes}
            %5 = custom_call @SPMDShardToFullShape(%4) {T}

Ops of the body with a sharding are marked with the manual axes too, loops and branches always, and so are the
ops of functions called there; `xla-sdy-stablehlo-export-shardings` converts both. A function that is called
outside too is copied. The inverse: `xla-sdy-stablehlo-round-trip-shard-map-import`.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from shardy_py.dialects.sdy import ManualAxesAttr, ManualComputationOp, TensorShardingPerValueAttr
from shardy_py.graph.holders import SHARDING
from shardy_py.graph.movements import replace_by_values
from shardy_py.graph.nesting import innermost_first
from shardy_py.graph.symbols import Symbols, meshes_of
from shardy_py.graph.value_shardings import rank_of
from shardy_py.gspmd.custom_calls import sharding_call
from shardy_py.gspmd.encoding import (
    FULL_TO_SHARD,
    MANUAL_MARK,
    SHARD_TO_FULL,
    SHARDING_TARGET,
    Entries,
    is_control_flow,
    rewrite_entries,
)
from shardy_py.gspmd.manual_regions import ManualRegion, region_at, regions_of_functions
from shardy_py.gspmd.shard_maps import GSPMD_BODY, outline_body
from shardy_py.ir import place_before, walk_pre_order
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.manual_axes import without_manual_axes
from shardy_py.sharding.meshes import mesh_of


def xla_sdy_stablehlo_round_trip_shard_map_export(module: ModuleOp) -> None:
    """Replaces manual computations by calls between custom calls."""
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
