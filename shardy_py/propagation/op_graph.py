"""The op graph of a program, a `networkx.MultiDiGraph`: its nodes and edges, and what is written to files.

Nodes are ops, arguments of functions and regions, and results of functions, in program order; each has the
key that its first value prints: "%3", "%arg0", "result 0", "@f:%3". Edges are values, from the node that
makes one to a node that uses it, parallel if it is used twice. docs/graph.md lists the attributes.

    x --operand--> while --operand--> user      An op with regions is one node, which `parent` of the nodes in
    x --enter--> ^arg --> body op --yield--^    its regions names; terminators are no nodes but edges.

Not here: from IR to the graph (`graph/from_module.py`), propagation through it (`textbook.py`).

>>> from shardy_py.sharding import AxisRef, DimensionSharding
>>> value = GraphValue("%0", (8, 4), "f32")
>>> value.bytes, value.local_bytes, value.layout
(128, 128, 'f32[8,4]{1,0}')
>>> sharding = TensorSharding("mesh", (DimensionSharding((AxisRef("x"),)), DimensionSharding()))
>>> value.sharded(sharding, {"mesh": Mesh.of(x=2)}).layout
'f32[4,4]{1,0}'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import networkx

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.base.terminal import without_controls
from shardy_py.indexing.layout import ArrayShape, default_layout, element_type, padded_bytes
from shardy_py.ops import OpRecord
from shardy_py.ops.record import Attributes
from shardy_py.propagation.flat import StepKind
from shardy_py.sharding import Mesh, TensorSharding, local_shape
from shardy_py.sharding.meshes import mesh_of

if TYPE_CHECKING:
    OpGraph: TypeAlias = networkx.MultiDiGraph[str]
else:
    OpGraph = networkx.MultiDiGraph

Shape = tuple[int | None, ...]
"""Sizes of dimensions, None for a dynamic one."""
ValueKey = tuple[str, int]
"""A value: the key of the node that makes it, and its number among the results."""
USES = frozenset(("operand", "yield"))
"""The kinds of edges that are uses: by an op, and by a terminator, which ends at the op or function around.
The others are `enter`, from what an op with regions takes to the argument of a region that has the value, and
`flow`, from the sources of a data-flow edge to it and from it to its targets."""


@dataclass(frozen=True)
class GraphValue:
    """One result of a node, with what each device holds of it.

    name: as printed. shape: None for other values than ranked tensors. target: whose layouts are meant.
    holder: the value that has the sharding of this one: a data-flow edge of its targets, mostly itself; None
    if it cannot have one. local_shape: the shape that each device allocates.
    """

    name: str
    shape: Shape | None
    element: str = ""
    target: str = "linear"
    holder: ValueKey | None = None
    sharding: TensorSharding | None = None
    local_shape: Shape | None = None

    def sharded(self, sharding: TensorSharding | None, meshes: Mapping[str, Mesh]) -> GraphValue:
        """Returns the value with a sharding, and the local shape that follows."""
        local = self.shape
        if local is not None and sharding is not None:
            local = local_shape(sharding, mesh_of(sharding, meshes), local)
        return replace(self, sharding=sharding, local_shape=local)

    @property
    def bytes(self) -> int:
        """The bytes of the whole tensor; 0 for another value, and if a size is dynamic."""
        return _stored(self.element, self.shape, "linear")[1]

    @property
    def local_bytes(self) -> int:
        """The bytes on each device in the layout of the target, padding included."""
        return _stored(self.element, self.local_shape or self.shape, self.target)[1]

    @property
    def layout(self) -> str:
        """The array on each device with its layout, as HLO prints it; "" if it has none."""
        return _stored(self.element, self.local_shape or self.shape, self.target)[0]

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of an edge."""
        return {
            "value": self.name,
            "shape": self.shape,
            "element": self.element,
            "sharding": self.sharding,
            "local_shape": self.local_shape or self.shape,
            "layout": self.layout,
            "bytes": self.bytes,
            "local_bytes": self.local_bytes,
        }


@SESSION.cache(8192)
def _stored(element: str, shape: Shape | None, target: str) -> tuple[str, int]:
    """An array with its layout as text, and its bytes; "" and 0 for a value that is none of static shape."""
    static = tuple(size for size in shape or () if size is not None)
    if shape is None or len(static) < len(shape):
        return "", 0
    try:
        array = default_layout(ArrayShape(element_type(element).name, static), target)
    except ShardyError:  # an element type without a size in XLA, as of a quantized tensor
        return "", 0
    return str(array), padded_bytes(array)


