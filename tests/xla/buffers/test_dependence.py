"""Which ops need what others make, against networkx."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from shardy_py.xla.buffers.dependence import Dependence


@pytest.mark.parametrize("seed", range(20))
def test_the_needed_producers_are_the_ancestors(seed: int) -> None:
    chosen = random.Random(seed)
    count = chosen.randint(1, 40)
    # Value i is made by op i - 2; the first two are given.
    makers = [-1, -1, *range(count)]
    reads = [tuple(chosen.choices(range(op + 2), k=chosen.randint(0, 3))) for op in range(count)]
    edges = [(makers[value], op) for op, values in enumerate(reads) for value in values if makers[value] >= 0]
    graph: nx.DiGraph[int] = nx.DiGraph(edges)
    graph.add_nodes_from(range(count))
    producers = sorted(chosen.sample(range(count), chosen.randint(1, count)), reverse=True)
    needs = Dependence(reads, makers, producers, count)
    for producer in producers:
        needed_by = nx.descendants(graph, producer) | {producer}
        assert {op for op in range(count) if needs.of(op, producer)} == needed_by
        assert not needs.of(-1, producer)
