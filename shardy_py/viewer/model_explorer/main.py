"""The extensions that Model Explorer finds in this module: two adapters of MLIR files, and their node data.

Each class describes itself by `metadata`; Model Explorer makes an instance for each request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardy_py.base.errors import ShardyError
from shardy_py.base.session import without_collection
from shardy_py.viewer.model_explorer.package import package, to_package_graphs, to_package_node_data
from shardy_py.viewer.model_explorer.programs import graphs_of_file

PROPAGATED, AS_WRITTEN = "shardy_py", "shardy_py_as_written"
"""The ids of the adapters."""
_NODE_DATA = "_node_data"
"""Follows the id of the adapter in that of its node data."""
_FILES = ("mlir", "mlirbc", "gz")
_SOURCE = "shardy-py"
_package = package()
_Adapter: Any = _package.Adapter
_NodeDataProvider: Any = _package.NodeDataProvider


class PropagatedAdapter(_Adapter):
    """Reads a program and propagates its shardings; of a program of JAX as its compiler does."""

    metadata = _package.AdapterMetadata(
        id=PROPAGATED,
        name="Shardy: propagated",
        description="Shardings after propagation, local shapes, collectives",
        source_repo=_SOURCE,
        fileExts=[*_FILES],
    )

    def convert(self, model_path: str, settings: Mapping[str, object]) -> dict[str, list[Any]]:
        """Returns the graphs of a file. Raises `ShardyError`, which the server shows."""
        return _converted(model_path, is_propagated=True)


class AsWrittenAdapter(_Adapter):
    """Reads a program with the shardings that it has."""

    metadata = _package.AdapterMetadata(
        id=AS_WRITTEN,
        name="Shardy: as written",
        description="Shardings as in the file, without propagation and collectives",
        source_repo=_SOURCE,
        fileExts=[*_FILES],
    )

    def convert(self, model_path: str, settings: Mapping[str, object]) -> dict[str, list[Any]]:
        """Returns the graphs of a file. Raises `ShardyError`, which the server shows."""
        return _converted(model_path, is_propagated=False)


class Overlays(_NodeDataProvider):
    """Bytes per device, copies of each element, bytes alive: for graphs of the adapters above."""

    metadata = [
        _package.NodeDataProviderMetadata(
            id=f"{adapter}{_NODE_DATA}",
            name="Shardy: bytes, copies, memory",
            description="Bytes per device, replicated tensors, bytes alive on each device",
            source_repo=_SOURCE,
            icon="memory",
            filter=_package.NodeDataProviderFilter(adapterIds=[adapter]),
        )
        for adapter in (PROPAGATED, AS_WRITTEN)
    ]

    def get_config_editors(self, provider_id: str) -> Any:
        """Returns nothing to choose."""
        return _package.GetConfigEditorsResult(configEditors=[])

    def run(
        self,
        provider_id: str,
        model_path: str,
        graph_id: str,
        config_values: Mapping[str, object],
        graph: object,
    ) -> Any:
        """Returns the overlays of one graph, or an error as text."""
        is_propagated = provider_id == f"{PROPAGATED}{_NODE_DATA}"
        try:
            found = graphs_of_file(model_path, is_propagated=is_propagated).node_data
        except ShardyError as error:
            return _package.NodeDataProviderResult(error=str(error))
        overlays = [by_graph[graph_id] for by_graph in found.values() if graph_id in by_graph]
        return _package.NodeDataProviderResult(result=[to_package_node_data(each) for each in overlays])


@without_collection()
def _converted(path: str, *, is_propagated: bool) -> dict[str, list[Any]]:
    return {"graphs": to_package_graphs(graphs_of_file(path, is_propagated=is_propagated).graphs)}
