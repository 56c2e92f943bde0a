"""Nodes and edges of op graphs: regions, data flow, calls, names, values that are no static tensors."""

from __future__ import annotations

import networkx
import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.propagation.graph.from_module import op_graph
from shardy_py.propagation.op_graph import OpGraph, dependents, plain
from shardy_py.propagation.rules import rule_of
from tests.mlir.programs import MANUAL, WHILE

LOOP = WHILE.replace("  %2 = sdy.data_flow_edge %0#0 : tensor<8x8xf32>\n", "").replace(
    "negate %2", "negate %0#0"
)
"""As it is before import and after export."""


def graph_of(text: str) -> OpGraph:
    return op_graph(parse_module(text), rule_of)


def edges(graph: OpGraph, *kinds: str) -> list[tuple[str, str]]:
    return [(maker, user) for maker, user, data in graph.edges(data=True) if data["kind"] in kinds]


def test_uses_are_parallel_edges_in_the_order_of_the_use_list() -> None:
    graph = graph_of("""
    func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0 = stablehlo.tanh %a : tensor<8xf32>
      %1 = stablehlo.add %0, %0 : tensor<8xf32>
      %2 = stablehlo.negate %0 : tensor<8xf32>
      return %1, %2 : tensor<8xf32>, tensor<8xf32>
    }""")
    assert list(graph) == ["%arg0", "%0", "%1", "%2", "result 0", "result 1"]
    assert list(dependents(graph, ("%0", 0))) == ["%0", "%2", "%1", "%1"]
    operands = [(data["operand"], data["use"]) for data in graph.get_edge_data("%0", "%1").values()]
    assert sorted(operands) == [(0, 2), (1, 1)]
    assert edges(graph, "yield") == [("%1", "result 0"), ("%2", "result 1")]


def test_a_loop_is_one_node_and_its_regions_are_within() -> None:
    graph = graph_of(LOOP)
    inside = {key: data["region"] for key, data in graph.nodes(data=True) if data["parent"] == "%0"}
    assert [inside[key] for key in ("%2", "%2 (2)")] == [0, 1]
    kinds = [data["kind"] for key, data in graph.nodes(data=True) if key in inside]
    assert kinds.count("argument") == 4
    arguments = [key for key in inside if graph.nodes[key]["kind"] == "argument"]
    entered = [("%arg0", key) for key in arguments[::2]] + [("%arg1", key) for key in arguments[1::2]]
    assert sorted(edges(graph, "enter")) == sorted(entered)
    assert {maker for maker, user in edges(graph, "yield") if user == "%0"} >= {"%2", "%2 (2)"}
    assert networkx.is_directed_acyclic_graph(graph)
    assert {"%0", "%arg0", "%2 (2)"} <= networkx.ancestors(graph, "result 0")
    assert not edges(graph, "flow")


def test_data_flow_edges_join_sources_and_targets() -> None:
    graph = graph_of(WHILE)
    (edge,) = [key for key, data in graph.nodes(data=True) if data["op"] == "sdy.data_flow_edge"]
    (tanh,) = [key for key, data in graph.nodes(data=True) if data["op"] == "stablehlo.tanh"]
    flow = edges(graph, "flow")
    assert {maker for maker, user in flow if user == edge} == {"%arg0", tanh}
    targets = [user for maker, user in flow if maker == edge]
    assert [graph.nodes[key]["kind"] for key in targets] == ["argument", "argument"]
    nodes = dict(graph.nodes(data="node"))
    assert [nodes[key].values[0].holder for key in (edge, *targets)] == [(edge, 0)] * 3
    assert nodes["%0"].values[0].holder == (edge, 0)
    # As in the flat program: the users of the other targets, the edge itself, then its own users.
    (negate,) = graph.pred["result 0"]
    assert [key for key in dependents(graph, (edge, 0)) if nodes[key].step] == [tanh, edge, negate]


def test_what_a_manual_computation_takes_does_not_revisit_its_edge() -> None:
    graph = graph_of(MANUAL)
    boundaries = [
        node.step.boundary for _, node in graph.nodes(data="node") if node.step and node.step.is_edge
    ]
    assert [boundary.is_argument for boundary in boundaries if boundary] == [True, False]
    inner = next(key for key, data in graph.nodes(data=True) if data["op"] == "sdy.data_flow_edge")
    assert ("%arg0", inner) in edges(graph, "flow")
    assert inner not in list(dependents(graph, ("%arg0", 0)))


def test_functions_are_apart_from_their_calls() -> None:
    graph = graph_of("""
    func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
      %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
      %1 = call @f(%0) : (tensor<8xf32>) -> tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.tanh %a : tensor<8xf32>
      return %0 : tensor<8xf32>
    }""")
    assert list(graph)[4:] == ["@f:%arg0", "@f:%0", "@f:result 0"]
    assert len(list(networkx.weakly_connected_components(graph))) == 2
    assert graph.nodes["@f:%0"]["function"] == "f"


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("%a: tensor<?x4xf32>) { %0 = stablehlo.tanh %a : tensor<?x4xf32>", "?x4xf32"),
        ("%a: tensor<f32>) { %0 = stablehlo.create_token : !stablehlo.token", ""),
    ],
)
def test_values_without_a_size_have_no_bytes(text: str, type_: str) -> None:
    graph = plain(graph_of(f"func.func @main({text} return }}"))
    shown = graph.nodes["%0"]
    assert (shown["type"], shown["bytes"], shown["layout"]) == (type_, 0, "")


def test_groups_and_effects() -> None:
    graph = graph_of("""
    func.func @main(%a: tensor<8xf32>) {
      sdy.sharding_group %a group_id=3 : tensor<8xf32>
      %0 = stablehlo.tanh %a : tensor<8xf32>
      return
    }""")
    nodes = dict(graph.nodes(data="node"))
    assert nodes["sdy.sharding_group"].group == 3
    assert [key for key, node in nodes.items() if node.is_removable] == ["%0"]
