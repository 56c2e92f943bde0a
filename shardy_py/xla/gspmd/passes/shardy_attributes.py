"""The attributes of sdy to frontend attributes of HLO, and back."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.mlir import ir
from shardy_py.mlir.dialects.sdy import MeshAttr, MeshOp, ShardingConstraintOp, TensorShardingPerValueAttr
from shardy_py.mlir.dialects.stablehlo import AfterAllOp, InfeedOp, OutfeedOp, RecvOp, ReshapeOp, SendOp
from shardy_py.mlir.holders import RULE, SHARDING, Holder, Place, attribute_list_shardings, write_all
from shardy_py.mlir.op_errors import errors_at
from shardy_py.mlir.symbols import MAIN, Symbols, functions_of, meshes_of
from shardy_py.passes.export.communication_ops import identity_op
from shardy_py.sharding import TensorSharding
from shardy_py.xla.gspmd import encoding


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
        encoding.rewrite_entries(function, _exported_entries)
        _export_results(function)
        for inner in ir.walk_pre_order(function, include_root=False):
            _export_op(inner)
    meshes: encoding.Entries = {name: MeshAttr(mesh) for name, mesh in meshes_of(module).items()}
    if meshes:
        module.attributes = encoding.with_frontend(
            module.attributes, {encoding.MESHES.name: DictionaryAttr(meshes)}
        )


def _exported_entries(place: str, index: int, entries: encoding.Entries) -> encoding.Entries:
    if SHARDING not in entries or place != "arg_attrs":
        return entries
    return encoding.with_frontend(entries, {encoding.VALUE_SHARDING.name: entries[SHARDING]})


def _export_results(function: Operation) -> None:
    """Puts a custom call with the sharding of each result before the return."""
    last = ir.terminator_of(function.regions[0])
    if last is None:
        return
    for index, sharding in enumerate(attribute_list_shardings(function.properties.get("res_attrs"))):
        if sharding is not None:
            value = last.operands[index]
            entries: encoding.Entries = {
                encoding.RESULT_SHARDINGS.name: TensorShardingPerValueAttr((sharding,))
            }
            attributes = encoding.with_frontend({}, entries)
            call = encoding.custom_call(
                encoding.FUNCTION_RESULT_SHARDING, (value,), (value.type,), attributes, last.location
            )
            ir.place_before(call, last)
            ir.replace_operand(last, index, call.results[0])


def _export_op(op: Operation) -> None:
    names = {SHARDING: encoding.RESULT_SHARDINGS.name, RULE: encoding.SHARDING_RULE.name}
    entries = {names[name]: op.attributes[name] for name in names if name in op.attributes}
    if entries:
        op.attributes = encoding.with_frontend(op.attributes, entries)
        op.attributes.pop(RULE, None)


_KEEP_SHARDINGS = frozenset(
    {
        SendOp.name,
        RecvOp.name,
        AfterAllOp.name,
        encoding.SHARDING_TARGET,
        "xla_python_cpu_callback",
        "xla_ffi_python_cpu_callback",
        "xla_python_gpu_callback",
        "xla_ffi_python_gpu_callback",
    }
)
"""The ops, and the targets of custom calls, whose shardings are restored."""

_KEEP_XLA_SHARDING = frozenset({InfeedOp.name, OutfeedOp.name})
_COMBINE_HALVES = "X64Combine"
_READ = {encoding.FRONTEND_ATTRIBUTES, encoding.XLA_SHARDING}


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
        encoding.rewrite_entries(function, lambda place, index, entries: _value_entries(entries))
        for inner in list(ir.walk_pre_order(function, include_root=False)):
            if inner.attributes.keys() & _READ:
                with errors_at(inner):
                    _import_op(inner, function)


def _import_meshes(module: ModuleOp, symbols: Symbols) -> None:
    meshes = encoding.MESHES.read(module.attributes)
    last: Operation | None = None
    for name, given in meshes.data.items() if meshes is not None else ():
        mesh = (
            given if isinstance(given, MeshAttr) else encoding.spelled_attribute(getattr(given, "data", ""))
        )
        if not isinstance(mesh, MeshAttr):
            what = f"frontend attribute '{encoding.MESHES.name}', entry '{name}'"
            raise ShardyError.unexpected(what, expected=MeshAttr.name, got=str(mesh))
        op = MeshOp(name, mesh.data)
        op.location = module.location
        if last is None:
            ir.place_at_start(op, module.body.block)
        else:
            ir.place_after(op, last)
        symbols.insert(op)
        last = op
    module.attributes = encoding.without_frontend(module.attributes, [encoding.MESHES])


def _import_tuple_shardings(module: ModuleOp, symbols: Symbols) -> None:
    """Moves the shardings of the arguments and results of the main function from the module to it."""
    for entry, place in (
        (encoding.TUPLE_ARGUMENTS, Place.ARGUMENT),
        (encoding.TUPLE_RESULTS, Place.FUNCTION_RESULT),
    ):
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
    module.attributes = encoding.without_frontend(
        module.attributes, [encoding.TUPLE_ARGUMENTS, encoding.TUPLE_RESULTS]
    )


def _value_entries(entries: encoding.Entries) -> encoding.Entries:
    given = encoding.VALUE_SHARDING.read(entries)
    result = encoding.without_frontend(entries, [encoding.VALUE_SHARDING, encoding.SHARDING_RULE])
    result.pop(encoding.XLA_SHARDING, None)
    return result if given is None else {**result, SHARDING: given}


def _import_op(op: Operation, function: Operation) -> None:
    given, rule = encoding.RESULT_SHARDINGS.read(op.attributes), encoding.SHARDING_RULE.read(op.attributes)
    op.attributes = encoding.without_frontend(
        op.attributes, [encoding.RESULT_SHARDINGS, encoding.SHARDING_RULE]
    )
    if op.name not in _KEEP_XLA_SHARDING:
        op.attributes.pop(encoding.XLA_SHARDING, None)
    if rule is not None:
        op.attributes[RULE] = rule
    if given is None:
        return
    target = encoding.call_target(op)
    if target == encoding.FUNCTION_RESULT_SHARDING:
        _import_function_result(op, given.data[0], function)
    elif op.name in _KEEP_SHARDINGS or target in _KEEP_SHARDINGS:
        op.attributes[SHARDING] = given


def _import_function_result(op: Operation, sharding: TensorSharding, function: Operation) -> None:
    """Moves the sharding of `op` to results of `function`; other users of the value get a constraint."""
    for user in encoding.users(op.results[0]) if op.results else ():
        if isinstance(user, ReshapeOp) and user.results[0].first_use is None:
            ir.erase(user)  # unused: it only carried the sharding of an element of the returned tuple
    value = _returned_value(op, sharding)
    returned = [use for use in value.uses if isinstance(use.operation, ReturnOp)]
    write_all((Holder(Place.FUNCTION_RESULT, function, use.index), sharding) for use in returned)
    sources = list(op.operands)
    if value is op.results[0] and len(returned) < len(encoding.users(value)):
        dimensions = tuple(replace(dimension, is_closed=False) for dimension in sharding.dimensions)
        opened = replace(sharding, dimensions=dimensions)
        constraint = identity_op(ShardingConstraintOp, sources[0], opened, op.location)
        ir.place_before(constraint, op)
        sources = list(constraint.results)
    for result, source in zip(op.results, sources, strict=True):
        ir.replace_uses(result, source)
    ir.erase(op)


def _returned_value(op: Operation, sharding: TensorSharding) -> SSAValue:
    """The value that the function returns for the one whose sharding `op` holds.

    On hardware with 32 bits, an integer of 64 bits is two halves; the op that combines them gets the
    sharding.
    """
    counts = len(op.operands), len(op.results)
    for user in encoding.users(op.results[0]) if counts in ((1, 1), (2, 2)) else ():
        if encoding.call_target(user) == _COMBINE_HALVES:
            user.attributes.setdefault(SHARDING, TensorShardingPerValueAttr((sharding,)))
            return user.results[0]
    if counts != (1, 1):
        got = f"{counts[0]} operands and {counts[1]} results"
        raise ShardyError.unexpected("", expected="one operand and one result", got=got)
    source = op.operands[0]
    if op.results[0].first_use is None and isinstance(source, OpResult):
        return source  # it has no elements: a constant has replaced the result
    return op.results[0]
