"""`sdy-export-named-computations`: turns named computations back into private functions and calls of them.

Functions and calls get the shardings that propagation left on the data-flow edges of the named computation;
a name that is taken gets a number.

    before  %0 = sdy.named_computation<"f">(%a) in_shardings=[...] out_shardings=[...] (%b) { sdy.return %c }
    after   %0 = call @f(%a) {sdy.sharding = ...}
            func.func private @f(%b {sdy.sharding = ...}) { return %c }

The functions remember their names before numbering (`sdy.original_func_name`).
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.inlining import export_named_computations


@dataclass(frozen=True)
class ExportNamedComputationsPass(ModulePass):
    """Turns named computations back into functions and calls."""

    name = "sdy-export-named-computations"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        export_named_computations(op)