@dataclass(frozen=True)
class OpNode:
    """A node, as `graph.nodes[key]["node"]`.

    op: its name in MLIR; of an argument, the op with the region. kind: op, argument, result (of a function).
    values: its results. parent, region: the key of the op around and the number of its region; "" and 0 if
    there is none. record: of the op; None of others. step: how shardings propagate through it; None: they do
    not. group: the sharding group that it puts its operand in. is_removable: whether it is dead once nothing
    uses it.
    """

    op: str
    kind: str
    values: tuple[GraphValue, ...] = ()
    function: str = ""
    parent: str = ""
    region: int = 0
    location: str = ""
    label: str = ""
    record: OpRecord | None = None
    step: StepKind | None = None
    group: int | None = None
    is_removable: bool = False


def add_node(graph: OpGraph, key: str, node: OpNode) -> None:
    """Adds a node with its attributes, or replaces them."""
    rule = node.step.rule if node.step is not None and node.kind == "op" else None
    texts = {"op": node.op, "kind": node.kind, "function": node.function, "parent": node.parent}
    texts |= {"location": node.location, "label": node.label, "rule": str(rule or "")}
    held = {
        "bytes": sum(v.bytes for v in node.values),
        "local_bytes": sum(v.local_bytes for v in node.values),
    }
    graph.add_node(key, **texts, region=node.region, **held, **_shown(node.values), node=node)


def _shown(values: tuple[GraphValue, ...]) -> dict[str, str]:
    """The types and shardings of results as text, also for those that no edge has."""
    types = (_type_text(value.shape, value.element) for value in values)
    local = (_type_text(value.local_shape or value.shape, value.element) for value in values)
    shardings = (str(value.sharding or "") for value in values)
    shown = {"type": "; ".join(types), "local_type": "; ".join(local), "sharding": "; ".join(shardings)}
    return shown | {"layout": "; ".join(value.layout for value in values)}


def _type_text(shape: Shape | None, element: str) -> str:
    sizes = "".join(f"{'?' if size is None else size}x" for size in shape or ())
    return "" if shape is None else f"{sizes}{element}"


def nodes_of(graph: OpGraph) -> dict[str, OpNode]:
    """Returns the nodes by key, in program order."""
    return {key: data["node"] for key, data in graph.nodes(data=True)}


def meshes_of(graph: OpGraph) -> Mapping[str, Mesh]:
    """Returns the meshes of the program by name."""
    return graph.graph["meshes"]


def tensors_of(graph: OpGraph, key: str) -> list[ValueKey | None]:
    """Returns the values whose shardings meet at a node, in the order of its rule: those that hold them."""
    node: OpNode = graph.nodes[key]["node"]
    is_edge = node.step is not None and node.step.is_edge
    kind = "yield" if node.kind == "result" else "flow" if is_edge else "operand"
    return [
        *(holder_of(graph, value) for value in operands(graph, key, kind)),
        *(v.holder for v in node.values),
    ]


def groups_of(graph: OpGraph) -> dict[ValueKey, list[tuple[ValueKey, ValueKey]]]:
    """Returns for a member of a sharding group the others, each after the value that has its sharding."""
    groups: dict[int, dict[ValueKey, ValueKey | None]] = {}
    for key, node in nodes_of(graph).items():
        if node.group is not None:
            (member,) = operands(graph, key, "operand")
            groups.setdefault(node.group, {})[member] = holder_of(graph, member)
    return {
        member: [(its, other) for other, its in members.items() if other != member and its is not None]
        for members in groups.values()
        for member in members
    }


def holder_of(graph: OpGraph, value: ValueKey) -> ValueKey | None:
    """Returns the value that has the sharding of a value."""
    return graph.nodes[value[0]]["node"].values[value[1]].holder


def operands(graph: OpGraph, key: str, kind: str) -> list[ValueKey]:
    """Returns the values that edges of a kind bring to a node, by the numbers of operands."""
    edges = graph.in_edges(key, data=True)
    found = [(data["operand"], maker, data["result"]) for maker, _, data in edges if data["kind"] == kind]
    return [(maker, result) for _, maker, result in sorted(found)]


