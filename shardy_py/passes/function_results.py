"""The passes that make the shardings of the results of functions and of their calls agree."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation

from shardy_py.dialects.sdy import ReshardOp, TensorShardingAttr
from shardy_py.graph.calls import calls_in, is_defined_function
from shardy_py.graph.holders import Holder, Place, function_results, result_shardings, write_all
from shardy_py.graph.movements import note_moved
from shardy_py.graph.symbols import Symbols
from shardy_py.graph.value_shardings import (
    function_result_shardings,
    remove_result_sharding,
    set_shardings,
    sharding_of,
)
from shardy_py.ir import build_operation, place_after, replace_uses
from shardy_py.sharding import TensorSharding


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
        shardings = function_result_shardings(function, symbols)
        if shardings is not None and not result_shardings(call):
            set_shardings(call, shardings)
            note_moved(
                call.results,
                function_results(function, len(shardings)),
                "sdy-propagate-sharding-from-func-to-call",
                call,
            )


def propagate_to_func_results(module: ModuleOp) -> None:
    """`sdy-propagate-to-func-results`: copies shardings of returned values to results.

    The main function is skipped: its result shardings are the user's.

    before  func.func private @f(%a {sdy.sharding = ...}) -> T { return %a }
    after   func.func private @f(%a {sdy.sharding = ...}) -> (T {sdy.sharding = ...}) { return %a }
    """
    main = Symbols(module).main()
    for function in module.body.block.ops:
        if function is not main and is_defined_function(function):
            copy_returned_shardings(function)


def copy_returned_shardings(function: Operation) -> None:
    """Gives each result the sharding of the value returned for it, or none."""
    terminator = function.regions[0].blocks[0].last_op
    if not isinstance(terminator, ReturnOp):
        return
    for index, value in enumerate(terminator.operands):
        sharding = sharding_of(value)
        result = Holder(Place.FUNCTION_RESULT, function, index)
        if sharding is None:
            remove_result_sharding(function, index)
        else:
            write_all([(result, sharding)])
        note_moved((result,), (value,), "sdy-propagate-to-func-results")


def insert_func_call_reshards(module: ModuleOp) -> None:
    """`sdy-insert-func-call-reshards`: inserts reshards where result shardings of calls and functions differ.

    The call itself takes the shardings of the function.

    before  %0 = call @f(%a) {sdy.sharding = ...<[<@mesh, [{"x"}]>]>}       @f returns <@mesh, [{"y"}]>
    after   %0 = call @f(%a) {sdy.sharding = ...<[<@mesh, [{"y"}]>]>}   %1 = sdy.reshard %0 <@mesh, [{"x"}]>
    """
    symbols = Symbols(module)
    for call in calls_in(module):
        own = result_shardings(call)
        wanted = function_result_shardings(symbols.callee(call), symbols)
        if wanted is None and own:
            wanted = tuple(map(_replicated, own))
        if wanted is not None:
            adopt_shardings(call, wanted)
            results = function_results(symbols.callee(call), len(wanted))
            note_moved(call.results, results, "sdy-insert-func-call-reshards", call)


def adopt_shardings(call: Operation, shardings: tuple[TensorSharding, ...]) -> None:
    """Sets the result shardings of `call`; users of results that had others use a reshard to these."""
    for result, sharding in zip(call.results, shardings, strict=True):
        own = sharding_of(result)
        if not are_equivalent(sharding, own):
            target = TensorShardingAttr(own or _replicated(sharding))
            reshard = build_operation(
                ReshardOp, [result], [result.type], {"sharding": target}, {}, call.location
            )
            place_after(reshard, call)
            replace_uses(result, reshard.results[0], but_not_in=reshard)
            note_moved(reshard.results, (result,), "sdy-insert-func-call-reshards", call)
    set_shardings(call, shardings)


def are_equivalent(first: TensorSharding, second: TensorSharding | None) -> bool:
    """Returns whether both shard a tensor in the same way; None is the same as replicated."""
    if _says_nothing(first):
        return _says_nothing(second)
    return (
        second is not None
        and first.mesh == second.mesh
        and first.unreduced_axes == second.unreduced_axes
        and [d.axes for d in first.dimensions] == [d.axes for d in second.dimensions]
    )


def _says_nothing(sharding: TensorSharding | None) -> bool:
    return sharding is None or (sharding.is_fully_replicated and not sharding.unreduced_axes)


def _replicated(sharding: TensorSharding) -> TensorSharding:
    return TensorSharding.fully_closed(sharding.mesh, sharding.rank)
