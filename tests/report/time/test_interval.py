"""Intervals against networkx, and bounds of each resource."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardy_py.report.time.graph import TimedBlock, TimedNode
from shardy_py.report.time.interval import measure


@st.composite
def blocks(draw: st.DrawFn) -> TimedBlock:
    count = draw(st.integers(0, 12))
    nodes: list[TimedNode] = []
    for position in range(count):
        bound = draw(st.sampled_from(("compute", "memory", "communication")))
        axes = (draw(st.sampled_from("xy")),) if bound == "communication" else ()
        after = tuple(sorted(draw(st.sets(st.integers(0, position - 1)) if position else st.just(set()))))
        seconds = float(draw(st.integers(0, 9)))
        nodes.append(TimedNode("op", bound, seconds, axes=axes, after=after))
    return TimedBlock(tuple(nodes))


@given(blocks())
def test_the_longest_chain_is_that_of_networkx(block: TimedBlock) -> None:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(-1, len(block.nodes)))
    for position, node in enumerate(block.nodes):
        graph.add_edge(position, -1, weight=node.seconds)
        graph.add_edges_from(
            (earlier, position, {"weight": block.nodes[earlier].seconds}) for earlier in node.after
        )
    found = measure(block)
    longest = nx.dag_longest_path_length(graph)
    on_device = sum(node.seconds for node in block.nodes if not node.axes)
    on_links = [sum(node.seconds for node in block.nodes if node.axes == (axis,)) for axis in "xy"]
    assert found.overlapped == pytest.approx(max(longest, on_device, *on_links))
    assert sum(block.nodes[position].seconds for position in found.path) == pytest.approx(longest)
    assert found.serial == pytest.approx(sum(node.seconds for node in block.nodes))
    assert found.overlapped <= found.serial + 1e-9


def test_branches_take_as_long_as_the_longest() -> None:
    short, long = (TimedBlock((TimedNode("op", "compute", seconds),)) for seconds in (1.0, 3.0))
    block = TimedBlock((TimedNode("case", "branches", 0.0, inside=(short, long)),))
    assert measure(block).serial == measure(block).overlapped == 3.0


def test_iterations_run_one_after_the_other() -> None:
    body = TimedBlock((TimedNode("op", "compute", 2.0), TimedNode("sum", "communication", 3.0, axes=("x",))))
    block = TimedBlock((TimedNode("while", "loop", 0.0, inside=(body,), trips=5),))
    assert (measure(block).overlapped, measure(block).serial) == (15.0, 25.0)
