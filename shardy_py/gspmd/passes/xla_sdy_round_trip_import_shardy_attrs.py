"""`xla-sdy-round-trip-import-shardy-attrs`: restores what Shardy keeps in frontend attributes of HLO.

Meshes, shardings of arguments, results and of the ops that keep theirs, sharding rules. The `mhlo.sharding`
beside them, which says less, goes.

    before  module attributes
                {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\\22x\\22=2]>}"}} {
            func.func @f(%arg0: tensor<8xf32>
                {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\\22x\\22}]>"}})
    after   sdy.mesh @mesh = <["x"=2]>
            func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import (
    MeshAttr,
    MeshOp,
    OpShardingRuleAttr,
    ShardingConstraintOp,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from shardy_py.errors import ShardyError
from shardy_py.graph.holders import RULE, SHARDING, Holder, Place, write_all
from shardy_py.graph.op_errors import errors_at
from shardy_py.graph.symbols import MAIN, Symbols, functions_of
from shardy_py.gspmd.frontend_attributes import (
    COMBINE_HALVES,
    FRONTEND_ATTRIBUTES,
    FUNCTION_RESULT_SHARDING,
    PYTHON_CALLBACKS,
    ROUND_TRIP_MESHES,
    ROUND_TRIP_RULE,
    ROUND_TRIP_SHARDING,
    SHARDING_TARGET,
    TUPLE_ARGUMENTS,
    TUPLE_RESULTS,
    XLA_SHARDING,
    Entries,
    call_target,
    frontend_entry,
    rewrite_entries,
    spelled_attribute,
    without_frontend,
)
from shardy_py.gspmd.shard_maps import users
from shardy_py.ir import (
    build_operation,
    erase,
    place_after,
    place_at_start,
    place_before,
    replace_uses,
    walk_pre_order,
)
from shardy_py.sharding import TensorSharding

_KEEPING = frozenset({"stablehlo.send", "stablehlo.recv", "stablehlo.after_all"})
_KEEPING_TARGETS = PYTHON_CALLBACKS | {SHARDING_TARGET}
_WITH_XLA_SHARDING = frozenset({"stablehlo.infeed", "stablehlo.outfeed"})
_ENTRIES = (ROUND_TRIP_SHARDING, ROUND_TRIP_RULE)
_READ = {FRONTEND_ATTRIBUTES, XLA_SHARDING}


@dataclass(frozen=True)
class XlaSdyRoundTripImportShardyAttrsPass(ModulePass):
    """Restores meshes, shardings and rules from frontend attributes."""

    name = "xla-sdy-round-trip-import-shardy-attrs"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Symbols(op)
        with errors_at(op):
            _import_meshes(op, symbols)
            _import_tuple_shardings(op, symbols)
        for function in functions_of(op):
            rewrite_entries(function, lambda place, index, entries: _value_entries(entries))
            for inner in list(walk_pre_order(function, include_root=False)):
                if inner.attributes.keys() & _READ:
                    with errors_at(inner):
                        _import_op(inner, function)


def _import_meshes(module: ModuleOp, symbols: Symbols) -> None:
    meshes = frontend_entry(module.attributes, ROUND_TRIP_MESHES, DictionaryAttr)
    last: Operation | None = None
    for name, given in meshes.data.items() if meshes is not None else ():
        mesh = given if isinstance(given, MeshAttr) else spelled_attribute(getattr(given, "data", ""))
        if not isinstance(mesh, MeshAttr):
            raise ShardyError(
                f"frontend attribute '{ROUND_TRIP_MESHES}' has {name} = {mesh}; expected a mesh"
            )
        op = MeshOp(name, mesh.data)
        op.location = module.location
        if last is None:
            place_at_start(op, module.body.block)
        else:
            place_after(op, last)
        symbols.insert(op)
        last = op
    module.attributes = without_frontend(module.attributes, [ROUND_TRIP_MESHES])


def _import_tuple_shardings(module: ModuleOp, symbols: Symbols) -> None:
    """The shardings of the arguments and results of the main function that stand on the module."""
    for name, place in ((TUPLE_ARGUMENTS, Place.ARGUMENT), (TUPLE_RESULTS, Place.FUNCTION_RESULT)):
        given = frontend_entry(module.attributes, name, TensorShardingPerValueAttr)
        function = symbols.get(MAIN)
        if given is None or function is None:
            continue
        type_ = function.properties["function_type"]
        types = getattr(type_, "inputs" if place is Place.ARGUMENT else "outputs").data
        if len(types) != len(given.data):
            counts = f"{len(given.data)} shardings; @{MAIN} has {len(types)} such values"
            raise ShardyError(f"frontend attribute '{name}' of the module has {counts}")
        write_all((Holder(place, function, index), sharding) for index, sharding in enumerate(given.data))
    module.attributes = without_frontend(module.attributes, [TUPLE_ARGUMENTS, TUPLE_RESULTS])


def _value_entries(entries: Entries) -> Entries:
    given = frontend_entry(entries, ROUND_TRIP_SHARDING, TensorShardingAttr)
    result = without_frontend(entries, _ENTRIES)
    result.pop(XLA_SHARDING, None)
    return result if given is None else {**result, SHARDING: given}


def _import_op(op: Operation, function: Operation) -> None:
    given = frontend_entry(op.attributes, ROUND_TRIP_SHARDING, TensorShardingPerValueAttr)
    rule = frontend_entry(op.attributes, ROUND_TRIP_RULE, OpShardingRuleAttr)
    target = call_target(op)
    op.attributes = without_frontend(op.attributes, _ENTRIES)
    if op.name not in _WITH_XLA_SHARDING:
        op.attributes.pop(XLA_SHARDING, None)
    if rule is not None:
        op.attributes[RULE] = rule
    if given is None:
        return
    if target == FUNCTION_RESULT_SHARDING:
        _import_function_result(op, given.data[0], function)
    elif op.name in _KEEPING or target in _KEEPING_TARGETS:
        op.attributes[SHARDING] = given


def _import_function_result(op: Operation, sharding: TensorSharding, function: Operation) -> None:
    """Give the results of `function` that `op` is their sharding; a constraint keeps it for other users."""
    for user in users(op.results[0]) if op.results else ():
        if user.name == "stablehlo.reshape" and user.results[0].first_use is None:
            erase(user)  # of no use: it only carried the sharding of an element of the tuple returned
    value = _value_of_result(op, sharding)
    returned = [use for use in value.uses if use.operation.name == "func.return"]
    write_all((Holder(Place.FUNCTION_RESULT, function, use.index), sharding) for use in returned)
    sources = list(op.operands)
    if value is op.results[0] and len(returned) < len(users(value)):
        dimensions = tuple(replace(dimension, is_closed=False) for dimension in sharding.dimensions)
        opened = TensorShardingAttr(replace(sharding, dimensions=dimensions))
        constraint = build_operation(
            ShardingConstraintOp, sources, [value.type], {"sharding": opened}, {}, op.location
        )
        place_before(constraint, op)
        sources = list(constraint.results)
    for result, source in zip(op.results, sources, strict=True):
        replace_uses(result, source)
    erase(op)


def _value_of_result(op: Operation, sharding: TensorSharding) -> SSAValue:
    """What the function returns of the value whose sharding `op` keeps.

    Integers of 64 bits come in two halves on hardware of 32, and what combines them gets the sharding.
    """
    counts = len(op.operands), len(op.results)
    for user in users(op.results[0]) if counts in ((1, 1), (2, 2)) else ():
        if call_target(user) == COMBINE_HALVES:
            user.attributes.setdefault(SHARDING, TensorShardingPerValueAttr((sharding,)))
            return user.results[0]
    if counts != (1, 1):
        raise ShardyError(f"has {counts[0]} operands and {counts[1]} results; expected one of each")
    source = op.operands[0]
    if op.results[0].first_use is None and isinstance(source, OpResult):
        return source  # without elements: a constant has taken its place
    return op.results[0]
