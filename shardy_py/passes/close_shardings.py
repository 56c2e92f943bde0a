"""`sdy-close-shardings`: closes every dimension of every sharding and drops explicitly replicated axes.

Propagation is over, so there is nothing left to be open for.

    before  %0 = stablehlo.add %a, %b {sdy.sharding = ...<[<@mesh, [{"x", ?}, {?}], replicated={"y"}>]>}
    after   %0 = stablehlo.add %a, %b {sdy.sharding = ...<[<@mesh, [{"x"}, {}]>]>}
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.graph.sharding_walk import transform_shardings
from shardy_py.partition.boundary import closed_like


def close_shardings(module: ModuleOp) -> None:
    """Closes all dimensions and drops replicated axes."""
    transform_shardings(module, closed_like)
