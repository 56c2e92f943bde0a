"""A result for Model Explorer: graphs with edge overlays as a JSON file, node data as others.

Not here: the extension that Model Explorer loads (`shardy_py.viewer.model_explorer`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from shardy_py.api.arguments import expect
from shardy_py.base.errors import ShardyError
from shardy_py.base.files import write_whole
from shardy_py.base.records import dataclass
from shardy_py.hardware.cost import CostModel
from shardy_py.report.communication import Partitioner
from shardy_py.viewer.explorer import Subject
from shardy_py.viewer.model_graph import Graph, GraphNodeData, ModelGraph, model_graph

if TYPE_CHECKING:
    from shardy_py.api.result import Result


@dataclass(frozen=True, eq=False)
class ModelExplorerGraphs:
    """The graphs of a program, one for each function, in the JSON of Model Explorer; needs no package.

    made: graphs, edge overlays and node data.
    """

    made: ModelGraph

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs, that of @main first."""
        return tuple(self.made.collection["graphs"])

    @property
    def node_data(self) -> Mapping[str, Mapping[str, GraphNodeData]]:
        """The overlays of nodes by name (`bytes`, `replicated`, `memory`), then by the id of a graph."""
        return self.made.node_data

    def text(self) -> str:
        """Returns the graphs as the JSON text of a graph collection."""
        return json.dumps(self.made.collection)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes `text()` to a file that Model Explorer opens.

        Raises:
            ShardyError: the file cannot be written.
        """
        expect(path, (str, PathLike), "the path of a file")
        _write(path, self.text())

    def write_node_data(self, folder: str | PathLike[str]) -> tuple[Path, ...]:
        """Writes each overlay to a file in a folder, `bytes.json` and so on, for `--node_data_paths`.

        Raises:
            ShardyError: a file cannot be written.
        """
        expect(folder, (str, PathLike), "the path of a folder")
        paths = tuple(Path(folder) / f"{name}.json" for name in self.node_data)
        for path, data in zip(paths, self.node_data.values(), strict=True):
            _write(path, json.dumps(data))
        return paths

    def __repr__(self) -> str:
        nodes = sum(len(graph["nodes"]) for graph in self.graphs)
        return f"ModelExplorerGraphs({self.made.collection['label']!r}, {nodes:,} nodes)"


def model_explorer_of(subject: Subject) -> ModelExplorerGraphs:
    """Returns the graphs of a program with what is known of it."""
    return ModelExplorerGraphs(model_graph(subject))


def model_explorer_of_result(
    result: Result, title: str, *, model: CostModel | str, partitioner: Partitioner | None
) -> ModelExplorerGraphs:
    """Returns the graphs of a result; see `Result.model_explorer`."""
    report = result.communication(model, partitioner=partitioner)
    memory = result.memory(partitioner=report.partitioner).memory_bytes
    return model_explorer_of(Subject(title, result.values.table, result.record, report, memory_bytes=memory))


def _write(path: str | PathLike[str], text: str) -> None:
    try:
        write_whole(fspath(path), text)
    except OSError as error:
        raise ShardyError(f"cannot open output file '{fspath(path)}': {error.strerror}") from error
