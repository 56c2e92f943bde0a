"""`sdy-sink-data-flow-edges`: removes the data-flow edges and gives their shardings to their owners.

If one edge of an op has a sharding, the owners whose edge has none become open. What propagation noted on
edges goes to their op where asked for.

    before  %0 = stablehlo.while ...   %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"x"}]>   return %1
    after   %0 = stablehlo.while ... attributes {sdy.sharding = ...<[<@mesh, [{"x"}]>]>}   return %0
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.data_flow import DATA_FLOW, EDGE_NAME
from shardy_py.graph.debug_notes import EDGES, ORIGINS, sink_notes
from shardy_py.graph.edge_ops import remove_edge, sink_edge_shardings
from shardy_py.ir import find_ops


@dataclass(frozen=True)
class SinkDataFlowEdgesPass(ModulePass):
    """Moves the sharding of each data-flow edge to its owner."""

    name = "sdy-sink-data-flow-edges"
    sink_debug_sharding_origins: bool = False
    sink_debug_propagation_edge_sharding: bool = False

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        notes = (ORIGINS,) * self.sink_debug_sharding_origins
        notes += (EDGES,) * self.sink_debug_propagation_edge_sharding
        for inner in find_ops(op, EDGE_NAME, *DATA_FLOW):
            if inner.name == EDGE_NAME:
                remove_edge(inner)
            else:
                sink_edge_shardings(inner)
                if notes:
                    sink_notes(inner, *notes)
