"""`stablehlo-ext-canonicalize-from-hlo-import`: gives custom calls several operands and results, not tuples.

Of XLA's pass of this name, what concerns tuples: in HLO an instruction has one result.

    before  %0 = custom_call @f(%a) {mhlo.sharding = "{{replicated}, {manual}}"} : (A) -> tuple<B, C>
            %1 = get_tuple_element %0[1]
    after   %0:2 = custom_call @f(%a) {mhlo.sharding = "{{replicated}, {manual}}"} : (A) -> (B, C)
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.tuples import flatten_tuples


@dataclass(frozen=True)
class StablehloExtCanonicalizeFromHloImportPass(ModulePass):
    """Gives custom calls several operands and results, not tuples."""

    name = "stablehlo-ext-canonicalize-from-hlo-import"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        flatten_tuples(op)
