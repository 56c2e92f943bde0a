"""`xla-sdy-stablehlo-round-trip-shard-map-export`: makes of manual computations what GSPMD knows.

The body becomes a function; custom calls around its call cut the operands and join the results.

    before  %5 = sdy.manual_computation(%0) in_shardings=[S] out_shardings=[T] manual_axes={...} { ... }
    after   %1 = custom_call @Sharding(%0) {S}
            %2 = custom_call @SPMDFullToShardShape(%1) {xla.sdy.manual_axes}
            %3 = call @shmap_body(%2)
            %4 = custom_call @Sharding(%3) {xla.sdy.manual_axes}
            %5 = custom_call @SPMDShardToFullShape(%4) {T}

Ops of the body that have a sharding get the manual axes too, and `xla-sdy-stablehlo-export-shardings` spells
both. The way back is `xla-sdy-stablehlo-round-trip-shard-map-import`.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import ManualAxesAttr, ManualComputationOp
from shardy_py.graph.custom_call_shardings import sharding_call
from shardy_py.graph.frontend_attributes import FULL_TO_SHARD, MANUAL_AXES, SHARD_TO_FULL, SHARDING_TARGET
from shardy_py.graph.holders import SHARDING
from shardy_py.graph.rewiring import erase, place_before, replace_uses
from shardy_py.graph.shard_map import outline
from shardy_py.graph.symbols import Symbols
from shardy_py.graph.walk import find_ops, innermost_first, walk_pre_order
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.manual_axes import without_manual_axes
from shardy_py.text.construct import build_operation

_BODY = "shmap_body"


@dataclass(frozen=True)
class XlaSdyStablehloRoundTripShardMapExportPass(ModulePass):
    """Makes of manual computations calls between custom calls."""

    name = "xla-sdy-stablehlo-round-trip-shard-map-export"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Symbols(op)
        computations = [
            c for c in find_ops(op, ManualComputationOp.name) if isinstance(c, ManualComputationOp)
        ]
        axes = {id(computation): _all_manual_axes(computation) for computation in computations}
        for computation in innermost_first(computations):
            assert isinstance(computation, ManualComputationOp)
            _export(computation, axes[id(computation)], symbols)


def _all_manual_axes(computation: ManualComputationOp) -> tuple[str, ...]:
    """The manual axes of `computation` and of those around it, the outermost first."""
    axes = computation.manual_axes.data
    parent = computation.parent_op()
    while parent is not None:
        if isinstance(parent, ManualComputationOp):
            axes = parent.manual_axes.data + axes
        parent = parent.parent_op()
    return axes


def _export(computation: ManualComputationOp, axes: tuple[str, ...], symbols: Symbols) -> None:
    location = computation.location
    mark = ManualAxesAttr(axes)
    own = computation.manual_axes.data
    body = computation.body.blocks[0]

    def call_before(target: str, value: SSAValue, type_: Attribute, sharding: TensorSharding) -> Operation:
        made = sharding_call(target, value, type_, sharding, location)
        place_before(made, computation)
        return made

    local: list[SSAValue] = []
    for operand, argument, sharding in zip(
        computation.operands, body.args, computation.in_shardings.data, strict=True
    ):
        demanded = call_before(SHARDING_TARGET, operand, operand.type, sharding)
        inner = without_manual_axes(sharding, own)
        entered = call_before(FULL_TO_SHARD, demanded.results[0], argument.type, inner)
        entered.attributes[MANUAL_AXES] = mark
        local.append(entered.results[0])
    function, result_types = outline(computation, _BODY)
    for op in walk_pre_order(function):
        if SHARDING in op.attributes and MANUAL_AXES not in op.attributes:
            op.attributes[MANUAL_AXES] = mark
    name = symbols.insert(function)
    call = build_operation(CallOp, local, result_types, {"callee": SymbolRefAttr(name)}, {}, location)
    place_before(call, computation)
    shardings = computation.out_shardings.data
    for old, value, sharding in zip(computation.results, call.results, shardings, strict=True):
        inner = without_manual_axes(sharding, own)
        demanded = call_before(SHARDING_TARGET, value, value.type, inner)
        demanded.attributes[MANUAL_AXES] = mark
        left = call_before(SHARD_TO_FULL, demanded.results[0], old.type, sharding)
        replace_uses(old, left.results[0])
    erase(computation)
