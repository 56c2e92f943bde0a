"""The JSON that Model Explorer reads, with its names of fields, as far as it is written here.

Source: `graph_builder.py` and `node_data_builder.py` of the package `ai-edge-model-explorer`, release 0.1.34.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class KeyValue(TypedDict):
    """An attribute as it is shown."""

    key: str
    value: str


class MetadataItem(TypedDict):
    """The attributes of an operand or result, by its number."""

    id: str
    attrs: list[KeyValue]


class IncomingEdge(TypedDict):
    """A use of a result of another node."""

    sourceNodeId: str
    sourceNodeOutputId: str
    targetNodeInputId: str


class NodeConfig(TypedDict):
    """The place of a node in its group."""

    pinToGroupTop: bool


class GraphNode(TypedDict):
    """An op, an argument or a result. namespace: its groups, the outermost first, with `/` between them."""

    id: str
    label: str
    namespace: str
    subgraphIds: list[str]
    attrs: list[KeyValue]
    incomingEdges: list[IncomingEdge]
    outputsMetadata: list[MetadataItem]
    inputsMetadata: list[MetadataItem]
    config: NotRequired[NodeConfig]


class OverlayEdge(TypedDict):
    """An edge between two nodes, by their ids."""

    sourceNodeId: str
    targetNodeId: str
    label: str


class EdgeOverlay(TypedDict):
    """Edges of one colour that are shown and hidden together."""

    name: str
    edgeColor: str
    edges: list[OverlayEdge]


class EdgeOverlays(TypedDict):
    """A set of overlays."""

    name: str
    type: str
    overlays: list[EdgeOverlay]


class TasksData(TypedDict):
    """The overlays of each pane."""

    edgeOverlaysDataListLeftPane: list[EdgeOverlays]
    edgeOverlaysDataListRightPane: list[EdgeOverlays]


class Graph(TypedDict):
    """A function. groupNodeAttributes: of each group by its namespace; of the graph itself by ""."""

    id: str
    nodes: list[GraphNode]
    groupNodeAttributes: dict[str, dict[str, str]]
    tasksData: TasksData


class GraphCollection(TypedDict):
    """The graphs of one program."""

    label: str
    graphs: list[Graph]


class NodeValue(TypedDict):
    """The value that an overlay shows on a node."""

    value: int | str
    bgColor: NotRequired[str]
    textColor: NotRequired[str]


class GradientStop(TypedDict):
    """The colour at a share of the way from the least value to the largest."""

    stop: float
    bgColor: str


class GraphNodeData(TypedDict):
    """An overlay of one graph: values by the id of nodes."""

    name: str
    results: dict[str, NodeValue]
    gradient: NotRequired[list[GradientStop]]
    showExpandedSummaryOnGroupNode: NotRequired[bool]
