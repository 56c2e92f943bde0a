"""The nodes of graphs: ops, arguments and results with what is known of them, and the uses between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute, Operation

from shardy_py.mlir.ir import written_name
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.symbols import callee_name
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.ops import TABLE, Control
from shardy_py.viewer.explorer import Item, Items
from shardy_py.viewer.model_graph.schema import GraphNode, IncomingEdge, KeyValue, MetadataItem
from shardy_py.viewer.model_graph.spots import Spot, shown
from shardy_py.viewer.model_graph.tensors import ShownTensor

_TAG = "__tensor_tag"
"""Model Explorer's key of the name of an operand or result."""
_SHAPE = "shape"
"""Its key of the text that it shows on edges."""
_OWN_ROWS = frozenset({"sdy.sharding", "mhlo.sharding", "sdy.sharding_rule"})
_NEVER_SHOWN = frozenset({"callee", "function_type", "sym_name", "value"})


class NodeWriter:
    """Makes the nodes of items. spots: of all items that are nodes. notes: more attributes by item."""

    def __init__(
        self,
        items: Items,
        spots: Mapping[int, Spot],
        tensors: Mapping[int, ShownTensor],
        notes: Mapping[int, Mapping[str, str]],
    ) -> None:
        self.items, self.spots, self.tensors, self.notes = items, spots, tensors, notes
        self.entries: Sequence[ValueEntry] = items.table.entries
        self.graphs = {spot.graph for spot in spots.values()}
        self.incoming: dict[int, list[IncomingEdge]] = defaultdict(list)
        self.constants: dict[int, list[str]] = defaultdict(list)
        self.places = {value: at for item in items.found for at, value in enumerate(item.values)}
        for edge in items.edges:
            self._use(edge.value, edge.item, edge.operand)

    def node(self, number: int) -> GraphNode:
        """Returns the node of an item."""
        item, spot = self.items.found[number], self.spots[number]
        node = GraphNode(
            id=spot.id,
            label=shown(item.label),
            namespace=spot.namespace,
            subgraphIds=self._subgraphs(item),
            attrs=_rows({**self._attributes(item, number), **self.notes.get(number, {})}),
            incomingEdges=self.incoming[number],
            outputsMetadata=self._outputs(item.values),
            inputsMetadata=[],
        )
        if item.children:
            node["config"] = {"pinToGroupTop": True}
        return node

    def _use(self, value: int, item: int, operand: int) -> None:
        maker = self.items.maker[value]
        if maker < 0:
            tensor = self.tensors.get(value)
            text = f"operand {operand}: {self.entries[value]}"
            self.constants[item].append(f"{text} {tensor.text}" if tensor else text)
            return
        edge = IncomingEdge(
            sourceNodeId=self.spots[maker].id,
            sourceNodeOutputId=str(self.places[value]),
            targetNodeInputId=str(operand),
        )
        self.incoming[item].append(edge)

    def _subgraphs(self, item: Item) -> list[str]:
        op = item.op
        if op is None or item.kind != "op" or TABLE[op.name].control is not Control.CALL:
            return []
        callee = shown(callee_name(op))
        return [callee] if callee in self.graphs else []

    def _attributes(self, item: Item, number: int) -> dict[str, str]:
        """The attributes shown of a node, by label."""
        rows: dict[str, str] = {}
        if item.kind == "op" and item.op is not None:
            rows = {"op": written_name(item.op), **_op_attributes(item.op)}
        if item.values:
            entry = self.entries[item.values[0]]
            rows = {"label": entry.label, **rows}
            if len(item.values) == 1 and (tensor := self.tensors.get(item.values[0])):
                rows |= tensor.attributes()
        rows["constants"] = ", ".join(self.constants[number])
        rows["source"] = self._source(item)
        return rows

    def _source(self, item: Item) -> str:
        if item.kind == "argument" and item.values:
            return location_text(self.entries[item.values[0]].location)
        return "" if item.op is None else location_text(_location(item.op))

    def _outputs(self, values: Sequence[int]) -> list[MetadataItem]:
        """Names and types; of several results with all that a node of one result shows itself."""
        made: list[MetadataItem] = []
        for index, value in enumerate(values):
            tensor, entry = self.tensors.get(value), self.entries[value]
            rows = tensor.attributes() if tensor else {_SHAPE: attribute_text(entry.type)}
            if len(values) == 1:
                rows = {_SHAPE: rows[_SHAPE]}
            made.append({"id": str(index), "attrs": _rows({_TAG: entry.name, **rows})})
        return made


def _op_attributes(op: Operation) -> dict[str, str]:
    """The attributes of an op as MLIR prints them, without shardings, which are shown by tensor."""
    given: dict[str, Attribute] = {**op.properties, **op.attributes}
    names = (name for name in given if name not in _OWN_ROWS and name not in _NEVER_SHOWN)
    return {name: attribute_text(given[name]) for name in names}


def _rows(attributes: Mapping[str, str]) -> list[KeyValue]:
    return [{"key": shown(key), "value": shown(value)} for key, value in attributes.items() if value]


def _location(op: Operation) -> Any:
    return op.location


def nodes_of(writer: NodeWriter, numbers: Iterable[int]) -> list[GraphNode]:
    """Returns the nodes of items."""
    return [writer.node(number) for number in numbers]
