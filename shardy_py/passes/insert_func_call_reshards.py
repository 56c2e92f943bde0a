"""`sdy-insert-func-call-reshards`: inserts reshards where result shardings of calls and functions differ.

The call itself takes the shardings of the function.

    before  %0 = call @f(%a) {sdy.sharding = ...<[<@mesh, [{"x"}]>]>}       @f returns <@mesh, [{"y"}]>
    after   %0 = call @f(%a) {sdy.sharding = ...<[<@mesh, [{"y"}]>]>}   %1 = sdy.reshard %0 <@mesh, [{"x"}]>
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.dialects.sdy import ReshardOp, TensorShardingAttr
from shardy_py.graph.calls import calls_in
from shardy_py.graph.holders import function_results, result_shardings
from shardy_py.graph.movements import note_moved
from shardy_py.graph.symbols import Symbols
from shardy_py.graph.value_shardings import function_result_shardings, set_shardings, sharding_of
from shardy_py.ir import build_operation, place_after, replace_uses
from shardy_py.sharding import TensorSharding


def insert_func_call_reshards(module: ModuleOp) -> None:
    """Inserts reshards where the result shardings of a call and its function differ."""
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
