"""The attributes of sdy to frontend attributes of HLO, and back."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.dialects.sdy import (
    MeshAttr,
    MeshOp,
    ShardingConstraintOp,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from shardy_py.dialects.stablehlo import AfterAllOp, InfeedOp, OutfeedOp, RecvOp, ReshapeOp, SendOp
from shardy_py.errors import ShardyError
from shardy_py.graph.holders import RULE, SHARDING, Holder, Place, attribute_list_shardings, write_all
from shardy_py.graph.op_errors import errors_at
from shardy_py.graph.symbols import MAIN, Symbols, functions_of, meshes_of
from shardy_py.gspmd.custom_calls import call_target, custom_call, users
from shardy_py.gspmd.encoding import (
    FRONTEND_ATTRIBUTES,
    FUNCTION_RESULT_SHARDING,
    MESHES,
    RESULT_SHARDINGS,
    SHARDING_RULE,
    SHARDING_TARGET,
    TUPLE_ARGUMENTS,
    TUPLE_RESULTS,
    VALUE_SHARDING,
    XLA_SHARDING,
    Entries,
    rewrite_entries,
    spelled_attribute,
    with_frontend,
    without_frontend,
)
from shardy_py.ir import (
    build_operation,
    erase,
    place_after,
    place_at_start,
    place_before,
    replace_operand,
    replace_uses,
    terminator_of,
    walk_pre_order,
)
from shardy_py.sharding import TensorSharding


def xla_sdy_round_trip_export_shardy_attrs(module: ModuleOp) -> None:
    """`xla-sdy-round-trip-export-shardy-attrs`: encodes meshes, shardings and rules as frontend attributes.

    The results of a function get custom calls, because HLO has no attributes for them. The attributes of sdy
    are kept beside the strings.

    before  sdy.mesh @mesh = <["x"=2]>
            func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    after   module attributes
                {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22x\22=2]>}"}}
            func.func @f(%arg0: tensor<8xf32>
                {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\22x\22}]>"}, ...})

    The inverse: `xla-sdy-round-trip-import-shardy-attrs`.
    """
    for function in functions_of(module):
        rewrite_entries(function, _exported_entries)
        _export_results(function)
        for inner in walk_pre_order(function, include_root=False):
            _export_op(inner)
    meshes: Entries = {name: MeshAttr(mesh) for name, mesh in meshes_of(module).items()}
    if meshes:
        module.attributes = with_frontend(module.attributes, {MESHES.name: DictionaryAttr(meshes)})


def _exported_entries(place: str, index: int, entries: Entries) -> Entries:
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


_KEEP_SHARDINGS = frozenset(
    {
        SendOp.name,
        RecvOp.name,
        AfterAllOp.name,
        SHARDING_TARGET,
        "xla_python_cpu_callback",
        "xla_ffi_python_cpu_callback",
        "xla_python_gpu_callback",
        "xla_ffi_python_gpu_callback",
    }
)
"""The ops, and the targets of custom calls, whose shardings are restored."""

_KEEP_XLA_SHARDING = frozenset({InfeedOp.name, OutfeedOp.name})
_COMBINE_HALVES = "X64Combine"
_READ = {FRONTEND_ATTRIBUTES, XLA_SHARDING}


def xla_sdy_round_trip_import_shardy_attrs(module: ModuleOp) -> None:
    """`xla-sdy-round-trip-import-shardy-attrs`: restores what Shardy encodes as frontend attributes of HLO.

    Restores meshes, sharding rules, and the shardings of arguments, results and the ops that XLA does not
    reshard. The `mhlo.sharding` beside them, which holds less, is erased.

    before  module attributes
                {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22x\22=2]>}"}} {
            func.func @f(%arg0: tensor<8xf32>
                {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\22x\22}]>"}})
    after   sdy.mesh @mesh = <["x"=2]>
            func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    """
    symbols = Symbols(module)
    with errors_at(module):
        _import_meshes(module, symbols)
        _import_tuple_shardings(module, symbols)
    for function in functions_of(module):
        rewrite_entries(function, lambda place, index, entries: _value_entries(entries))
        for inner in list(walk_pre_order(function, include_root=False)):
            if inner.attributes.keys() & _READ:
                with errors_at(inner):
                    _import_op(inner, function)


def _import_meshes(module: ModuleOp, symbols: Symbols) -> None:
    meshes = MESHES.read(module.attributes)
    last: Operation | None = None
    for name, given in meshes.data.items() if meshes is not None else ():
        mesh = given if isinstance(given, MeshAttr) else spelled_attribute(getattr(given, "data", ""))
        if not isinstance(mesh, MeshAttr):
            what = f"frontend attribute '{MESHES.name}', entry '{name}'"
            raise ShardyError.unexpected(what, expected=MeshAttr.name, got=str(mesh))
        op = MeshOp(name, mesh.data)
        op.location = module.location
        if last is None:
            place_at_start(op, module.body.block)
        else:
            place_after(op, last)
        symbols.insert(op)
        last = op
    module.attributes = without_frontend(module.attributes, [MESHES])


def _import_tuple_shardings(module: ModuleOp, symbols: Symbols) -> None:
    """Moves the shardings of the arguments and results of the main function from the module to it."""
    for entry, place in ((TUPLE_ARGUMENTS, Place.ARGUMENT), (TUPLE_RESULTS, Place.FUNCTION_RESULT)):
        given = entry.read(module.attributes)
        function = symbols.get(MAIN)
        if given is None or function is None:
            continue
        type_ = function.properties["function_type"]
        kind = "inputs" if place is Place.ARGUMENT else "outputs"
        count = len(getattr(type_, kind).data)
        if count != len(given.data):
            what = f"frontend attribute '{entry.name}'"
            expected = f"a sharding for each of the {count} {kind} of @{MAIN}"
            raise ShardyError.unexpected(what, expected=expected, got=f"{len(given.data)} shardings")
        write_all((Holder(place, function, index), sharding) for index, sharding in enumerate(given.data))
    module.attributes = without_frontend(module.attributes, [TUPLE_ARGUMENTS, TUPLE_RESULTS])


def _value_entries(entries: Entries) -> Entries:
    given = VALUE_SHARDING.read(entries)
    result = without_frontend(entries, [VALUE_SHARDING, SHARDING_RULE])
    result.pop(XLA_SHARDING, None)
    return result if given is None else {**result, SHARDING: given}


def _import_op(op: Operation, function: Operation) -> None:
    given, rule = RESULT_SHARDINGS.read(op.attributes), SHARDING_RULE.read(op.attributes)
    op.attributes = without_frontend(op.attributes, [RESULT_SHARDINGS, SHARDING_RULE])
    if op.name not in _KEEP_XLA_SHARDING:
        op.attributes.pop(XLA_SHARDING, None)
    if rule is not None:
        op.attributes[RULE] = rule
    if given is None:
        return
    target = call_target(op)
    if target == FUNCTION_RESULT_SHARDING:
        _import_function_result(op, given.data[0], function)
    elif op.name in _KEEP_SHARDINGS or target in _KEEP_SHARDINGS:
        op.attributes[SHARDING] = given


def _import_function_result(op: Operation, sharding: TensorSharding, function: Operation) -> None:
    """Moves the sharding of `op` to results of `function`; other users of the value get a constraint."""
    for user in users(op.results[0]) if op.results else ():
        if isinstance(user, ReshapeOp) and user.results[0].first_use is None:
            erase(user)  # unused: it only carried the sharding of an element of the returned tuple
    value = _returned_value(op, sharding)
    returned = [use for use in value.uses if isinstance(use.operation, ReturnOp)]
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


def _returned_value(op: Operation, sharding: TensorSharding) -> SSAValue:
    """The value that the function returns for the one whose sharding `op` holds.

    On hardware with 32 bits, an integer of 64 bits is two halves; the op that combines them gets the
    sharding.
    """
    counts = len(op.operands), len(op.results)
    for user in users(op.results[0]) if counts in ((1, 1), (2, 2)) else ():
        if call_target(user) == _COMBINE_HALVES:
            user.attributes.setdefault(SHARDING, TensorShardingPerValueAttr((sharding,)))
            return user.results[0]
    if counts != (1, 1):
        got = f"{counts[0]} operands and {counts[1]} results"
        raise ShardyError.unexpected("", expected="one operand and one result", got=got)
    source = op.operands[0]
    if op.results[0].first_use is None and isinstance(source, OpResult):
        return source  # it has no elements: a constant has replaced the result
    return op.results[0]
