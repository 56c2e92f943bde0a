"""The package `ai-edge-model-explorer` takes what is made for it: its classes, its extension manager."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from shardy_py.viewer.model_explorer.package import (
    EXTENSION,
    package,
    to_package_graphs,
    to_package_node_data,
)
from tests.viewer.explorer.programs import layers
from tests.viewer.model_explorer.test_graphs import CALL, LOOP, SMALL, result, written

_REASON = "ai-edge-model-explorer (extra: explorer) is not installed"


@pytest.fixture(scope="module")
def module() -> Any:
    return pytest.importorskip("model_explorer", reason=_REASON)


@pytest.fixture
def manager(module: Any) -> Any:
    """An extension manager as the server makes it with `--extensions`."""
    from model_explorer.extension_manager import ExtensionManager  # pyright: ignore

    made = ExtensionManager([EXTENSION])
    made.custom_extension_modules = [f"{EXTENSION}.main"]
    made.load_extensions()
    return made


@pytest.mark.parametrize("text", [SMALL, CALL, LOOP, layers(3)], ids=["small", "call", "loop", "layers"])
def test_its_schema_accepts_graphs(module: Any, text: str) -> None:
    """Every field is known to its dataclasses and has their type, and comes back from them."""
    dacite = pytest.importorskip("dacite")
    builder = module.graph_builder
    for made in (result(text).model_explorer(), written(text)):
        for graph, ours in zip(made.graphs, to_package_graphs(made.graphs), strict=True):
            config = dacite.Config(strict=True)
            theirs = dacite.from_dict(builder.Graph, json.loads(json.dumps(graph)), config)
            assert theirs == ours


def test_its_schema_accepts_node_data(module: Any) -> None:
    dacite = pytest.importorskip("dacite")
    builder = module.node_data_builder
    for by_graph in result(SMALL).model_explorer().node_data.values():
        for data in by_graph.values():
            ours = to_package_node_data(data)
            # its annotation of values is a number; its own comments allow text, as for categories
            is_number = all(isinstance(value["value"], int) for value in data["results"].values())
            config = dacite.Config(strict=True, check_types=is_number)
            theirs = dacite.from_dict(builder.GraphNodeData, json.loads(json.dumps(data)), config)
            assert theirs == ours
            assert json.loads(builder.ModelNodeData(graphsData={"main": ours}).to_json_string())["main"]


def test_it_finds_the_extensions(manager: Any) -> None:
    found = {each["id"]: each for each in manager.get_extensions_metadata()}
    for adapter in ("shardy_py", "shardy_py_as_written"):
        assert found[adapter]["type"] == "adapter"
        assert found[adapter]["fileExts"] == ["mlir", "mlirbc", "gz"]
        provider = found[f"{adapter}_node_data"]
        assert provider["type"] == "node_data_provider"
        assert provider["filter"]["adapterIds"] == [adapter]


def test_node_data_is_that_of_the_graph_shown(manager: Any, tmp_path: Path) -> None:
    path = tmp_path / "small.mlir"
    path.write_text(SMALL)

    def copies(provider: str) -> str:
        asked = {"modelPath": str(path), "graphId": "main", "configValues": {}}
        answer = manager.run_cmd({"cmdId": "run", "extensionId": provider, **asked})
        assert answer["error"] == ""
        return answer["result"][1]["results"]["%0"]["value"]

    assert copies("shardy_py_node_data") == "2 copies"
    assert copies("shardy_py_as_written_node_data") == "replicated"


def test_a_changed_file_is_read_again(manager: Any, tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    asked = {"cmdId": "convert", "extensionId": "shardy_py", "modelPath": str(path), "settings": {}}
    counts: list[int] = []
    for layer_count in (1, 2):
        path.write_text(layers(layer_count))
        counts.append(len(manager.run_cmd(asked)["graphs"][0]["nodes"]))
    assert counts == [9, 14]


def test_without_the_package_the_error_has_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "model_explorer", None)
    with pytest.raises(ImportError, match=r"pip install 'shardy-py\[explorer\]'"):
        package()


def test_the_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from shardy_py.viewer.model_explorer.__main__ import main

    assert main([str(tmp_path / "none.mlir")]) == 1
    error = capsys.readouterr().err
    assert "cannot open input file" in error or "pip install" in error
