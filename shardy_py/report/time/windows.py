"""The seconds of a product on a TPU: its windows are read while others are computed, but not the first ones.

The matrix units compute a window of the result from windows of the operands, while memory reads the next
ones; they wait for the first, and the last result is written after all. Windows fit into what one op gets of
the memory on the chip, and are chosen so that all takes least time: here of `_PARTS` of each dimension. If
what is summed is in several windows, partial sums are read again for each of them. Values of f32 are bf16 in
windows, unless both operands are too large for the memory on the chip: those are read as they are, at the
rate at which XLA:TPU takes two to be read. As the windows in the programs of XLA:TPU show (`window_config`),
compiled without a device.

>>> from shardy_py.hardware import hardware_of
>>> square = MatrixProduct(1, 2048, 2048, 2048, 2, 2)
>>> for name in ("tpu-v5e", "tpu-v6e"):
...     device = hardware_of(name)
...     print(f"{product_seconds(square, device.peak_flops, device) * 1e6:.1f}")
90.0
21.4
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import ceil, prod
from typing import NamedTuple

from shardy_py.hardware import Hardware
from shardy_py.indexing.layout import element_type
from shardy_py.ops import OpRecord
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.buffers.chips import left_in_vmem

_NUMBERS = "dot_dimension_numbers"
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
"""The numbers of windows along a dimension that are tried."""
_LANES, _SUBLANES = 128, 8
"""The columns and rows of which windows have multiples."""
_HELD_BYTES, _SUM_BYTES = 2, 4
"""The bytes of an element of an operand in a window, at most, and of a partial sum."""
_SUM_SLOTS = 4
"""The operations in whose time vector units write one sum: they have as many units that compute."""


class MatrixProduct(NamedTuple):
    """A product on one device: so many of matrices, with the bytes of elements of operands and result."""

    batches: int
    rows: int
    columns: int
    depth: int
    given_bytes: int
    made_bytes: int


def product_of(record: OpRecord, shape: tuple[int, ...], flops: float) -> MatrixProduct | None:
    """Returns the product of matrices that an op is on one device; None if it is none.

    shape: of its result there. flops: of it there, two for each point.
    """
    left, made = record.operands[0], record.results[0]
    if _NUMBERS not in record.attributes or left is None or made is None or not prod(shape):
        return None
    numbers = DotDimensions.of(record.attributes)
    batches = len(numbers.batching[0])
    first = left.rank - len(numbers.contracting[0])  # of the dimensions that are the right operand's
    sizes = (ceil(element_type(each.element).bits / 8) for each in (left, made))
    depth = ceil(flops / (2 * prod(shape)))
    return MatrixProduct(
        prod(shape[:batches]), prod(shape[batches:first]), prod(shape[first:]), depth, *sizes
    )


def product_seconds(one: MatrixProduct, rate: float, hardware: Hardware) -> float:
    """Returns the seconds of a product; 0 if no windows fit. rate: flop/s of its element type."""
    smaller = one.batches * one.depth * min(one.rows, one.columns) * one.given_bytes
    bandwidth, held = hardware.memory_bytes_per_second, min(one.given_bytes, _HELD_BYTES)
    if 0 < left_in_vmem(hardware) < smaller and hardware.window_bytes_per_second:
        bandwidth, held = hardware.window_bytes_per_second, one.given_bytes
    sums = hardware.vector_flops / _SUM_SLOTS
    return _least(one, rate, bandwidth, held, sums, hardware.scoped_bytes)


@lru_cache(maxsize=4096)
def _least(one: MatrixProduct, rate: float, bandwidth: float, held: int, sums: float, room: int) -> float:
    """The seconds with the best choice of windows.

    held: the bytes of an element of an operand in a window. sums: partial ones a second. room: bytes for
    windows.
    """
    return min(_seconds(one, rate, bandwidth, held, sums, room), default=0.0)


def _seconds(
    one: MatrixProduct, rate: float, bandwidth: float, held: int, sums: float, room: int
) -> Iterator[float]:
    """The seconds with each choice of windows."""
    given = one.given_bytes
    for depth, width, height in product(
        _windows(one.depth, _LANES), _windows(one.columns, _LANES), _windows(one.rows, _SUBLANES)
    ):
        across, down, deep = ceil(one.columns / width), ceil(one.rows / height), ceil(one.depth / depth)
        left, right, made = height * depth, depth * width, height * width
        is_summed = deep > 1
        kept = left * (1 + (is_summed or down > 1)) + right * (1 + (is_summed or across > 1))
        kept = kept * held + made * (2 * min(one.made_bytes, held) + _SUM_BYTES * is_summed)
        if kept > room:
            continue
        steps = across * down * deep
        if is_summed:
            read = steps * (left + right)
        else:  # the windows of one side are read again for each of the other
            rows_first = down * (left + right * across * (across > 1)) + right * (across == 1)
            columns_first = across * (right + left * down * (down > 1)) + left * (down == 1)
            read = min(rows_first, columns_first)
        first, last = (left + right) * given, made * one.made_bytes
        moved = one.batches * (read * given + across * down * made * one.made_bytes) - first - last
        computed = 2.0 * made * depth / rate + is_summed * made / sums
        busy = max(one.batches * steps * computed, moved / bandwidth)
        yield busy + (first + last) / bandwidth


def _windows(size: int, unit: int) -> list[int]:
    """The sizes of windows along a dimension: multiples of a unit."""
    return sorted({ceil(ceil(size / parts) / unit) * unit for parts in _PARTS})
