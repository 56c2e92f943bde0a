"""`sdy-constant-or-scalar-merger`: merges equal constants, and equal broadcasts of a scalar, of one region.

The reverse of `sdy-constant-or-scalar-splitter` for copies that ended with one sharding.

    before  %0 = sdy.constant dense<1.0>   %1 = sdy.constant dense<1.0>   "use"(%0)   "use"(%1)
    after   %0 = sdy.constant dense<1.0>   "use"(%0)   "use"(%0)
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.constant_merging import merge_constants


@dataclass(frozen=True)
class ConstantOrScalarMergerPass(ModulePass):
    """Merges equal constants and broadcast scalars with the same sharding."""

    name = "sdy-constant-or-scalar-merger"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        merge_constants(op)
