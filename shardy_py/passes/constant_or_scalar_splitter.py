"""`sdy-constant-or-scalar-splitter`: gives every use of a constant or broadcast scalar a copy of its own.

What is computed of constants alone is copied whole. So no use of a constant binds another to its sharding.
Constants become `sdy.constant`, which nothing folds together again.

    before  %c = stablehlo.constant ...              stablehlo.add %c, %a           stablehlo.add %c, %b
    after   %0 = sdy.constant ...  %1 = sdy.constant ...  stablehlo.add %0, %a      stablehlo.add %1, %b
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.constant_splitting import convert_constants, split_constants


@dataclass(frozen=True)
class ConstantOrScalarSplitterPass(ModulePass):
    """Splits constants and broadcast scalars so that each has a single use."""

    name = "sdy-constant-or-scalar-splitter"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert_constants(op)
        split_constants(op)
