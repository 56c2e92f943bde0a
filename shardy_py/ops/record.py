"""Ops as plain records, from which maps, rules and costs are computed.

Not here: records of xDSL ops (`mlir/record.py`) and HLO instructions (`hlo/text/record.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from shardy_py.base.errors import InternalError, ShardyError
from shardy_py.base.records import dataclass

Attributes = Mapping[str, Any]
"""Properties and attributes by their MLIR names, as plain values: each op has its own."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """A ranked tensor type: sizes (None: dynamic) and the element type in MLIR's spelling, such as "f32"."""

    shape: tuple[int | None, ...]
    element: str = "f32"

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


def ranked(tensor: TensorType | None) -> TensorType:
    """Returns the type of a ranked tensor. Raises `InternalError` for other values."""
    if tensor is None:
        raise InternalError("expected a ranked tensor, got a value of another type")
    return tensor


@dataclass(frozen=True, slots=True)
class OpRecord:
    """One op, independent of its place in a program.

    name: as in MLIR, "stablehlo.add".
    operands, results: their types; None for other types than ranked tensors (tokens, tuples).
    attributes: properties and attributes under their MLIR names, as plain values (see
        docs/design/architecture.md, "The op record").
    """

    name: str
    operands: tuple[TensorType | None, ...]
    results: tuple[TensorType | None, ...]
    attributes: Attributes = field(default_factory=dict[str, object])

    @property
    def is_static(self) -> bool:
        """Returns whether no tensor has a dynamic dimension."""
        return not any(None in tensor.shape for tensor in (*self.operands, *self.results) if tensor)


@contextmanager
def matching_attributes(record: OpRecord) -> Generator[None]:
    """Reports attributes that do not match the op's types.

    Maps assume a verified op: these errors are mistakes of the input that no verifier reports.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError) as error:
        detail = f": {error}" if isinstance(error, ValueError) else ""
        raise ShardyError(f"'{record.name}' op has attributes that do not match its types{detail}") from error
