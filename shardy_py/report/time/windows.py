"""The seconds of a product on a TPU: its windows are read and written while others are computed.

The result is computed window by window, each from a window of the left and of the right operand; what is
summed may be in several windows, too. The rule is that of XLA:TPU, by the windows (`window_config`) and the
cycles in its programs, compiled without a device:

- A step takes the longer of computing its window, and of reading the operands of the next one that change and
  writing a result that is done. Each window that is read or written has a latency. Matrix units take whole
  tiles of their lanes: of what is summed, and of columns, those for all positions of a kernel together.
- The first windows are waited for, and the last result is written after all.
- A result that is narrower than the sums (of f32) is written beside these. If what is summed is in several
  windows, vector units take the sums out after the last: they store one register a cycle.
- Windows are twice on the chip, so that one is filled while the other is used, in what one op gets of its
  memory. They are chosen so that all takes least time.
- An operand that fits into the memory on the chip is fetched before, and is there once: the larger one, but
  of a convolution the kernel. What a convolution makes stays there if it fits, as it is copied to another
  order of dimensions after.

>>> from shardy_py.hardware import hardware_of
>>> square = MatrixProduct(1, 2048, 2048, 2048, 2, 2)
>>> for name in ("tpu-v5e", "tpu-v6e"):
...     device = hardware_of(name)
...     print(f"{product_seconds(square, device.peak_flops, device) * 1e6:.1f}")
95.2
31.9
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, inf, isqrt
from typing import TYPE_CHECKING, NamedTuple

from shardy_py.base.deferred import np
from shardy_py.base.session import SESSION
from shardy_py.hardware import Hardware, WindowCosts
from shardy_py.report.time.matrix_products import MatrixProduct
from shardy_py.xla.buffers.chips import left_in_vmem, values_in_vmem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    """One for each choice of windows, along the dimensions that it depends on."""
_LANES = 128
"""The columns of which windows have multiples."""
_SUM_BYTES, _COPY_BYTES = 4, 2
"""The bytes of a sum, and of an element of the left operand as matrix units take it."""
_COPIED_FROM = 256
"""The columns, at all positions of a kernel, above which a window of the left operand is copied to bf16: it
is read several times."""
_MOST_PARTS, _MOST_TOGETHER = 40, 8
"""The numbers of windows that are tried along a dimension of a matrix, and along matrices, at most."""
_KEPT_BYTES = 1 << 20
"""The memory that ops leave of that which they get: in 503 programs for v5e, v5p and v6e, 1 MiB or more."""
_STORE, _ADD, _NARROW = 4, 1, 1
"""The operations of vector units in whose time they store a register, add to it, and narrow it: all of their
four units that compute wait for the one that stores."""


class _Placed(NamedTuple):
    """The operands and results of a product that are in the memory on the chip before and after it."""

    left: bool
    right: bool
    result: bool


class _Chosen(NamedTuple):
    """Arrays of choices: in how many products, rows, columns and summed elements windows are, and steps."""

    batches: int
    rows: Numbers
    columns: Numbers
    depth: Numbers
    around: int
    down: Numbers
    across: Numbers
    deep: Numbers


class _Rates(NamedTuple):
    """The flop and the operations of vector units of a core in a second, and the bytes that windows have."""

    flops: float
    vector_flops: float
    room: int


def product_seconds(one: MatrixProduct, rate: float, hardware: Hardware) -> float:
    """Returns the seconds of a product; 0 if no windows fit. rate: flop/s of its element type."""
    costs, room = hardware.windows, hardware.scoped_bytes - _KEPT_BYTES
    if costs is None or room <= 0:
        return 0.0
    rates = _Rates(rate / costs.cores, hardware.vector_flops / costs.cores, room)
    return _shared(one, rates, costs, _placed(one, hardware))


def _placed(one: MatrixProduct, hardware: Hardware) -> _Placed:
    """The operand that XLA fetches to the chip before, and the result that stays there to be copied."""
    room, sizes = left_in_vmem(hardware), [one.left_bytes, one.right_bytes]
    order = (1, 0) if one.is_image or sizes[1] > sizes[0] else (0, 1)
    fetched = next((place for place in order if sizes[place] < room), None)
    stays = one.is_image and one.result_bytes < values_in_vmem(hardware)
    return _Placed(fetched == 0, fetched == 1, stays)


@SESSION.cache(4096)
def _shared(one: MatrixProduct, rates: _Rates, costs: WindowCosts, placed: _Placed) -> float:
    """The seconds on all cores, which share the matrices, their rows or their columns."""
    return min(
        filter(None, (_least(each, rates, costs, placed) for each in _shares(one, costs.cores))), default=0.0
    )


def _shares(one: MatrixProduct, cores: int) -> Iterator[MatrixProduct]:
    """The product that each core computes, by what they share."""
    if cores == 1:
        yield one
        return
    if one.batches > 1:
        yield one._replace(batches=ceil(one.batches / cores))
    for dimension, unit in (("rows", one.unit), ("columns", _LANES)):
        size: int = getattr(one, dimension)
        if size > unit:
            yield one._replace(**{dimension: ceil(size / cores / unit) * unit})


def _least(one: MatrixProduct, rates: _Rates, costs: WindowCosts, placed: _Placed) -> float:
    """The seconds on a core with the best choice of windows; 0 if none fit."""
    least = inf
    for chosen in _choices(one):
        fits = _held(one, chosen, placed, costs.cores) <= rates.room
        least = min(least, float(np.where(fits, _seconds(one, chosen, rates, costs, placed), inf).min()))
    return 0.0 if least == inf else least


def _choices(one: MatrixProduct) -> Iterator[_Chosen]:
    """All choices of windows, by that along matrices."""
    units = (one.unit, _LANES, _LANES)
    sizes = (one.rows, one.columns, one.depth)
    tried = (_windows(size, unit, _MOST_PARTS) for size, unit in zip(sizes, units, strict=True))
    rows, columns, depth = np.ix_(*(np.array(each, float) for each in tried))
    down, across, deep = np.ceil(one.rows / rows), np.ceil(one.columns / columns), np.ceil(one.depth / depth)
    for together in _windows(one.batches, 1, _MOST_TOGETHER):
        around = ceil(one.batches / together)
        yield _Chosen(together, rows, columns, depth, around, down, across, deep)


def _windows(size: int, unit: int, most: int) -> list[int]:
    """The sizes of windows along a dimension: multiples of a unit, the least of each number of windows.

    Of many, those of at most so many units, and of so many windows.
    """
    count = ceil(size / unit)
    few = range(1, min(isqrt(count) + 1, most) + 1)
    return sorted({each * unit for parts in few for each in (min(parts, count), ceil(count / parts))})


def _held(one: MatrixProduct, chosen: _Chosen, placed: _Placed, cores: int) -> Numbers:
    """The bytes of windows on the chip: a result that is one window on all cores is there once."""
    left = chosen.batches * (chosen.rows + one.halo) * chosen.depth
    right = chosen.batches * chosen.depth * chosen.columns * one.positions
    made = chosen.batches * chosen.rows * chosen.columns
    several = chosen.around * chosen.down * chosen.across * cores > 1
    given = 2 * one.given_bytes
    copied = _COPY_BYTES * (chosen.columns * one.positions > _COPIED_FROM)
    read = left * (_COPY_BYTES if placed.left else given + copied)
    read = read + right * (_COPY_BYTES if placed.right else given)
    is_narrow = one.made_bytes < _SUM_BYTES
    return read + made * (one.made_bytes * (1 + several) * (not placed.result) + _SUM_BYTES * is_narrow)


def _seconds(
    one: MatrixProduct, chosen: _Chosen, rates: _Rates, costs: WindowCosts, placed: _Placed
) -> Numbers:
    """The seconds of each choice of windows; of steps, columns change last, and what is summed first."""
    bandwidth, is_narrow = costs.bytes_per_second / costs.cores, one.made_bytes < _SUM_BYTES
    given = chosen.batches * chosen.depth * one.given_bytes
    left = (given * (chosen.rows + one.halo) / bandwidth + costs.read_seconds) * (not placed.left)
    right = (given * chosen.columns * one.positions / bandwidth + costs.read_seconds) * (not placed.right)
    made = chosen.batches * chosen.rows * chosen.columns
    sums = made * _SUM_BYTES * is_narrow / bandwidth
    written = (
        sums + is_narrow * costs.read_seconds
        if placed.result
        else sums + made * one.made_bytes / bandwidth + costs.write_seconds
    )
    tiles = _tiles(chosen.depth, costs.lanes) * _tiles(chosen.columns * one.positions, costs.lanes)
    step = 2.0 * chosen.batches * chosen.rows * tiles / rates.flops + costs.step_seconds
    is_summed, is_high = chosen.deep > 1, chosen.down > 1
    last = step + made * is_summed * (_STORE + _ADD + _NARROW * is_narrow) / rates.vector_flops
    columns = chosen.around * chosen.across
    blocks = columns * chosen.down
    both = left + right
    steps = blocks * (chosen.deep - 1) * np.maximum(step, both)
    steps = steps + (blocks - columns) * np.maximum(last, left + right * is_summed + written)
    again = left * (is_summed | is_high)
    steps = steps + (columns - chosen.around) * np.maximum(last, right + again + written)
    steps = steps + (chosen.around - 1) * np.maximum(last, both + written)
    return both + steps + last + written


def _tiles(sizes: Numbers, lanes: int) -> Numbers:
    """Sizes up to whole tiles of matrix units."""
    return -(-sizes // lanes) * lanes
