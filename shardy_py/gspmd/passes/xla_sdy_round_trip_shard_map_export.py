"""`xla-sdy-round-trip-shard-map-export`: makes of manual computations what XLA's HLO carries along.

    before  %3 = sdy.manual_computation(%0) in_shardings=[...] out_shardings=[...] manual_axes={...} { ... }
    after   %1 = custom_call @xla.sdy.GlobalToLocalShape(%0) {... xla.sdy.in_shardings, xla.sdy.manual_axes}
            %2 = call @xla.sdy.manual_computation_body(%1)
            %3 = custom_call @xla.sdy.LocalToGlobalShape(%2) {... xla.sdy.out_shardings, xla.sdy.manual_axes}

The way back: `xla-sdy-round-trip-shard-map-import`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr, i1
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import ManualComputationOp
from shardy_py.dialects.stablehlo import op_class
from shardy_py.graph.symbols import Symbols
from shardy_py.gspmd.frontend_attributes import (
    GLOBAL_TO_LOCAL,
    IN_SHARDINGS,
    LOCAL_TO_GLOBAL,
    MANUAL_AXES,
    MANUAL_COMPUTATION_BODY,
    OUT_SHARDINGS,
    Entries,
    with_frontend,
)
from shardy_py.gspmd.shard_maps import outline
from shardy_py.ir import build_operation, erase, find_ops, innermost_first, place_before, replace_uses

_INLINEABLE = "inlineable"


@dataclass(frozen=True)
class XlaSdyRoundTripShardMapExportPass(ModulePass):
    """Makes of manual computations calls of functions between custom calls that say all about them."""

    name = "xla-sdy-round-trip-shard-map-export"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Symbols(op)
        for computation in innermost_first(find_ops(op, ManualComputationOp.name)):
            assert isinstance(computation, ManualComputationOp)
            _export(computation, symbols)


def _export(computation: ManualComputationOp, symbols: Symbols) -> None:
    axes = computation.manual_axes
    local: list[SSAValue] = []
    if computation.operands:
        types = [argument.type for argument in computation.body.blocks[0].args]
        entries: Entries = {IN_SHARDINGS: computation.in_shardings, MANUAL_AXES: axes}
        local += _custom_call(computation, GLOBAL_TO_LOCAL, computation.operands, types, entries).results
    function, local_types = outline(computation, MANUAL_COMPUTATION_BODY)
    properties: dict[str, Attribute] = {"callee": SymbolRefAttr(symbols.insert(function))}
    attributes = with_frontend(computation.attributes, {_INLINEABLE: StringAttr("false")})
    call = build_operation(CallOp, local, local_types, properties, attributes, computation.location)
    place_before(call, computation)
    if computation.results:
        types = [result.type for result in computation.results]
        entries = {MANUAL_AXES: axes, OUT_SHARDINGS: computation.out_shardings}
        after = _custom_call(computation, LOCAL_TO_GLOBAL, call.results, types, entries)
        for old, new in zip(computation.results, after.results, strict=True):
            replace_uses(old, new)
    erase(computation)


def _custom_call(
    computation: Operation,
    target: str,
    operands: Sequence[SSAValue],
    types: list[Attribute],
    entries: Entries,
) -> Operation:
    properties: dict[str, Attribute] = {
        "call_target_name": StringAttr(target),
        "has_side_effect": IntegerAttr(1, i1),
    }
    attributes = with_frontend({}, entries)
    made = build_operation(
        op_class("custom_call"), operands, types, properties, attributes, computation.location
    )
    place_before(made, computation)
    return made
