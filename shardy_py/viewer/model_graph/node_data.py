"""Overlays of node data: bytes per device, copies of each element, bytes alive on a device at each op."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import NamedTuple

from shardy_py.viewer.explorer import Items, lives
from shardy_py.viewer.model_graph.schema import GradientStop, GraphNodeData, NodeValue
from shardy_py.viewer.model_graph.spots import Spot
from shardy_py.viewer.model_graph.tensors import ShownTensor

_GRADIENT: list[GradientStop] = [
    {"stop": 0, "bgColor": "#ffffff"},
    {"stop": 0.25, "bgColor": "#fff3c4"},
    {"stop": 1, "bgColor": "#f4511e"},
]
_REPLICATED, _PARTLY, _SHARDED = "#f6aea9", "#fde293", "#a8dab5"

Values = dict[int, NodeValue]


class Programmed(NamedTuple):
    """The source of overlays: the items, and their tensors by position in the value table."""

    items: Items
    tensors: Mapping[int, ShownTensor]


def _bytes(program: Programmed) -> Values:
    """The bytes of what each item makes, on each device."""
    found: Values = {}
    for number, item in enumerate(program.items.found):
        sizes = [tensor.local_bytes or 0 for v in item.values if (tensor := program.tensors.get(v))]
        if sizes:
            found[number] = {"value": sum(sizes)}
    return found


def _replicated(program: Programmed) -> Values:
    """The sharding of the largest tensor that each item makes: sharded, replicated, or something between."""
    found: Values = {}
    for number, item in enumerate(program.items.found):
        made = [tensor for v in item.values if (tensor := program.tensors.get(v)) and tensor.copies]
        if made:
            found[number] = _copies(max(made, key=lambda tensor: tensor.local_bytes or 0))
    return found


def _copies(tensor: ShownTensor) -> NodeValue:
    copies = tensor.copies or 1
    if copies == 1:
        return {"value": "sharded", "bgColor": _SHARDED}
    if copies >= tensor.devices:
        return {"value": "replicated", "bgColor": _REPLICATED}
    return {"value": f"{copies} copies", "bgColor": _PARTLY}


def _memory(program: Programmed) -> Values:
    """The bytes alive on each device while an op runs, if the result of each op is stored."""
    found = lives(program.items)
    changes = [0] * (len(found.order) + 1)
    for value, tensor in program.tensors.items():
        if found.first[value] >= 0:
            changes[found.first[value]] += tensor.local_bytes or 0
            changes[found.last[value] + 1] -= tensor.local_bytes or 0
    alive = accumulate(changes)
    return {item: {"value": size} for item, size in zip(found.order, alive, strict=False)}


OVERLAYS: Mapping[str, tuple[str, Callable[[Programmed], Values]]] = {
    "bytes": ("bytes per device", _bytes),
    "replicated": ("copies of each element", _replicated),
    "memory": ("bytes alive on each device", _memory),
}
"""By the name of its file, the title of each overlay and its values by item."""


def node_data(
    items: Items, spots: Mapping[int, Spot], tensors: Mapping[int, ShownTensor]
) -> dict[str, dict[str, GraphNodeData]]:
    """Returns the overlays by name, each by the id of a graph."""
    program = Programmed(items, tensors)
    return {key: _by_graph(title, values(program), spots) for key, (title, values) in OVERLAYS.items()}


def _by_graph(title: str, values: Values, spots: Mapping[int, Spot]) -> dict[str, GraphNodeData]:
    found: dict[str, GraphNodeData] = {}
    for number, value in values.items():
        spot = spots.get(number)
        if spot is None:
            continue
        if spot.graph not in found:
            found[spot.graph] = GraphNodeData(name=title, results={})
            if isinstance(value["value"], str):
                found[spot.graph]["showExpandedSummaryOnGroupNode"] = True
            else:
                found[spot.graph]["gradient"] = _GRADIENT
        found[spot.graph]["results"][spot.id] = value
    return found
