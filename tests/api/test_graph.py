"""Graphs of programs and results: what they say is what values and reports say, and writers take them."""

from __future__ import annotations

import json
from pathlib import Path

import networkx
import pytest

from shardy_py import Program, Result, ShardyError, propagate
from shardy_py.api.graphs import dot

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def result() -> Result:
    return propagate(Program.load(EXAMPLES / "transformer_train.mlir"))


def test_nodes_and_edges_say_what_values_say(result: Result) -> None:
    graph = result.graph()
    named = {
        str(value): value for value in (*result.values.arguments("main"), *result.values.results("main"))
    }
    assert len(graph) > 500 < len(graph.edges)
    for key, value in named.items():
        assert graph.nodes[key]["sharding"] == str(value.sharding or "")
        assert graph.nodes[key]["label"] == value.label
    for maker, _, data in graph.edges(data=True):
        if maker in named:
            assert data["shape"] == "x".join(map(str, named[maker].shape or ()))
            assert data["local_shape"] == "x".join(map(str, named[maker].local_shape or ()))


def test_the_work_of_ops_sums_to_that_of_reports(result: Result) -> None:
    graph, time = result.graph(), result.time(partitioner="xla")
    assert networkx.is_directed_acyclic_graph(graph)
    counted = sum(data.get("local_flops", 0) for _, data in graph.nodes(data=True))
    assert counted == pytest.approx(time.work.all_flops, rel=0.01)  # XLA merges equal ops
    assert sum(data["flops"] for _, data in graph.nodes(data=True) if "flops" in data) > counted


def test_writers_take_graphs(tmp_path: Path) -> None:
    result = propagate(Program.load(EXAMPLES / "mlp.mlir"))
    for graph in (result.graph(), result.source.graph(target="tpu")):
        networkx.write_graphml(graph, tmp_path / "a.graphml")
        networkx.write_gexf(graph, tmp_path / "a.gexf")
        back = networkx.read_graphml(tmp_path / "a.graphml", force_multigraph=True)
        assert dict(back.nodes(data=True)) == dict(graph.nodes(data=True))
        assert len(back.edges) == len(graph.edges)
        again = networkx.node_link_graph(json.loads(json.dumps(networkx.node_link_data(graph))))
        assert dict(again.nodes(data=True)) == dict(graph.nodes(data=True))
        text = dot(graph)
        assert text.count(" -> ") == len(graph.edges)
        assert text.count("[label=") == len(graph)


def test_names_are_text_that_xml_can_have(tmp_path: Path) -> None:
    program = Program.parse("""
    func.func @main(%a: tensor<8xf32> loc("a\\1B\\00<&>")) -> tensor<8xf32> {
      %0 = call @"f\\1B\\0A"(%a) : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    func.func private @"f\\1B\\0A"(%a: tensor<8xf32>) -> tensor<8xf32> { return %a : tensor<8xf32> }""")
    graph = program.graph()
    networkx.write_graphml(graph, tmp_path / "a.graphml")
    assert list(networkx.read_graphml(tmp_path / "a.graphml")) == list(graph)
    assert "<&>" in graph.nodes["%arg0"]["label"]


def test_more_work_than_a_float_holds_is_left_out() -> None:
    type_ = f"tensor<{'8x' * 400}f32>"
    graph = Program.parse(
        f"func.func @main(%a: {type_}) {{ %0 = stablehlo.add %a, %a : {type_} return }}"
    ).graph()
    assert (graph.nodes["%0"]["flops"], graph.nodes["%0"]["bytes"]) == (0, 0)


def test_plain_values_are_texts_and_numbers(result: Result) -> None:
    graph = result.graph()
    found = [*(data for _, data in graph.nodes(data=True)), *(data for *_, data in graph.edges(data=True))]
    assert {type(value) for data in found for value in data.values()} <= {str, int, float}
    objects = result.graph(plain=False)
    assert list(objects) == list(graph)
    assert {node.record.name for _, node in objects.nodes(data="node") if node.record} >= {
        "stablehlo.dot_general"
    }


def test_an_unknown_target_is_an_error() -> None:
    with pytest.raises(ShardyError, match=r"target.*\n?.*linear"):
        Program.load(EXAMPLES / "mlp.mlir").graph(target="cpu")


def test_a_program_without_a_plan_has_no_local_work() -> None:
    text = """
    sdy.mesh @mesh = <["x"=2]>
    func.func @main(%a: tensor<?x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x"}]>})
        -> tensor<?x4xf32> {
      return %a : tensor<?x4xf32>
    }"""
    graph = propagate(Program.parse(text)).graph()
    assert graph.nodes["%arg0"]["local_type"] == "?x2xf32"
