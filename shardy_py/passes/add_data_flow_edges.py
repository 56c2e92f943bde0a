"""`sdy-add-data-flow-edges`: inserts an op for each edge along which data enters or leaves regions.

The edge takes over the sharding of its owner, and all that used the owner.

    before  %0 = stablehlo.while(%i = %a) ...          return %0
    after   %0 = stablehlo.while(%i = %a) ...          %1 = sdy.data_flow_edge %0   return %1
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.data_flow import DATA_FLOW, argument_owners, result_owners
from shardy_py.graph.edge_ops import insert_edges
from shardy_py.ir import find_ops


@dataclass(frozen=True)
class AddDataFlowEdgesPass(ModulePass):
    """Inserts an edge for every owner of one."""

    name = "sdy-add-data-flow-edges"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in find_ops(op, *DATA_FLOW):
            insert_edges(argument_owners(inner))
            insert_edges(result_owners(inner))
