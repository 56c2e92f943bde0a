"""`xla-sdy-round-trip-export-shardy-attrs`: encodes meshes, shardings and rules as frontend attributes.

The results of a function get custom calls, because HLO has no attributes for them. The attributes of sdy are
kept beside the strings.

    before  sdy.mesh @mesh = <["x"=2]>
            func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    after   module attributes
                {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\\22x\\22=2]>}"}}
            func.func @f(%arg0: tensor<8xf32>
                {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\\22x\\22}]>"}, ...})

The inverse: `xla-sdy-round-trip-import-shardy-attrs`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Operation

from shardy_py.dialects.sdy import MeshAttr, TensorShardingPerValueAttr
from shardy_py.graph.holders import RULE, SHARDING, attribute_list_shardings
from shardy_py.graph.symbols import functions_of, meshes_of
from shardy_py.gspmd.custom_calls import custom_call
from shardy_py.gspmd.encoding import (
    FUNCTION_RESULT_SHARDING,
    MESHES,
    RESULT_SHARDINGS,
    SHARDING_RULE,
    VALUE_SHARDING,
    Entries,
    rewrite_entries,
    with_frontend,
)
from shardy_py.ir import place_before, replace_operand, terminator_of, walk_pre_order


def xla_sdy_round_trip_export_shardy_attrs(module: ModuleOp) -> None:
    """Encodes meshes, shardings and rules as frontend attributes."""
    for function in functions_of(module):
        rewrite_entries(function, _value_entries)
        _export_results(function)
        for inner in walk_pre_order(function, include_root=False):
            _export_op(inner)
    meshes: Entries = {name: MeshAttr(mesh) for name, mesh in meshes_of(module).items()}
    if meshes:
        module.attributes = with_frontend(module.attributes, {MESHES.name: DictionaryAttr(meshes)})


def _value_entries(place: str, index: int, entries: Entries) -> Entries:
    if SHARDING not in entries or place != "arg_attrs":
        return entries
    return with_frontend(entries, {VALUE_SHARDING.name: entries[SHARDING]})


def _export_results(function: Operation) -> None:
    """Puts a custom call with the sharding of each result before the return."""
    last = terminator_of(function.regions[0])
    if last is None:
        return
    for index, sharding in enumerate(attribute_list_shardings(function.properties.get("res_attrs"))):
        if sharding is not None:
            value = last.operands[index]
            entries: Entries = {RESULT_SHARDINGS.name: TensorShardingPerValueAttr((sharding,))}
            attributes = with_frontend({}, entries)
            call = custom_call(FUNCTION_RESULT_SHARDING, (value,), (value.type,), attributes, last.location)
            place_before(call, last)
            replace_operand(last, index, call.results[0])


def _export_op(op: Operation) -> None:
    names = {SHARDING: RESULT_SHARDINGS.name, RULE: SHARDING_RULE.name}
    entries = {names[name]: op.attributes[name] for name in names if name in op.attributes}
    if entries:
        op.attributes = with_frontend(op.attributes, entries)
        op.attributes.pop(RULE, None)
