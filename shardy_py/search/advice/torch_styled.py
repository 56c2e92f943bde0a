"""Styles of the linear layers that one axis shards: those between which features stay sharded.

    up -> gelu -> down      "up": ColwiseParallel(), "down": RowwiseParallel()
    up -> norm -> down      "up": ColwiseParallel(output_layouts=Replicate())

Not here: the layers and what reads them (`torch_layers.py`), which are sharded, and the code
(`shardy_py.search.suggest`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from shardy_py.base.records import dataclass
from shardy_py.search.advice.torch_layers import TorchLayer, TorchScores

COLUMNS, ROWS = "ColwiseParallel", "RowwiseParallel"
_WHOLE = {COLUMNS: "output_layouts=Replicate()", ROWS: "input_layouts=Replicate()"}
"""The layout that a layer without a partner returns or takes, where its style has a part as default."""


@dataclass(frozen=True)
class StyledLayers:
    """Layers that one axis shards. columns, rows: by path; kept: those that return, or take, parts.

    distributed: those of the columns whose parts are DTensors. scored: those that are scores of a loss.
    """

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    kept: frozenset[str]
    distributed: frozenset[str]
    scored: frozenset[str] = frozenset()

    def text(self, path: str) -> str:
        """Returns the style of a layer."""
        name = COLUMNS if path in self.columns else ROWS
        given = [] if path in self.kept else [_WHOLE[name]]
        given += ["use_local_output=False"] if path in self.distributed else []
        return f"{name}({', '.join(given)})"

    def is_met(self, path: str, others: Iterable[str], layers: Mapping[str, TorchLayer]) -> bool:
        """Returns whether the features of a layer are those of others: it reads them, or both are read."""
        return any(not self._features(path, layers).isdisjoint(self._features(p, layers)) for p in others)

    def _features(self, path: str, layers: Mapping[str, TorchLayer]) -> set[str]:
        """The rows that read the parts that a layer returns or takes."""
        return {*layers[path].readers} if path in self.columns else {path}


def styled(
    columns: Sequence[str],
    rows: Sequence[str],
    layers: Mapping[str, TorchLayer],
    size: int,
    scores: Mapping[str, TorchScores] | None = None,
) -> StyledLayers:
    """Returns layers with those between which features stay sharded: the largest set with all partners.

    size: of the axis. scores: those whose classes may be sharded. Parts that are viewed are DTensors, which
    do not mix with plain tensors.
    """
    kept = {
        path
        for path in columns
        if not layers[path].ends and layers[path].parts % size == 0 and {*layers[path].readers} <= {*rows}
    }
    while True:
        distributed = {path for path in kept if layers[path].is_viewed}
        distributed |= {path for path in kept if not distributed.isdisjoint(layers[path].partners)}
        lost = {path for path in kept if not kept.issuperset(layers[path].partners)}
        lost |= {path for path in distributed if not all(p in distributed for p in layers[path].partners)}
        taken = {reader for path in kept for reader in layers[path].readers}
        lost |= {
            path
            for path in kept
            if any(path not in kept or path in lost for path in _sources(layers[path].readers, layers))
        }
        if not lost:
            classes = {path: (scores or {}).get(path, TorchScores()).classes for path in columns}
            scored = frozenset(path for path, count in classes.items() if count and count % size == 0)
            held = scored | kept | taken
            return StyledLayers(tuple(columns), tuple(rows), held, scored | distributed, scored)
        kept -= lost


def _sources(readers: Iterable[str], layers: Mapping[str, TorchLayer]) -> list[str]:
    """The layers whose features these read."""
    read = {*readers}
    return [path for path, layer in layers.items() if not read.isdisjoint(layer.readers)]
