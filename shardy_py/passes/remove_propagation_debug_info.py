"""`sdy-remove-propagation-debug-info`: removes the notes that propagation left on where shardings came from.

before  stablehlo.add %a, %b {sdy.sharding_origins = {x = "input: 0"}}
after   stablehlo.add %a, %b
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.passes.debug_notes import NOTES
from shardy_py.passes.drop_sharding_and_mesh import remove_attributes


@dataclass(frozen=True)
class RemovePropagationDebugInfoPass(ModulePass):
    """Removes what propagation noted of edges and origins."""

    name = "sdy-remove-propagation-debug-info"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        remove_attributes(op, NOTES)
