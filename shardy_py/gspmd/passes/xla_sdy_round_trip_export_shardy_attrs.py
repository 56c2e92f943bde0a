"""`xla-sdy-round-trip-export-shardy-attrs`: keeps meshes, shardings and rules as strings in HLO.

The results of a function get custom calls, for HLO has no place for their attributes. The attributes of sdy
stay beside the strings.

    before  sdy.mesh @mesh = <["x"=2]>
            func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    after   module attributes
                {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\\22x\\22=2]>}"}}
            func.func @f(%arg0: tensor<8xf32>
                {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\\22x\\22}]>"}, ...})

The way back: `xla-sdy-round-trip-import-shardy-attrs`.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i1
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import MeshAttr, TensorShardingPerValueAttr
from shardy_py.dialects.stablehlo import op_class
from shardy_py.graph.holders import RULE, SHARDING, attribute_list_shardings
from shardy_py.graph.symbols import functions_of, meshes_of
from shardy_py.gspmd.frontend_attributes import (
    FUNCTION_RESULT_SHARDING,
    ROUND_TRIP_MESHES,
    ROUND_TRIP_RULE,
    ROUND_TRIP_SHARDING,
    Entries,
    rewrite_entries,
    with_frontend,
)
from shardy_py.ir import build_operation, place_before, replace_operand, terminator_of, walk_pre_order


@dataclass(frozen=True)
class XlaSdyRoundTripExportShardyAttrsPass(ModulePass):
    """Keeps meshes, shardings and rules in frontend attributes."""

    name = "xla-sdy-round-trip-export-shardy-attrs"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            rewrite_entries(function, _value_entries)
            _export_results(function)
            for inner in walk_pre_order(function, include_root=False):
                _export_op(inner)
        meshes: Entries = {name: MeshAttr(mesh) for name, mesh in meshes_of(op).items()}
        if meshes:
            op.attributes = with_frontend(op.attributes, {ROUND_TRIP_MESHES: DictionaryAttr(meshes)})


def _value_entries(place: str, index: int, entries: Entries) -> Entries:
    given = entries.get(SHARDING)
    if given is None or place != "arg_attrs":
        return entries
    return with_frontend(entries, {ROUND_TRIP_SHARDING: given})


def _export_results(function: Operation) -> None:
    """Put the sharding of each result on a custom call in front of the return."""
    last = terminator_of(function.regions[0])
    shardings = attribute_list_shardings(function.properties.get("res_attrs"))
    if last is None:
        return
    for index, sharding in enumerate(shardings):
        if sharding is None:
            continue
        value = last.operands[index]
        properties: dict[str, Attribute] = {
            "call_target_name": StringAttr(FUNCTION_RESULT_SHARDING),
            "has_side_effect": IntegerAttr(1, i1),
        }
        attributes = with_frontend({}, {ROUND_TRIP_SHARDING: TensorShardingPerValueAttr((sharding,))})
        made = build_operation(
            op_class("custom_call"), (value,), (value.type,), properties, attributes, last.location
        )
        place_before(made, last)
        replace_operand(last, index, made.results[0])


def _export_op(op: Operation) -> None:
    kept = {ROUND_TRIP_SHARDING: op.attributes.get(SHARDING), ROUND_TRIP_RULE: op.attributes.get(RULE)}
    entries = {name: value for name, value in kept.items() if value is not None}
    if entries:
        op.attributes = with_frontend(op.attributes, entries)
        op.attributes.pop(RULE, None)
