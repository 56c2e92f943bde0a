"""The package of Model Explorer, which has no types, as values of type Any; only this module imports it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from shardy_py.viewer.model_graph import Graph, GraphNode, GraphNodeData

EXTENSION = "shardy_py.viewer.model_explorer"
_REMEDY = "Model Explorer is not installed; pip install 'shardy-py[explorer]'"


def package() -> Any:
    """Returns the module `model_explorer`. Raises ImportError, with the remedy, without it."""
    try:
        return import_module("model_explorer")
    except ModuleNotFoundError as error:
        raise ImportError(_REMEDY) from error


def to_package_graphs(graphs: Iterable[Graph]) -> list[Any]:
    """Returns graphs as objects of the package's own classes, which its server turns into JSON."""
    classes = package().graph_builder
    return [
        classes.Graph(
            id=graph["id"],
            nodes=[_node(classes, node) for node in graph["nodes"]],
            groupNodeAttributes=graph["groupNodeAttributes"],
            tasksData=_tasks(classes, graph["tasksData"]),
        )
        for graph in graphs
    ]


def _node(classes: Any, node: GraphNode) -> Any:
    config = node.get("config")
    return classes.GraphNode(
        id=node["id"],
        label=node["label"],
        namespace=node["namespace"],
        subgraphIds=node["subgraphIds"],
        attrs=_rows(classes, node["attrs"]),
        incomingEdges=[classes.IncomingEdge(**edge) for edge in node["incomingEdges"]],
        outputsMetadata=_metadata(classes, node["outputsMetadata"]),
        inputsMetadata=_metadata(classes, node["inputsMetadata"]),
        config=classes.GraphNodeConfig(**config) if config else None,
    )


def _metadata(classes: Any, items: Iterable[Any]) -> list[object]:
    return [classes.MetadataItem(id=item["id"], attrs=_rows(classes, item["attrs"])) for item in items]


def _rows(classes: Any, rows: Iterable[Any]) -> list[object]:
    return [classes.KeyValue(**row) for row in rows]


def _tasks(classes: Any, tasks: Mapping[str, Any]) -> Any:
    def overlays(found: Iterable[Any]) -> list[Any]:
        return [
            classes.EdgeOverlaysData(
                name=each["name"],
                overlays=[
                    classes.EdgeOverlay(
                        name=overlay["name"],
                        edgeColor=overlay["edgeColor"],
                        edges=[classes.Edge(**edge) for edge in overlay["edges"]],
                    )
                    for overlay in each["overlays"]
                ],
            )
            for each in found
        ]

    return classes.TasksData(**{pane: overlays(found) for pane, found in tasks.items()})


def to_package_node_data(data: GraphNodeData) -> Any:
    """Returns an overlay of one graph as an object of the package's own classes."""
    classes = package().node_data_builder
    return classes.GraphNodeData(
        name=data["name"],
        results={name: classes.NodeDataResult(**value) for name, value in data["results"].items()},
        gradient=[classes.GradientItem(**stop) for stop in data.get("gradient", ())],
        showExpandedSummaryOnGroupNode=data.get("showExpandedSummaryOnGroupNode", False),
    )
