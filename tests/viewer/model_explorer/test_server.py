"""The real server of Model Explorer with our extension, asked over HTTP as its page asks."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.viewer.explorer.programs import layers
from tests.viewer.model_explorer.server import EXTENSION, Server, server

pytest.importorskip("model_explorer", reason="ai-edge-model-explorer (extra: explorer) is not installed")
pytestmark = pytest.mark.xdist_group("model_explorer")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "model.mlir"
    path.write_text(layers(3))
    return path


@pytest.fixture(scope="module")
def served(program: Path) -> Generator[Server]:
    with server(str(program), f"--extensions={EXTENSION}") as started:
        yield started


def test_it_lists_and_runs_the_extension(served: Server, program: Path) -> None:
    listed = {each["id"] for each in served.get("/api/v1/get_extensions")}
    assert {"shardy_py", "shardy_py_as_written", "shardy_py_node_data"} <= listed
    (graph,) = served.convert(program)["graphs"]
    by_id = {node["id"]: node for node in graph["nodes"]}
    assert by_id["%0"]["namespace"] == "layer_0/mlp"
    assert {"key": "shape", "value": "f32[64@data,2048@model]"} in by_id["%0"]["attrs"]
    (overlays,) = graph["tasksData"]["edgeOverlaysDataListLeftPane"]
    assert overlays["type"] == "edge_overlays"
    assert overlays["overlays"][0]["name"].startswith("all_reduce along model: 3, ")
    as_written = served.convert(program, "shardy_py_as_written")["graphs"][0]["nodes"]
    assert {"key": "shape", "value": "f32[64,2048]"} in next(
        node["attrs"] for node in as_written if node["id"] == "%0"
    )


def test_it_runs_node_data_with_the_graph_of_the_page(served: Server, program: Path) -> None:
    (graph,) = served.convert(program)["graphs"]
    fields = {"modelPath": str(program), "graphId": "main", "configValues": {}, "graph": graph}
    answer = served.command(cmdId="run", extensionId="shardy_py_node_data", **fields)
    assert answer["error"] == ""
    names = [data["name"] for data in answer["result"]]
    assert names == ["bytes per device", "copies of each element", "bytes alive on each device"]
    assert answer["result"][0]["results"]["%0"]["value"] == 65_536


def test_errors_have_their_place(served: Server, program: Path) -> None:
    wrong = program.with_name("wrong.mlir")
    wrong.write_text("func.func @main() {\n  foo.bar\n}\n")
    assert "wrong.mlir:2:" in served.convert(wrong)["error"]


def test_our_command_chooses_the_adapter_and_serves_node_data(program: Path) -> None:
    with server(str(program), module=["shardy_py.viewer.model_explorer"]) as started:
        data = started.get("/api/v1/load_node_data?node_data_index=0")["content"]
        assert json.loads(data)["main"]["results"]["%0"]["value"] == 65_536
        (graph,) = started.convert(program)["graphs"]
        assert graph["id"] == "main"
