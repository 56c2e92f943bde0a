"""`sdy-flatten-call-graph`: clones functions, and their callees, until each has a single call.

Clones keep the name of the original as an attribute.

    before  call @f   call @f   func.func private @f
    after   call @f   call @f_0   func.func private @f   func.func private @f_0 {sdy.original_func_name = "f"}
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.graph.calls import calls_in, copy_function, functions_bottom_up
from shardy_py.graph.symbols import Symbols, function_name, set_callee


def flatten_call_graph(module: ModuleOp) -> None:
    """Clones functions until each has one call."""
    symbols = Symbols(module)
    called: set[str] = set()
    for function in functions_bottom_up(module):
        for call in calls_in(function):
            callee = symbols.callee(call)
            name = function_name(callee)
            if name in called:
                set_callee(call, symbols.insert(copy_function(callee, symbols)))
            called.add(name)
