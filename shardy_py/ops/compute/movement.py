"""Ops that move elements: transposes, slices, padding, concatenation, broadcasts, reshapes, iota.

Results are views of the operands where numpy has them. Shapes are those of the arrays, except where only the
result's type has them.

Not here: offsets that differ between lanes (`indexed.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from math import prod

import numpy as np

from shardy_py.base.arrays import AnyDtype
from shardy_py.base.deferred import MOST_DIMENSIONS
from shardy_py.base.errors import ShardyError
from shardy_py.base.session import SESSION
from shardy_py.ops import OpRecord
from shardy_py.ops.compute.lanes import Array, Compute, behind_lanes, dtype_of, in_lanes, lanes_of

_KEPT = 1 << 16
"""The longest coordinates that are kept for the next op that asks for them."""
_SMALL = 1 << 14
"""The number of elements up to which a copy is faster than numpy's view with repetitions."""
_MAX_ELEMENTS: ContextVar[int] = ContextVar("max_elements", default=1 << 48)
"""The most elements of a tensor whose shape is computed at run time."""


@contextmanager
def limited(elements: int) -> Generator[None]:
    """Limits the elements of tensors whose shapes are computed at run time."""
    token = _MAX_ELEMENTS.set(elements)
    try:
        yield
    finally:
        _MAX_ELEMENTS.reset(token)


def check_elements(shape: Sequence[int], limit: int | None = None) -> None:
    """Raises `ShardyError` if a tensor of that shape exceeds `limit` elements, or the most dimensions.

    limit: None: that of the run.
    """
    if len(shape) > MOST_DIMENSIONS:
        raise ShardyError(f"has {len(shape)} dimensions in one tensor, more than {MOST_DIMENSIONS}")
    count, limit = prod(shape), _MAX_ELEMENTS.get() if limit is None else limit
    if count > limit:
        raise ShardyError(
            f"has {count} elements in one tensor, more than the limit of {limit}; max-elements raises it"
        )


