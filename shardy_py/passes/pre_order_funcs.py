"""`sdy-pre-order-funcs`: puts functions behind all else, callers before what they call.

Propagation goes through functions in the order of the module; this is the order in which it would have met
them inlined.

    before  func.func private @f   func.func @main { call @f }   sdy.mesh @mesh
    after   sdy.mesh @mesh   func.func @main { call @f }   func.func private @f
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.calls import functions_top_down
from shardy_py.ir import place_at_end, take_out


@dataclass(frozen=True)
class PreOrderFuncsPass(ModulePass):
    """Orders functions so that callers stand before what they call."""

    name = "sdy-pre-order-funcs"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_top_down(op):
            take_out(function)
            place_at_end(function, op.body.block)
