"""Inserts what replaces padding: selects between a value and a neutral element, and the scalars for it.

Which padding must be replaced is listed in `partition/masks.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, Operation

from shardy_py.partition.masks import Fill
from shardy_py.passes.stablehlo_builder import StablehloBuilder, Value, shape_of
from shardy_py.sharding import TensorSharding
from shardy_py.text.builtin_attributes import is_complex, is_integer
from shardy_py.text.dense import element_size, store_integer
from shardy_py.text.float_formats import FORMATS
from shardy_py.text.type_reader import ranked_tensor

_I32_SIZES = 1 << 31


def scalar_data(fill: Fill, element: Any) -> bytes:
    """The bytes of a scalar: of LOWEST and HIGHEST the infinity of a float, or what is nearest to it.

    fill: any but INITIAL, which is no constant.
    """
    size = element_size(element)
    if fill is Fill.ZERO:
        return bytes(size)
    if is_complex(element):
        half = element.element_type
        return scalar_data(fill, half) + scalar_data(Fill.ZERO if fill is Fill.ONE else fill, half)
    if not is_integer(element):
        value = {Fill.ONE: 1.0, Fill.LOWEST: float("-inf"), Fill.HIGHEST: float("inf")}[fill]
        return FORMATS[element.name].encode(value).to_bytes(size, "little")
    width = element.width.data
    has_sign = width > 1 and not str(element).startswith("ui")
    ones = (1 << width) - 1
    highest = ones >> has_sign
    bits = {
        Fill.ONE: 1,
        Fill.LOWEST: highest + 1 if has_sign else 0,
        Fill.HIGHEST: highest,
        Fill.ALL_ONES: ones,
        Fill.OUT_OF_BOUNDS: ones,
    }[fill]
    return store_integer(bits, element)


def scalar(build: StablehloBuilder, fill: Fill, element: Attribute) -> Value:
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