def users(graph: OpGraph, value: ValueKey) -> list[str]:
    """Returns the nodes that use a value, once a use: ops, and where terminators pass it on."""
    edges = graph.out_edges(value[0], data=True) if value[0] in graph else ()
    return [user for _, user, data in edges if data["kind"] in USES and data["result"] == value[1]]


def is_dead(graph: OpGraph, key: str) -> bool:
    """Returns whether a node is an op without effects that nothing uses."""
    if key not in graph or not graph.nodes[key]["node"].is_removable:
        return False
    return not any(data["kind"] in USES for _, _, data in graph.out_edges(key, data=True))


def has_shared_operand(graph: OpGraph, key: str) -> bool:
    """Returns whether an operand of an op that is not a scalar has another use."""
    makers = ((graph.nodes[value[0]]["node"], value) for value in operands(graph, key, "operand"))
    tensors = (value for maker, value in makers if maker.values[value[1]].shape != ())
    return any(len(users(graph, value)) > 1 for value in tensors)


def dependents(graph: OpGraph, value: ValueKey) -> Iterator[str]:
    """Yields the nodes to visit again when the sharding of a value changes, in MLIR's order.

    The users of the targets of a data-flow edge, the node that makes the value, and its users, newest first.
    """
    if value[0] not in graph:
        return
    for _, target, data in graph.out_edges(value[0], data=True):
        if data["kind"] == "flow" and graph.nodes[target]["kind"] == "argument":
            yield from _notified(graph, (target, 0))
    yield value[0]
    yield from _notified(graph, value)


def _notified(graph: OpGraph, value: ValueKey) -> Iterator[str]:
    edges = [(user, data) for _, user, data in graph.out_edges(value[0], data=True) if data["use"] >= 0]
    edges = [(user, data) for user, data in edges if data["result"] == value[1]]
    yield from (user for user, _ in sorted(edges, key=lambda edge: edge[1]["use"]))


def with_shardings(graph: OpGraph, shardings: Mapping[ValueKey, TensorSharding | None]) -> OpGraph:
    """Returns a copy of a graph in which values, and the edges that have them, have these shardings.

    shardings: of the values that hold them.
    """
    changed: OpGraph = networkx.MultiDiGraph()
    changed.graph.update(graph.graph)
    meshes = meshes_of(graph)
    for key, node in nodes_of(graph).items():
        held = [None if value.holder is None else shardings.get(value.holder) for value in node.values]
        values = (value.sharded(sharding, meshes) for value, sharding in zip(node.values, held, strict=True))
        changed.add_node(key, **graph.nodes[key])
        add_node(changed, key, replace(node, values=tuple(values)))
    for maker, user, data in graph.edges(data=True):
        value: GraphValue = changed.nodes[maker]["node"].values[data["result"]]
        changed.add_edge(maker, user, **{**data, **value.attributes})
    note_reads(changed)
    return changed


def note_reads(graph: OpGraph) -> None:
    """Adds to each node the bytes of its operands, whole and on each device."""
    for key in graph:
        edges = [data for _, _, data in graph.in_edges(key, data=True) if data["kind"] == "operand"]
        whole, local = (sum(data[name] for data in edges) for name in ("bytes", "local_bytes"))
        graph.add_node(key, read_bytes=whole, local_read_bytes=local)


def plain(graph: OpGraph) -> OpGraph:
    """Returns a copy whose attributes are texts and numbers, as writers of GraphML, GEXF, DOT and JSON need.

    Shapes and shardings become text; objects are left out.
    """
    written: OpGraph = networkx.MultiDiGraph()
    written.add_nodes_from((key, dict(_plain(data))) for key, data in graph.nodes(data=True))
    written.add_edges_from((maker, user, dict(_plain(data))) for maker, user, data in graph.edges(data=True))
    return written


def _plain(data: Attributes) -> Iterator[tuple[str, str | float]]:
    for name, value in data.items():
        if isinstance(value, str):
            yield name, without_controls(value)  # which XML cannot have
        elif isinstance(value, int | float):
            yield name, value
        elif name in _SHAPES:
            shape: Shape = value or ()
            yield name, "x".join("?" if size is None else str(size) for size in shape)
        elif name == "sharding":
            yield name, "" if value is None else str(value)


_SHAPES = ("shape", "local_shape")
