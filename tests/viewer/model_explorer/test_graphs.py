"""Graphs, overlays and node data in the JSON of Model Explorer, without its package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shardy_py import Program, Result, ShardyError, propagate
from shardy_py.viewer.explorer import Subject
from shardy_py.viewer.model_explorer_graphs import ModelExplorerGraphs, model_explorer_of
from tests.viewer.explorer.programs import layers

SMALL = """sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func public @main(
    %arg0: tensor<512x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>} loc("x"),
    %arg1: tensor<1024x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>} loc("w"))
    -> (tensor<512x256xf32> {jax.result_info = "y"}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<512x1024xf32>, tensor<1024x256xf32>) -> tensor<512x256xf32> loc("model.py":7:8)
  %1 = stablehlo.tanh %0 : tensor<512x256xf32>
  return %1 : tensor<512x256xf32>
}
"""
CALL = """sdy.mesh @mesh = <["x"=2]>
func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @f(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> tensor<8xf32> {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
LOOP = """sdy.mesh @mesh = <["x"=2]>
func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> tensor<8xf32> {
  %c = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %1:2 = stablehlo.while(%i = %0, %x = %arg0) : tensor<i32>, tensor<8xf32>
  cond {
    %2 = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.tanh %x : tensor<8xf32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<8xf32>
  }
  return %1#1 : tensor<8xf32>
}
"""
HOSTILE = (
    "</script><script>alert(1)</script>",
    "a/b;c\\",
    "a___group___b",
    "a\u202eb\\07",
    "(unbalanced/",
    "n" * 10_000,
)


def result(text: str) -> Result:
    return propagate(Program.parse(text, "model.mlir"))


def written(text: str) -> ModelExplorerGraphs:
    return model_explorer_of(Subject("model.mlir", Program.parse(text, "model.mlir").values.table))


def nodes(graphs: ModelExplorerGraphs, graph: int = 0) -> dict[str, Any]:
    """The nodes of a graph by id, with their attributes as a dictionary."""
    return {
        node["id"]: {**node, "rows": {row["key"]: row["value"] for row in node["attrs"]}}
        for node in graphs.graphs[graph]["nodes"]
    }


def test_a_node_has_its_types_and_its_source() -> None:
    found = nodes(result(SMALL).model_explorer())
    assert list(found) == ["%arg0", "%arg1", "%0", "%1", "result 0"]
    product = found["%0"]
    assert product["label"] == "dot_general"
    rows = product["rows"]
    assert rows["op"] == "stablehlo.dot_general"
    assert rows["shape"] == "f32[512@data,256]"
    assert rows["local shape"] == "f32[128,256]"
    assert rows["sharding"] == '<@mesh, [{"data"}, {}]>'
    assert rows["bytes per device"] == "131.07 kB"
    assert rows["copies"] == "2 of 8 devices"
    assert rows["source"] == "model.py:7:8"
    assert rows["dot_dimension_numbers"].startswith("#stablehlo.dot<")
    assert product["outputsMetadata"] == [
        {
            "id": "0",
            "attrs": [
                {"key": "__tensor_tag", "value": "%0"},
                {"key": "shape", "value": "f32[512@data,256]"},
            ],
        }
    ]
    assert [(e["sourceNodeId"], e["targetNodeInputId"]) for e in product["incomingEdges"]] == [
        ("%arg0", "0"),
        ("%arg1", "1"),
    ]
    assert (found["%arg1"]["label"], found["result 0"]["label"]) == ("w", "y")


def test_scopes_are_namespaces() -> None:
    found = nodes(result(layers(4)).model_explorer())
    products = [node["namespace"] for node in found.values() if node["label"] == "tanh"]
    assert products == [f"layer_{n}/mlp" for n in range(4)]


def test_functions_are_graphs_and_calls_lead_to_them() -> None:
    graphs = written(CALL)
    assert [graph["id"] for graph in graphs.graphs] == ["main", "f"]
    assert nodes(graphs)["%0"]["subgraphIds"] == ["f"]
    assert nodes(graphs, 1)["%0"]["label"] == "negate"


def test_regions_are_namespaces_with_their_op_on_top() -> None:
    found = nodes(written(LOOP))
    loop = found["%0"]
    assert (loop["label"], loop["namespace"], loop["config"]) == (
        "while",
        "while %0",
        {"pinToGroupTop": True},
    )
    assert [row["id"] for row in loop["outputsMetadata"]] == ["0", "1"]
    assert loop["rows"]["constants"].startswith("operand 0: %")
    inside = {node["namespace"] for node in found.values() if node["label"] in ("compare", "tanh")}
    assert inside == {"while %0/condition", "while %0/body"}
    ends = found["result 0"]["incomingEdges"]
    assert [(edge["sourceNodeId"], edge["sourceNodeOutputId"]) for edge in ends] == [("%0", "1")]


def test_edges_and_overlays_only_name_nodes() -> None:
    for text in (SMALL, CALL, LOOP, layers(6)):
        for graph in result(text).model_explorer().graphs:
            ids = [node["id"] for node in graph["nodes"]]
            assert len(ids) == len(set(ids))
            ends = {edge["sourceNodeId"] for node in graph["nodes"] for edge in node["incomingEdges"]}
            for data in graph["tasksData"]["edgeOverlaysDataListLeftPane"]:
                for edge in (edge for overlay in data["overlays"] for edge in overlay["edges"]):
                    ends |= {edge["sourceNodeId"], edge["targetNodeId"]}
            assert ends <= set(ids)


def test_collectives_are_edges_with_kind_axes_and_bytes() -> None:
    given = result(SMALL)
    made = given.model_explorer()
    (graph,) = made.graphs
    (data,) = graph["tasksData"]["edgeOverlaysDataListLeftPane"]
    (overlay,) = data["overlays"]
    (use,) = given.communication().sending
    assert use.total.bytes == 131_072
    assert data["name"] == "collectives of Shardy's reshards"
    assert overlay["name"] == "all_reduce along model: 1, 131.07 kB"
    label = "all_reduce model 131.07 kB"
    assert overlay["edges"] == [{"sourceNodeId": "%0", "targetNodeId": "%1", "label": label}]
    row = nodes(made)["%0"]["rows"]["collective 1"]
    assert row.startswith("all_reduce along model, 131.07 kB received by each device: ")
    assert graph["groupNodeAttributes"][""]["received"] == "131.07 kB per device"
    assert graph["groupNodeAttributes"][""]["mesh @mesh"] == '<["data"=4, "model"=2]>'


def test_groups_sum_the_collectives_inside() -> None:
    (graph,) = result(layers(4)).model_explorer().graphs
    rows = graph["groupNodeAttributes"]
    assert [rows[name]["collectives"] for name in ("", "layer_0", "layer_0/mlp")] == ["4", "1", "1"]


def test_a_program_as_written_has_no_collectives() -> None:
    (graph,) = written(SMALL).graphs
    assert graph["tasksData"]["edgeOverlaysDataListLeftPane"] == []
    assert nodes(written(SMALL))["%0"]["rows"]["sharding"] == "none"
    assert nodes(written(SMALL))["%arg0"]["rows"]["shape"] == "f32[512@data,1024@model]"


def test_node_data() -> None:
    data = result(SMALL).model_explorer().node_data
    values = {name: {n: v["value"] for n, v in data[name]["main"]["results"].items()} for name in data}
    x, w, y = 512 * 1024 * 4 // 8, 1024 * 256 * 4 // 2, 512 * 256 * 4 // 4
    assert values["bytes"] == {"%arg0": x, "%arg1": w, "%0": y, "%1": y, "result 0": y}
    copies = {"%arg0": "sharded", "%arg1": "4 copies", "%0": "2 copies", "%1": "2 copies"}
    assert values["replicated"] == {**copies, "result 0": "2 copies"}
    assert values["memory"] == {"%0": x + w + y, "%1": y + y}
    assert nodes(written(CALL))["%arg0"]["rows"]["copies"] == "2 of 2 devices"
    assert written(CALL).node_data["replicated"]["main"]["results"]["%0"]["value"] == "replicated"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_keep_their_place(name: str) -> None:
    literal = name if "\\07" in name else name.replace("\\", "\\\\").replace('"', '\\"')
    made = result(layers(2).replace("layer_1/mlp", f"evil/{literal}/mlp")).model_explorer()
    namespaces = {node["namespace"] for node in nodes(made).values() if "evil" in node["namespace"]}
    assert namespaces
    for namespace in namespaces:
        assert "___group___" not in namespace
        assert ";" not in namespace
        assert not any(ord(character) < 32 or character == "\u202e" for character in namespace)
        assert all(0 < len(part) < 200 for part in namespace.replace("\\/", "").split("/"))
    assert set(made.graphs[0]["groupNodeAttributes"]) - {""} <= {
        "/".join(parts[:depth])
        for node in made.graphs[0]["nodes"]
        for parts in [node["namespace"].split("/")]
        for depth in range(1, len(parts) + 1)
    }


def test_files_are_written(tmp_path: Path) -> None:
    made = result(SMALL).model_explorer(title="small")
    assert repr(made) == "ModelExplorerGraphs('small', 5 nodes)"
    made.save(tmp_path / "graphs.json")
    collection = json.loads((tmp_path / "graphs.json").read_text())
    assert (collection["label"], collection["graphs"][0]["id"]) == ("small", "main")
    paths = made.write_node_data(tmp_path)
    assert [path.name for path in paths] == ["bytes.json", "replicated.json", "memory.json"]
    assert json.loads(paths[0].read_text())["main"]["name"] == "bytes per device"
    with pytest.raises(ShardyError, match="cannot open output file"):
        made.save(tmp_path / "no" / "graphs.json")
