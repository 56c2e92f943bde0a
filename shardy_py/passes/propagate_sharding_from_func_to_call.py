"""`sdy-propagate-sharding-from-func-to-call`: copies result shardings to calls.

Results of the callee without a sharding are treated as open.

    before  %0 = call @f(%a)
            func.func private @f(...) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    after   %0 = call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.graph.calls import calls_in
from shardy_py.graph.holders import function_results, result_shardings
from shardy_py.graph.movements import note_moved
from shardy_py.graph.symbols import Symbols
from shardy_py.graph.value_shardings import function_result_shardings, set_shardings


def propagate_sharding_from_func_to_call(module: ModuleOp) -> None:
    """Copies the result shardings of functions to their calls without shardings."""
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
