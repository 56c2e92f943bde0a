"""`xla-sdy-stablehlo-round-trip-shard-map-export`: makes of manual computations what GSPMD knows.

The body becomes a function; custom calls around its call cut the operands and join the results.

    before  %5 = sdy.manual_computation(%0) in_shardings=[S] out_shardings=[T] manual_axes={...} { ... }
    after   %1 = custom_call @Sharding(%0) {S}
            %2 = custom_call @SPMDFullToShardShape(%1) {xla.sdy.manual_axes}
            %3 = call @shmap_body(%2)
            %4 = custom_call @Sharding(%3) {xla.sdy.manual_axes}
            %5 = custom_call @SPMDShardToFullShape(%4) {T}

Ops of the body that have a sharding get the manual axes too, loops and branches always, those of functions
called there as well, and `xla-sdy-stablehlo-export-shardings` spells both. A function that is called outside
too is copied. The way back: `xla-sdy-stablehlo-round-trip-shard-map-import`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import ManualAxesAttr, ManualComputationOp, TensorShardingPerValueAttr
from shardy_py.graph.holders import SHARDING
from shardy_py.graph.symbols import Symbols, meshes_of
from shardy_py.graph.value_shardings import rank_of
from shardy_py.gspmd.custom_calls import sharding_call
from shardy_py.gspmd.frontend_attributes import (
    CONTROL_FLOW,
    FULL_TO_SHARD,
    MANUAL_AXES,
    SHARD_TO_FULL,
    SHARDING_TARGET,
    Entries,
    rewrite_entries,
)
from shardy_py.gspmd.manual_regions import ManualRegion, region_at, regions_of_functions
from shardy_py.gspmd.shard_maps import outline
from shardy_py.ir import build_operation, erase, innermost_first, place_before, replace_uses, walk_pre_order
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.manual_axes import without_manual_axes
from shardy_py.sharding.meshes import mesh_of

_BODY = "shmap_body"


@dataclass(frozen=True)
class XlaSdyStablehloRoundTripShardMapExportPass(ModulePass):
    """Makes of manual computations calls between custom calls."""

    name = "xla-sdy-stablehlo-round-trip-shard-map-export"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Symbols(op)
        meshes = meshes_of(op)
        outside: dict[ManualComputationOp, tuple[str, ...]] = {}
        for function, region in regions_of_functions(op, symbols).items():
            if region.axes:
                rewrite_entries(function, lambda place, index, entries, r=region: _marked(entries, r))
            for inner in walk_pre_order(function, include_root=False):
                if isinstance(inner, ManualComputationOp):
                    outside[inner] = region_at(inner, region).axes
                elif SHARDING in inner.attributes or inner.name in CONTROL_FLOW:
                    _mark(inner, region_at(inner, region), meshes)
        for computation in innermost_first(outside):
            assert isinstance(computation, ManualComputationOp)
            _export(computation, outside[computation], symbols)


def _marked(attributes: Entries, region: ManualRegion) -> Entries:
    """The attributes with the axes that are manual beside a sharding."""
    if SHARDING not in attributes or MANUAL_AXES in attributes:
        return attributes
    return {**attributes, MANUAL_AXES: ManualAxesAttr(region.axes)}


def _mark(op: Operation, region: ManualRegion, meshes: Mapping[str, Mesh]) -> None:
    """Give an op the manual axes; shardings on a mesh without axes say nothing beside them."""
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
    op.attributes.setdefault(MANUAL_AXES, ManualAxesAttr(region.axes))


def _export(computation: ManualComputationOp, outside: tuple[str, ...], symbols: Symbols) -> None:
    """Put the calls in place of a manual computation, around which the axes `outside` are manual."""
    location = computation.location
    own = computation.manual_axes.data
    inside = outside + own
    body = computation.body.blocks[0]

    def call_before(
        target: str, value: SSAValue, type_: Attribute, sharding: TensorSharding, axes: tuple[str, ...]
    ) -> SSAValue:
        made = sharding_call(target, value, type_, sharding, location)
        if axes:
            made.attributes[MANUAL_AXES] = ManualAxesAttr(axes)
        place_before(made, computation)
        return made.results[0]

    local: list[SSAValue] = []
    for operand, argument, sharding in zip(
        computation.operands, body.args, computation.in_shardings.data, strict=True
    ):
        demanded = call_before(SHARDING_TARGET, operand, operand.type, sharding, outside)
        inner = without_manual_axes(sharding, own)
        local.append(call_before(FULL_TO_SHARD, demanded, argument.type, inner, inside))
    function, result_types = outline(computation, _BODY)
    name = symbols.insert(function)
    call = build_operation(CallOp, local, result_types, {"callee": SymbolRefAttr(name)}, {}, location)
    place_before(call, computation)
    shardings = computation.out_shardings.data
    for old, value, sharding in zip(computation.results, call.results, shardings, strict=True):
        inner = without_manual_axes(sharding, own)
        demanded = call_before(SHARDING_TARGET, value, value.type, inner, inside)
        replace_uses(old, call_before(SHARD_TO_FULL, demanded, old.type, sharding, outside))
    erase(computation)
