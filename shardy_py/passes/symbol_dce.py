"""`symbol-dce`: removes private functions, and other private symbols, that nothing refers to.

What only unreferenced functions refer to goes with them.

    before  func.func @main() { return }    func.func private @unused() { return }
    after   func.func @main() { return }
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.symbol_uses import unreferenced_symbols
from shardy_py.ir import erase


@dataclass(frozen=True)
class SymbolDcePass(ModulePass):
    """Removes private symbols that nothing refers to."""

    name = "symbol-dce"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nested in (inner for inner in op.body.block.ops if isinstance(inner, ModuleOp)):
            self.apply(ctx, nested)
        for symbol in unreferenced_symbols(op):
            erase(symbol)
