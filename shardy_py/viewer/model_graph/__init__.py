"""A propagated program as the graphs, edge overlays and node data of Model Explorer, without that package.

    graphs = model_graph(Subject("program", table, record, communication))
    json.dumps(graphs.collection)

Data flows: module -> items (`viewer/explorer/`) -> spots (namespaces, ids) -> nodes, overlays, node data ->
JSON. Not here: the extension that Model Explorer loads (`viewer/model_explorer/`).
"""

from shardy_py.viewer.model_graph.build import ModelGraph, model_graph
from shardy_py.viewer.model_graph.schema import Graph, GraphCollection, GraphNode, GraphNodeData

__all__ = ["Graph", "GraphCollection", "GraphNode", "GraphNodeData", "ModelGraph", "model_graph"]
