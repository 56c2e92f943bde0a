"""Collectives: the edges along which they send, grouped by kind and axes; rows of nodes and of groups.

A collective for an operand is on the edge that brings it, one for a result on the edges to its users.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from shardy_py.base.records import dataclass
from shardy_py.report.communication import CollectiveUse, CommunicationReport
from shardy_py.report.tables import bytes_text, seconds_text
from shardy_py.viewer.explorer import Items
from shardy_py.viewer.model_graph.schema import EdgeOverlay, EdgeOverlays, OverlayEdge
from shardy_py.viewer.model_graph.spots import Spot, shown

_COLORS = {
    "all_reduce": "#d93025",
    "all_gather": "#1a73e8",
    "reduce_scatter": "#e8710a",
    "all_to_all": "#9334e6",
    "collective_permute": "#188038",
}
_OTHER_COLOR = "#5f6368"
PARTITIONERS = {"xla": "XLA's partitioner", "shardy": "Shardy's reshards"}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A collective, the item that requires it, and the edges that it is drawn on, as pairs of items."""

    use: CollectiveUse
    item: int
    edges: tuple[tuple[int, int], ...]

    @property
    def name(self) -> str:
        """Its kind with its axes."""
        axes = ", ".join(name for name, _ in self.use.axes)
        return shown(f"{self.use.kind} along {axes}" if axes else self.use.kind)


def drawn_collectives(items: Items, report: CommunicationReport | None) -> tuple[Drawn, ...]:
    """Returns the collectives of a report that send, in its order, each with its item, -1 if not drawn."""
    if report is None:
        return ()
    brings: dict[tuple[int, int], int] = {}
    users: dict[int, list[int]] = defaultdict(list)
    for edge in items.edges:
        maker = items.maker[edge.value]
        if maker >= 0:
            brings[edge.item, edge.operand] = maker
            users[maker].append(edge.item)
    first: dict[int, int] = {}
    for (user, _), maker in brings.items():
        first.setdefault(user, maker)

    def edges(item: int, operand: int) -> Iterator[tuple[int, int]]:
        is_end = item >= 0 and items.found[item].kind == "result"
        if operand >= 0 or is_end:
            source = brings.get((item, operand)) if operand >= 0 else None
            if source is None and is_end:
                source = first.get(item)
            if source is not None:
                yield source, item
        else:
            yield from ((item, user) for user in dict.fromkeys(users[item]))

    found = [(use, items.needing(use.cause.made_for)) for use in report.sending]
    return tuple(Drawn(use, item, tuple(edges(item, use.cause.operand))) for use, item in found)


def overlays_of(
    graph: str, drawn: Iterable[Drawn], spots: Mapping[int, Spot], partitioner: str
) -> list[EdgeOverlays]:
    """Returns the overlays of a graph, one for each kind and axes, the most bytes first."""
    sums: dict[str, dict[tuple[str, str], list[CollectiveUse]]] = defaultdict(lambda: defaultdict(list))
    colors: dict[str, str] = {}
    uses: dict[str, list[CollectiveUse]] = defaultdict(list)
    for each in drawn:
        for source, target in each.edges:
            if spots[source].graph == graph:
                sums[each.name][spots[source].id, spots[target].id].append(each.use)
        if each.edges and spots[each.edges[0][0]].graph == graph:
            uses[each.name].append(each.use)
            colors[each.name] = _COLORS.get(each.use.kind, _OTHER_COLOR)
    names = sorted(uses, key=lambda name: -_bytes(uses[name]))
    overlays = [
        EdgeOverlay(
            name=f"{name}: {len(uses[name]):,}, {bytes_text(_bytes(uses[name]))}",
            edgeColor=colors[name],
            edges=[_edge(pair, found) for pair, found in sums[name].items()],
        )
        for name in names
    ]
    title = f"collectives of {PARTITIONERS.get(partitioner, partitioner)}"
    return [EdgeOverlays(name=title, type="edge_overlays", overlays=overlays)] if overlays else []


def _edge(pair: tuple[str, str], uses: list[CollectiveUse]) -> OverlayEdge:
    times = sum(use.times for use in uses)
    first = uses[0]
    axes = ",".join(name for name, _ in first.axes)
    label = f"{first.kind} {axes} {bytes_text(_bytes(uses))}{f' in {times:,} runs' if times > 1 else ''}"
    return {"sourceNodeId": pair[0], "targetNodeId": pair[1], "label": shown(label)}


def by_graph(drawn: Iterable[Drawn], spots: Mapping[int, Spot]) -> Mapping[str, tuple[Drawn, ...]]:
    """Returns the collectives that are drawn in each graph, or required there, in order."""
    found: dict[str, list[Drawn]] = defaultdict(list)
    for each in drawn:
        items = [source for source, _ in each.edges] + [each.item] * (each.item >= 0)
        for graph in dict.fromkeys(spots[item].graph for item in items):
            found[graph].append(each)
    return {graph: tuple(inside) for graph, inside in found.items()}


def notes_of(drawn: Iterable[Drawn]) -> dict[int, dict[str, str]]:
    """Returns the rows of nodes that require collectives, by item."""
    notes: dict[int, dict[str, str]] = defaultdict(dict)
    for each in drawn:
        if each.item >= 0:
            rows = notes[each.item]
            what = f"{each.name}, {bytes_text(each.use.total.bytes)} received by each device"
            rows[f"collective {len(rows) + 1}"] = f"{what}: {each.use.cause.reason}"
    return notes


def group_rows(graph: str, drawn: Iterable[Drawn], spots: Mapping[int, Spot]) -> dict[str, dict[str, str]]:
    """Returns the rows of groups with collectives inside, by namespace; of the whole graph by ""."""
    uses: dict[str, list[CollectiveUse]] = defaultdict(list)
    for each in drawn:
        if each.item >= 0 and spots[each.item].graph == graph:
            for group in spots[each.item].groups():
                uses[group].append(each.use)
    return {
        group: {
            "collectives": f"{len(found):,}",
            "received": f"{bytes_text(_bytes(found))} per device",
            "link time": seconds_text(sum(use.total.seconds for use in found)),
        }
        for group, found in uses.items()
    }


def _bytes(uses: Iterable[CollectiveUse]) -> int:
    return sum(use.total.bytes for use in uses)
