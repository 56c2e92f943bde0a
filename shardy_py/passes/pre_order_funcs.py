"""`sdy-pre-order-funcs`: moves functions to the end of the module, callers before callees.

Propagation visits functions in the order of the module; this is the order in which it would visit them
if they were inlined.

    before  func.func private @f   func.func @main { call @f }   sdy.mesh @mesh
    after   sdy.mesh @mesh   func.func @main { call @f }   func.func private @f
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.graph.calls import functions_top_down
from shardy_py.ir import place_at_end, take_out


def pre_order_funcs(module: ModuleOp) -> None:
    """Sorts functions so that callers precede callees."""
    for function in functions_top_down(module):
        take_out(function)
        place_at_end(function, module.body.block)
