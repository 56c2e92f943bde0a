"""Indices of ops whose operand is padded: they are clamped to the tensor without padding.

Not here: which ops have indices (`padded_ops.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, resized, shape_of
from shardy_py.mlir.text.dense import element_size


def clamped(build: StablehloBuilder, indices: Value, last: Sequence[int], vector: int) -> Value:
    """`indices` clamped from 0 to `last`, which has an entry for each element of an index vector.

    vector: the dimension of index vectors; the rank of `indices` if each index is one.
    """
    shape, data = shape_of(indices), _data(indices, last)
    if vector < len(shape):
        high = build.broadcast(build.dense(resized(indices, (len(last),)), data), shape, (vector,))
    else:
        high = build.broadcast(build.dense(resized(indices, ()), data), shape)
    zero = build.broadcast(build.integer(0, element_of(indices)), shape)
    return build.one("clamp", (zero, indices, high), indices.type)


def limited(build: StablehloBuilder, indices: Value, last: Sequence[int], vector: int) -> Value:
    """`indices` limited to `last`, as Shardy does since JAX 0.12; those below 0 are left to the op."""
    shape, data = shape_of(indices), _data(indices, last)
    if vector < len(shape):
        high = build.broadcast(build.dense(resized(indices, (len(last),)), data), shape, (vector,))
    else:
        high = build.dense(indices.type, data)
    return build.binary("minimum", indices, high)


def _data(indices: Value, last: Sequence[int]) -> bytes:
    """The data of a constant with the element type of `indices`; values are at most the greatest of that."""
    element: Any = element_of(indices)
    highest = (1 << element.width.data - (not str(element).startswith("ui"))) - 1
    return b"".join(min(entry, highest).to_bytes(element_size(element), "little") for entry in last)
