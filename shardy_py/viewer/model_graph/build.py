"""The graphs of a program for Model Explorer, one for each function, with edge overlays and node data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from shardy_py.base.records import dataclass
from shardy_py.mlir.symbols import MAIN, Symbols
from shardy_py.report.communication import CommunicationReport
from shardy_py.report.tables import bytes_text, seconds_text
from shardy_py.sharding.slices import short_text
from shardy_py.viewer.explorer import Subject, collect_items, folded
from shardy_py.viewer.model_graph.node_data import node_data
from shardy_py.viewer.model_graph.nodes import NodeWriter, nodes_of
from shardy_py.viewer.model_graph.overlays import (
    PARTITIONERS,
    Drawn,
    by_graph,
    drawn_collectives,
    group_rows,
    notes_of,
    overlays_of,
)
from shardy_py.viewer.model_graph.schema import Graph, GraphCollection, GraphNodeData, TasksData
from shardy_py.viewer.model_graph.spots import Spot, shown, spots_of
from shardy_py.viewer.model_graph.tensors import tensors_of

_ORDER = {"argument": 0, "result": 2}
"""The order of nodes by the kind of their item; ops are between."""


@dataclass(frozen=True, eq=False)
class ModelGraph:
    """A program as Model Explorer reads it.

    collection: its graphs, @main first. node_data: by name (bytes, replicated, memory), then by graph.
    """

    collection: GraphCollection
    node_data: Mapping[str, Mapping[str, GraphNodeData]]


def model_graph(subject: Subject) -> ModelGraph:
    """Returns the graphs and node data of a program.

    Raises:
        ShardyError: a sharding does not fit its value.
    """
    items = folded(collect_items(subject.table))
    spots, tensors = spots_of(items), tensors_of(subject.table)
    drawn = drawn_collectives(items, subject.communication)
    writer = NodeWriter(items, spots, tensors, notes_of(drawn))
    numbers: dict[str, list[int]] = defaultdict(list)
    for number in sorted(spots, key=lambda n: _ORDER.get(items.found[n].kind, 1)):
        numbers[spots[number].graph].append(number)
    inside_of, whole = by_graph(drawn, spots), _whole(subject, is_one=len(numbers) == 1)
    graphs = [
        Graph(
            id=graph,
            nodes=nodes_of(writer, inside),
            groupNodeAttributes=_groups(graph, inside_of.get(graph, ()), spots, whole),
            tasksData=_tasks(graph, inside_of.get(graph, ()), spots, subject.communication),
        )
        for graph, inside in sorted(numbers.items(), key=lambda pair: pair[0] != MAIN)
    ]
    collection = GraphCollection(label=shown(subject.title), graphs=graphs)
    return ModelGraph(collection, node_data(items, spots, tensors))


def _whole(subject: Subject, is_one: bool) -> dict[str, str]:
    """The rows of the program, on each of its graphs; is_one: there is one."""
    report = subject.communication
    whole = _meshes(subject)
    if report is not None:
        whole |= {"partitioner": PARTITIONERS[report.partitioner], "links": report.model.name}
        if not is_one:
            total = report.total
            sent = f"{bytes_text(total.bytes)} per device, {seconds_text(total.seconds)}"
            whole["all functions"] = f"{len(report.sending):,} collectives, {sent}"
    if subject.memory_bytes is not None:
        whole["memory"] = f"{bytes_text(subject.memory_bytes)} allocated on a device"
    return whole


def _meshes(subject: Subject) -> dict[str, str]:
    """The rows of meshes."""
    meshes = Symbols(subject.table.module).meshes()
    return {f"mesh @{shown(name)}": shown(short_text(mesh)) for name, mesh in meshes.items()}


def _groups(
    graph: str, drawn: tuple[Drawn, ...], spots: Mapping[int, Spot], whole: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """The rows of groups, and those of the program for the graph itself."""
    rows = group_rows(graph, drawn, spots)
    rows[""] = {**whole, **rows.get("", {})}
    return rows


def _tasks(
    graph: str, drawn: tuple[Drawn, ...], spots: Mapping[int, Spot], report: CommunicationReport | None
) -> TasksData:
    found = overlays_of(graph, drawn, spots, "" if report is None else report.partitioner)
    return {"edgeOverlaysDataListLeftPane": found, "edgeOverlaysDataListRightPane": found}
