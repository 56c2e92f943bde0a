"""Keys of graphs by what their fusion depends on: equal graphs, of programs of one search, are fused once.

Not here: graphs (`graph.py`), fusion (`computation.py`).
"""

from __future__ import annotations

from collections.abc import Hashable

from shardy_py.base.session import SESSION
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.ops.reads import integers
from shardy_py.xla.targets.combined_sets import ReadOps
from shardy_py.xla.targets.gpu.graph import BROADCAST, DOT, REDUCE, GpuGraph

_DIMENSIONS = {REDUCE: "dimensions", BROADCAST: "broadcast_dimensions"}
"""The attributes of steps that fusion reads, by kind of op."""
_KNOWN: dict[Hashable, ReadOps] = SESSION.table("fused ops of a GPU")


def known_ops(key: Hashable) -> ReadOps | None:
    """Returns the fused ops of a graph of which an equal one was fused; `sent` has numbers of the graph."""
    return _KNOWN.get(key)


def keep_ops(key: Hashable, ops: ReadOps) -> None:
    """Keeps the fused ops of a graph for equal ones."""
    SESSION.charge(4 * len(ops.reads))
    _KNOWN[key] = ops


def key_of_graph(graph: GpuGraph) -> Hashable:
    """A key that is equal only for graphs whose ops are fused alike."""
    numbers = range(len(graph.kinds))
    return (
        tuple(graph.kinds),
        tuple(graph.reads),
        tuple(graph.types),
        tuple([_step_facts(graph, number) for number in numbers]),
        tuple([number for number in numbers if graph.transfer(number) is not None]),
        graph.results,
        *(frozenset(facts.items()) for facts in (graph.forms, graph.bitcasts, graph.orders, graph.shapes)),
        *(frozenset(facts.items()) for facts in (graph.workspaces, graph.over)),
        *map(frozenset, (graph.returned_forms, graph.turned, graph.columns, graph.together, graph.numbered)),
    )


def _step_facts(graph: GpuGraph, number: int) -> Hashable:
    """The facts of the step of an op: of products, reductions and broadcasts their dimensions."""
    kind, is_elementwise = graph.kinds[number], graph.is_elementwise(number)
    if kind == DOT and (product := graph.step(number)) is not None:
        return DotDimensions.of(product.record.attributes)
    if kind not in _DIMENSIONS:
        return is_elementwise, graph.nodes[number] is None
    step = graph.step(number)
    if step is None:
        return is_elementwise, None
    return is_elementwise, step.record.operands[0], *integers(step.record.attributes, _DIMENSIONS[kind])
