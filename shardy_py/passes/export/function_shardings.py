"""The passes that copy and truncate the shardings of the arguments and results of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir import holders, value_shardings
from shardy_py.mlir.calls import calls_in, is_defined_function
from shardy_py.mlir.dialects.sdy import ReshardOp
from shardy_py.mlir.dialects.sdy.attributes import TensorShardingPerValueAttr
from shardy_py.mlir.dialects.traits import data_flow, required_data_flow
from shardy_py.mlir.ir import find_ops_where, operands_of, place_after, replace_uses
from shardy_py.mlir.movements import Movement, Spot, note, note_moved
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols, functions_of, meshes_of
from shardy_py.mlir.typed import property_of
from shardy_py.ops import TABLE
from shardy_py.passes.export.communication_ops import identity_op
from shardy_py.reshard.boundary import evenly_divided, without_sub_axes
from shardy_py.reshard.compare import is_equivalent
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import Meshes, mesh_of


def propagate_sharding_from_func_to_call(module: ModuleOp) -> None:
    """`sdy-propagate-sharding-from-func-to-call`: copies result shardings to calls.

    Results of the callee without a sharding are treated as open.

    before  %0 = call @f(%a)
        func.func private @f(...) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    after   %0 = call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
    """
    symbols = Symbols(module)
    for call in calls_in(module):
        function = symbols.callee(call)
        shardings = value_shardings.function_result_shardings(function, symbols)
        if shardings is not None and not holders.result_shardings(call):
            value_shardings.set_shardings(call, shardings)
            note_moved(
                call.results,
                holders.function_results(function, len(shardings)),
                "sdy-propagate-sharding-from-func-to-call",
                call,
            )


def propagate_to_func_results(module: ModuleOp) -> None:
    """`sdy-propagate-to-func-results`: copies shardings of returned values to results.

    The result shardings of the main function are the user's; since JAX 0.12, those that it lacks are copied.

    before  func.func private @f(%a {sdy.sharding = ...}) -> T { return %a }
    after   func.func private @f(%a {sdy.sharding = ...}) -> (T {sdy.sharding = ...}) { return %a }
    """
    main, meshes = Symbols(module).main(), meshes_of(module)
    for function in module.body.block.ops:
        if is_defined_function(function) and (function is not main or _MAIN_TOO.holds):
            copy_returned_shardings(function, meshes, keeps_own=function is main)


_MAIN_TOO = Behaviour.MAIN_RESULTS_TAKE_SHARDINGS


def copy_returned_shardings(function: Operation, meshes: Meshes, *, keeps_own: bool) -> None:
    """Gives each result the sharding of the value returned for it, or none.

    keeps_own: results that have shardings keep them.
    """
    terminator = function.regions[0].blocks[0].last_op
    if not isinstance(terminator, ReturnOp):
        return
    removed: list[int] = []
    written: list[tuple[holders.Holder, TensorSharding]] = []
    for index, value in enumerate(operands_of(terminator)):
        result = holders.Holder(holders.Place.FUNCTION_RESULT, function, index)
        sharding = value_shardings.sharding_of(value)
        if (
            sharding is not None
            and Behaviour.SINGLE_DEVICE_RESULTS_STAY_INSIDE.holds
            and mesh_of(sharding, meshes).is_maximal
        ):
            sharding = None
        if keeps_own and (sharding is None or holders.read(result) is not None):
            continue
        if sharding is None:
            removed.append(index)
        else:
            written.append((result, sharding))
        note_moved((result,), (value,), "sdy-propagate-to-func-results")
    value_shardings.remove_result_shardings(function, removed)
    holders.write_all(written)


def insert_func_call_reshards(module: ModuleOp) -> None:
    """`sdy-insert-func-call-reshards`: inserts reshards where result shardings of calls and functions differ.

    The call itself takes the shardings of the function.

    before  %0 = call @f(%a) {sdy.sharding = ...<[<@mesh, [{"x"}]>]>}       @f returns <@mesh, [{"y"}]>
    after   %0 = call @f(%a) {sdy.sharding = ...<[<@mesh, [{"y"}]>]>}   %1 = sdy.reshard %0 <@mesh, [{"x"}]>
    """
    symbols = Symbols(module)
    for call in calls_in(module):
        own = holders.result_shardings(call)
        wanted = value_shardings.function_result_shardings(symbols.callee(call), symbols)
        if wanted is None and own:
            wanted = tuple(map(_replicated, own))
        if wanted is not None:
            adopt_shardings(call, wanted)
            results = holders.function_results(symbols.callee(call), len(wanted))
            note_moved(call.results, results, "sdy-insert-func-call-reshards", call)


def adopt_shardings(call: Operation, shardings: tuple[TensorSharding, ...]) -> None:
    """Sets the result shardings of `call`; users of results that had others use a reshard to these.

    Since JAX 0.12 a result that differs in unreduced axes keeps its own; before, these alone required a
    reshard, and in JAX 0.10 none.
    """
    compared = _whole if Behaviour.CALLS_ARE_RESHARDED_WHERE_UNREDUCED.holds else _reduced
    adopted: list[TensorSharding] = []
    for result, sharding in zip(call.results, shardings, strict=True):
        own = value_shardings.sharding_of(result)
        given = own or _replicated(sharding)
        if given.unreduced_axes != sharding.unreduced_axes and Behaviour.CALLS_KEEP_UNREDUCED_AXES.holds:
            adopted.append(given)
            continue
        adopted.append(sharding)
        if not is_equivalent(compared(sharding), compared(given)):
            reshard = identity_op(ReshardOp, result, given, call.location)
            place_after(reshard, call)
            replace_uses(result, reshard.results[0], but_not_in=reshard)
            note_moved(reshard.results, (result,), "sdy-insert-func-call-reshards", call)
    value_shardings.set_shardings(call, tuple(adopted))


def _whole(sharding: TensorSharding) -> TensorSharding:
    return sharding


def _reduced(sharding: TensorSharding) -> TensorSharding:
    return replace(sharding, unreduced_axes=()) if sharding.unreduced_axes else sharding


def _replicated(sharding: TensorSharding) -> TensorSharding:
    return TensorSharding.fully_closed(sharding.mesh, sharding.rank)


def update_non_divisible_input_output_shardings(module: ModuleOp) -> None:
    """`sdy-update-non-divisible-input-output-shardings`: makes boundary shardings divide dimensions.

    These are arguments and results of functions, results of calls, and data-flow edges of manual
    computations. Each dimension keeps the largest prefix of its axes that divides it.

    on <["x"=2, "y"=2]>
    before  func.func @main(%arg0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>})
    after   func.func @main(%arg0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    """
    meshes = meshes_of(module)
    known: dict[tuple[int, int], tuple[TensorSharding, TensorSharding, Attribute]] = {}

    def divide(sharding: TensorSharding, type_: Attribute) -> TensorSharding:
        key = (id(sharding), id(type_))
        if key not in known:
            known[key] = (_divided(sharding, type_, meshes), sharding, type_)
        return known[key][0]

    pass_name = "sdy-update-non-divisible-input-output-shardings"
    for function in functions_of(module):
        transform_function(function, divide, pass_name)
    for inner in find_ops_where(module, _keeps_divisible):
        transform = transform_results if data_flow(inner) is None else transform_owners
        transform(inner, divide, pass_name)


def _keeps_divisible(op: Operation) -> bool:
    """Returns whether results of ops of this class, or owners of their edges, keep divisible shardings."""
    flow = data_flow(op)
    keeps_owners = flow is not None and flow.should_keep_edge_owner_shardings_divisible
    return keeps_owners or isinstance(op, CallOp) or TABLE[op.name].keeps_divisible


def _divided(sharding: TensorSharding, type_: Attribute, meshes: Meshes) -> TensorSharding:
    tensor = tensor_type(type_)
    if tensor is None or None in tensor.shape:
        return sharding
    shape = tuple(size or 0 for size in tensor.shape)
    return evenly_divided(sharding, shape, mesh_of(sharding, meshes))


Change = Callable[[TensorSharding, Attribute], TensorSharding]
"""Returns the new sharding of a value, given its old one and its type."""


def transform_function(function: Operation, change: Change, pass_name: str) -> None:
    """Change the shardings of the arguments and results of `function`, and record it for a pass."""
    for place in (holders.Place.ARGUMENT, holders.Place.FUNCTION_RESULT):
        holders.write_all(_changes(function, change, place, pass_name))


def _changes(
    function: Operation, change: Change, place: holders.Place, pass_name: str
) -> Iterator[tuple[holders.Holder, TensorSharding]]:
    is_argument = place is holders.Place.ARGUMENT
    type_ = property_of(function, "function_type", FunctionType)
    types: Sequence[Attribute] = (type_.inputs if is_argument else type_.outputs).data
    shardings = holders.attribute_list_shardings(
        function.properties.get("arg_attrs" if is_argument else "res_attrs")
    )
    for index, (sharding, value_type) in enumerate(zip(shardings, types, strict=False)):
        if sharding is not None and (new := change(sharding, value_type)) is not sharding:
            holder = holders.Holder(place, function, index)
            block = function.regions[0].first_block if is_argument else None
            _note(holder if block is None else block.args[index], sharding, new, pass_name)
            yield holder, new


def _note(spot: Spot, old: TensorSharding, new: TensorSharding, pass_name: str) -> None:
    if old is not new and old != new:
        note(Movement(spot, spot, pass_name, old=old, new=new))


def transform_results(op: Operation, change: Change, pass_name: str) -> None:
    """Change the shardings in `sdy.sharding` of `op`."""
    shardings = holders.result_shardings(op)
    if shardings:
        new = _changed(shardings, op.results, change, pass_name)
        op.attributes[holders.SHARDING] = TensorShardingPerValueAttr(new)


def transform_owners(op: Operation, change: Change, pass_name: str) -> None:
    """Change the shardings of the owners of data-flow edges of `op`, as the region sees them."""
    flow = required_data_flow(op)
    if shardings := flow.block_argument_edge_owner_shardings(op):
        new = _changed(shardings, flow.block_argument_edge_owners(op), change, pass_name)
        flow.set_block_argument_edge_owner_shardings(op, new)
    if shardings := flow.op_result_edge_owner_shardings(op):
        new = _changed(shardings, flow.op_result_edge_owners(op), change, pass_name)
        flow.set_op_result_edge_owner_shardings(op, new)


def _changed(
    shardings: Sequence[TensorSharding], values: Sequence[SSAValue], change: Change, pass_name: str
) -> tuple[TensorSharding, ...]:
    result: list[TensorSharding] = []
    for old, value in zip(shardings, values, strict=True):
        new = change(old, value.type)
        _note(value, old, new, pass_name)
        result.append(new)
    return tuple(result)


def remove_sub_axes_in_input_output_shardings(module: ModuleOp) -> None:
    """`sdy-remove-sub-axes-in-input-output-shardings`: truncates shardings of main at sub-axes.

    Open dimensions are cut before their first sub-axis; closed ones were fixed by the user and stay.

    before  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x":(1)2, ?}]>})
    after   func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", ?}]>})
    """
    pass_name = "sdy-remove-sub-axes-in-input-output-shardings"
    transform_function(Symbols(module).main(), lambda sharding, _: without_sub_axes(sharding), pass_name)