def reverse(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "reverse"."""
    return np.flip(operand, behind_lanes(record.attributes["dimensions"]))


def transpose(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "transpose"."""
    return operand.transpose(0, *behind_lanes(record.attributes["permutation"]))


def slice_(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "slice"."""
    names = ("start_indices", "limit_indices", "strides")
    starts, limits, strides = (record.attributes[name] for name in names)
    return operand[(slice(None), *map(slice, starts, limits, strides))]


def real_dynamic_slice(record: OpRecord, operand: Array, *bounds: Array) -> Array:
    """The slice with bounds and strides that are operands."""
    ranges = [slice(None)]
    for size, *bound in zip(operand.shape[1:], *(sizes_in(record, b) for b in bounds), strict=True):
        start, limit, stride = bound
        if not 0 <= start <= limit <= size or stride < 1:
            expected, got = f"a slice of {size} elements", f"{start}:{limit}:{stride}"
            raise ShardyError.unexpected(f"'{record.name}' op bounds", expected=expected, got=got)
        ranges.append(slice(start, limit, stride))
    return as_declared(record, operand[tuple(ranges)])


def concatenate(record: OpRecord, *operands: Array) -> Array:
    """StableHLO's specification, "concatenate"."""
    lanes = lanes_of(*operands)
    return np.concatenate([in_lanes(o, lanes) for o in operands], record.attributes["dimension"] + 1)


def pad(record: OpRecord, operand: Array, padding_value: Array) -> Array:
    """StableHLO's specification, "pad"."""
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return padded(operand, padding_value, *(record.attributes[name] for name in names))


def dynamic_pad(record: OpRecord, operand: Array, padding_value: Array, *amounts: Array) -> Array:
    """StableHLO's specification, "dynamic_pad"."""
    low, high, interior = (sizes_in(record, amount) for amount in amounts)
    if min(interior, default=0) < 0:
        raise ShardyError(f"'{record.name}' op has a negative interior padding: {interior}")
    return as_declared(record, padded(operand, padding_value, low, high, interior))


def padded(
    operand: Array, value: Array, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> Array:
    """Returns the operand with `value` (lanes,) around and between elements; negative amounts drop some."""
    shape, source, target = _padding(operand.shape[1:], tuple(low), tuple(high), tuple(interior))
    check_elements(shape)  # of windows, only the result's type is checked before
    lanes = lanes_of(operand, value)
    result: Array = np.empty((lanes, *shape), operand.dtype)
    result[...] = value.reshape(-1, *(1,) * len(shape))
    result[target] = operand[source]
    return result


Slices = tuple[slice, ...]


@SESSION.cache(256)
def _padding(
    sizes: tuple[int, ...], low: tuple[int, ...], high: tuple[int, ...], interior: tuple[int, ...]
) -> tuple[tuple[int, ...], Slices, Slices]:
    """Returns the padded shape, the elements of the operand that stay, and where they are in the result."""
    steps = [amount + 1 for amount in interior]
    spaced = [(size - 1) * step + 1 if size else 0 for size, step in zip(sizes, steps, strict=True)]
    shape = tuple(sum(parts) for parts in zip(low, spaced, high, strict=True))
    if min(shape, default=0) < 0:
        raise ShardyError(f"padding by {low} and {high} leaves a negative size: {shape}")
    source, target = [slice(None)], [slice(None)]
    for start, step, size, full in zip(low, steps, sizes, shape, strict=True):
        first = max(0, -(start // step))
        last = min(size, -(-(full - start) // step))
        source.append(slice(first, max(first, last)))
        place = start + first * step
        target.append(slice(place, max(place, start + (last - 1) * step + 1), step))
    return shape, tuple(source), tuple(target)


def broadcast_in_dim(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "broadcast_in_dim"."""
    (result,) = record.results
    assert result is not None
    dimensions: tuple[int, ...] = record.attributes["broadcast_dimensions"]
    given = dict(zip(dimensions, operand.shape[1:], strict=True))
    shape = [given.get(d) if size is None else size for d, size in enumerate(result.shape)]
    if None in shape:
        raise ShardyError(
            f"'{record.name}' op has a dynamic result dimension that no operand dimension gives"
        )
    return spread(operand, dimensions, [size or 0 for size in shape])


def dynamic_broadcast_in_dim(record: OpRecord, operand: Array, output_dimensions: Array) -> Array:
    """StableHLO's specification, "dynamic_broadcast_in_dim"."""
    shape = shape_in(record, output_dimensions)
    dimensions: tuple[int, ...] = record.attributes["broadcast_dimensions"]
    for dimension, size in zip(dimensions, operand.shape[1:], strict=True):
        if size not in (1, shape[dimension]):
            what = f"'{record.name}' op result shape"
            raise ShardyError.unexpected(what, expected=f"one for {operand.shape[1:]}", got=f"{shape}")
    return as_declared(record, spread(operand, dimensions, shape))


def broadcast(record: OpRecord, operand: Array) -> Array:
    """The operand, repeated along new major dimensions."""
    sizes: tuple[int, ...] = record.attributes["broadcast_sizes"]
    rank = len(sizes) + operand.ndim - 1
    return spread(operand, range(len(sizes), rank), (*sizes, *operand.shape[1:]))


def spread(operand: Array, dimensions: Sequence[int], shape: Sequence[int]) -> Array:
    """Returns an array of that shape, in which operand dimension i is `dimensions[i]`."""
    order, sizes = _spreading(tuple(dimensions), operand.shape[1:], len(shape))
    if order:
        operand = operand.transpose(order)
    lanes = len(operand)
    operand = operand.reshape(lanes, *sizes)
    if lanes * prod(shape) > _SMALL:
        return np.broadcast_to(operand, (lanes, *shape))
    result: Array = np.empty((lanes, *shape), operand.dtype)
    result[...] = operand
    return result


@SESSION.cache(1024)
def _spreading(
    dimensions: tuple[int, ...], shape: tuple[int, ...], rank: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the order of axes of an operand in the result, () if they stay, and its sizes in its rank."""
    given = dict(zip(dimensions, shape, strict=True))
    order = sorted(range(len(dimensions)), key=lambda axis: dimensions[axis])
    moved = () if order == sorted(order) else (0, *behind_lanes(order))
    return moved, tuple(given.get(dimension, 1) for dimension in range(rank))


def reshape(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "reshape"."""
    (result,) = record.results
    assert result is not None
    if None not in result.shape:
        return operand.reshape(len(operand), *result.shape)
    known = prod(size for size in result.shape if size is not None)
    rest, left = divmod(prod(operand.shape[1:]), known) if known else (0, 0)
    if left or result.shape.count(None) != 1:
        raise ShardyError(
            f"'{record.name}' op has a result whose dynamic sizes do not follow from the operand"
        )
    return operand.reshape(len(operand), *(rest if size is None else size for size in result.shape))


def dynamic_reshape(record: OpRecord, operand: Array, output_shape: Array) -> Array:
    """StableHLO's specification, "dynamic_reshape"."""
    shape = shape_in(record, output_shape)
    if prod(shape) != prod(operand.shape[1:]):
        expected = f"one with {prod(operand.shape[1:])} elements"
        raise ShardyError.unexpected(f"'{record.name}' op result shape", expected=expected, got=f"{shape}")
    return as_declared(record, operand.reshape(len(operand), *shape))


def iota(record: OpRecord) -> Array:
    """StableHLO's specification, "iota"."""
    (result,) = record.results
    assert result is not None
    return counted(
        [size or 0 for size in result.shape], record.attributes["iota_dimension"], dtype_of(result)
    )


def dynamic_iota(record: OpRecord, output_shape: Array) -> Array:
    """StableHLO's specification, "dynamic_iota"."""
    shape = shape_in(record, output_shape)
    result = counted(shape, record.attributes["iota_dimension"], dtype_of(record.results[0]))
    return as_declared(record, result)


def counted(shape: Sequence[int], dimension: int, dtype: AnyDtype) -> Array:
    """Returns the coordinates along a dimension, for one lane; wrapped or rounded to the type."""
    count = _counted if shape[dimension] <= _KEPT else _counted.__wrapped__
    return count(tuple(shape), dimension, dtype)


@lru_cache(maxsize=64)
def _counted(shape: tuple[int, ...], dimension: int, dtype: AnyDtype) -> Array:
    values: Array = np.arange(shape[dimension]).astype(dtype)
    return spread(values[None], (dimension,), shape)


def get_dimension_size(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "get_dimension_size"."""
    return np.full(1, operand.shape[record.attributes["dimension"] + 1], np.int32)


def set_dimension_size(record: OpRecord, operand: Array, size: Array) -> Array:
    """The first `size` elements along a dimension; with a static result type, the operand."""
    (result,) = record.results
    assert result is not None
    dimension: int = record.attributes["dimension"]
    if result.shape[dimension] is not None:
        return operand
    (given,) = shape_in(record, size[:, None])
    if given > operand.shape[dimension + 1]:
        expected = f"at most {operand.shape[dimension + 1]}"
        raise ShardyError.unexpected(f"'{record.name}' op size", expected=expected, got=f"{given}")
    return operand[(*(slice(None),) * (dimension + 1), slice(0, given))]


def sizes_in(record: OpRecord, operand: Array) -> tuple[int, ...]:
    """Returns the sizes or offsets that an operand (lanes, count) holds.

    Raises:
        ShardyError: they differ between lanes, so that shapes would.
    """
    if len(operand) > 1 and (operand != operand[:1]).any():
        raise ShardyError(f"'{record.name}' op has sizes that differ between devices")
    return tuple(map(int, operand[0]))


def shape_in(record: OpRecord, operand: Array) -> tuple[int, ...]:
    """Returns the shape that an operand (lanes, rank) holds.

    Raises:
        ShardyError: sizes differ between lanes, are negative, or exceed the limit of the run.
    """
    shape = sizes_in(record, operand)
    if min(shape, default=0) < 0:
        raise ShardyError(f"'{record.name}' op has a negative size: {shape}")
    check_elements([size or 1 for size in shape])
    return shape


def as_declared(record: OpRecord, result: Array) -> Array:
    """Returns the result of an op whose shape was computed at run time.

    Raises:
        ShardyError: the shape does not fit the type of the result.
    """
    (tensor,) = record.results
    assert tensor is not None
    if any(size not in (None, got) for size, got in zip(tensor.shape, result.shape[1:], strict=True)):
        expected = "x".join("?" if size is None else str(size) for size in tensor.shape)
        got = "x".join(map(str, result.shape[1:]))
        raise ShardyError.unexpected(f"'{record.name}' op result shape", expected=expected, got=got)
    return result


COMPUTE: dict[str, Compute] = {
    "stablehlo.broadcast": broadcast,
    "stablehlo.broadcast_in_dim": broadcast_in_dim,
    "stablehlo.concatenate": concatenate,
    "stablehlo.dynamic_broadcast_in_dim": dynamic_broadcast_in_dim,
    "stablehlo.dynamic_iota": dynamic_iota,
    "stablehlo.dynamic_pad": dynamic_pad,
    "stablehlo.dynamic_reshape": dynamic_reshape,
    "stablehlo.get_dimension_size": get_dimension_size,
    "stablehlo.iota": iota,
    "stablehlo.pad": pad,
    "stablehlo.real_dynamic_slice": real_dynamic_slice,
    "stablehlo.reshape": reshape,
    "stablehlo.reverse": reverse,
    "stablehlo.set_dimension_size": set_dimension_size,
    "stablehlo.slice": slice_,
    "stablehlo.transpose": transpose,
}
"""The function of each op."""
