"""Inserts what replaces padding: selects between a value and a neutral element, and the scalars for it.

Which padding must be replaced is listed in `localize/arithmetic/masks.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, Operation

from shardy_py.base.errors import ShardyError
from shardy_py.localize.arithmetic.masks import Fill
from shardy_py.localize.identities import encoded
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, shape_of
from shardy_py.mlir.text.dense import element_size
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.ops import Identity
from shardy_py.sharding import TensorSharding

_I32_SIZES = 1 << 31


def scalar_data(fill: Identity | Fill, element: Attribute) -> bytes:
    """The bytes of a scalar; `fill`: any but INITIAL, which is not constant."""
    if fill is Identity.ZERO:
        return bytes(element_size(element))  # also of types without a zero, whose values nothing reads
    # The greatest index is out of bounds.
    data = encoded(fill if isinstance(fill, Identity) else Identity.HIGHEST, element)
    if data is None:
        raise ShardyError.unsupported(f"masking padding of type {element}", remedy="use even dimensions")
    return data


def scalar(build: StablehloBuilder, fill: Identity | Fill, element: Attribute) -> Value:
    """A constant with `scalar_data`."""
    return build.dense(ranked_tensor((), element), scalar_data(fill, element))


def masked(
    value: Value,
    shape: Sequence[int],
    dimensions: Sequence[int],
    fill: Value,
    before: Operation,
    sharding: TensorSharding | None,
) -> Value:
    """`value` with the scalar `fill` beyond `shape` in `dimensions`; itself if nothing is beyond it.

    %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
    %1 = stablehlo.compare LT, %0, 7
    %2 = stablehlo.select %1, %value, %fill
    """
    sizes = shape_of(value)
    build = StablehloBuilder(before, sharding)
    inside: Value | None = None
    for dimension in sorted(dimensions):
        if shape[dimension] == sizes[dimension]:
            continue
        index_type = i32 if sizes[dimension] < _I32_SIZES else i64
        index = build.iota(sizes, dimension, index_type)
        limit = build.broadcast(build.integer(shape[dimension], index_type), sizes)
        below = build.compare("LT", index, limit)
        inside = below if inside is None else build.binary("and", inside, below)
    if inside is None:
        return value
    return build.select(inside, value, build.broadcast(fill, sizes))
