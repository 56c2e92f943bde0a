"""Ops as plain records: what the maps, rules and costs of an op are computed from.

Not here: how a record is made of an xDSL op (`graph/record.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TensorType:
    """A ranked tensor type: sizes (None: dynamic) and the element type as MLIR spells it, "f32" say."""

    shape: tuple[int | None, ...]
    element: str = "f32"

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class OpRecord:
    """One op without its place in a program.

    name: as in MLIR, "stablehlo.add".
    operands, results: their types; None for what is not a ranked tensor (tokens, tuples).
    attributes: properties and attributes under their MLIR names, as plain values (see
        docs/design/architecture.md, "The op record").
    """

    name: str
    operands: tuple[TensorType | None, ...]
    results: tuple[TensorType | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
