from __future__ import annotations

from shardy_py.dialects import parse_module
from shardy_py.graph.op_graph import OpGraph
from shardy_py.rules import derive_rule
from tests.graph.programs import WHILE


def test_the_graph_of_a_loop() -> None:
    graph = OpGraph(parse_module(WHILE))
    names = {number: data["name"].split(".")[-1] for number, data in graph.digraph.nodes(data=True)}
    assert list(names.values()) == (
        ["mesh", "func", "while", "compare", "return", "tanh", "return", "data_flow_edge", "negate", "return"]
    )
    edges = {
        (names[a] + str(data["result"]), names[b] + str(data["operand"]))
        for a, b, data in graph.digraph.edges(data=True)
    }
    assert {
        ("func0", "while0"),
        ("func0", "data_flow_edge0"),
        ("tanh0", "data_flow_edge1"),
        ("while1", "compare0"),
        ("while1", "compare1"),
        ("data_flow_edge0", "tanh0"),
        ("data_flow_edge0", "negate0"),
        ("negate0", "return0"),
    } <= edges
    edge = graph.digraph.nodes[7]
    assert edge["is_edge"]
    assert edge["function"] == "main"
    assert graph.node(edge["op"]) == 7


def test_it_is_made_once_and_gives_the_flat_form() -> None:
    graph = OpGraph(parse_module(WHILE))
    assert graph.digraph is graph.digraph
    assert len(graph.program(derive_rule).step_ops) == 4
