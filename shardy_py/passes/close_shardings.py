"""`sdy-close-shardings`: closes every dimension of every sharding and drops explicitly replicated axes.

Propagation is over, so there is nothing left to be open for.

    before  %0 = stablehlo.add %a, %b {sdy.sharding = ...<[<@mesh, [{"x", ?}, {?}], replicated={"y"}>]>}
    after   %0 = stablehlo.add %a, %b {sdy.sharding = ...<[<@mesh, [{"x"}, {}]>]>}
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.sharding_walk import transform_shardings
from shardy_py.partition.boundary import closed_like


@dataclass(frozen=True)
class CloseShardingsPass(ModulePass):
    """Closes all dimensions and drops replicated axes."""

    name = "sdy-close-shardings"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        transform_shardings(op, closed_like)
