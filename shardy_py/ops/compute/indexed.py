"""Ops that read or replace slices at offsets that are operands: gathers, dynamic slices and updates.

Offsets are clamped so that slices stay inside. Slices are read through a view of all slices of the operand,
so that one indexing copies those of all lanes; offsets that lanes share make plain slices.

Not here: scatters (`scatter.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from shardy_py.base.errors import ShardyError
from shardy_py.base.session import SESSION
from shardy_py.ops import OpRecord
from shardy_py.ops.compute.lanes import Array, Compute, in_lanes, lanes_of, strided
from shardy_py.ops.compute.movement import as_declared, shape_in
from shardy_py.ops.dimensions import GatherDimensions, Pairs

Starts = Sequence[Array | None]
"""For each dimension, where slices start: (lanes, *batch); None: at 0."""
_FAR = 1 << 62


def offsets(indices: Array) -> Array:
    """Returns indices as signed integers; those past 2^62 as 2^62."""
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(_FAR))
    return indices.astype(np.intp, copy=False)


def clamped(indices: Array, last: int) -> Array:
    """Returns indices as signed integers in [0, last]."""
    return np.minimum(np.maximum(offsets(indices), 0), last)


def dynamic_slice(record: OpRecord, operand: Array, *starts: Array) -> Array:
    """StableHLO's specification, "dynamic_slice"."""
    sizes: tuple[int, ...] = record.attributes["slice_sizes"]
    if all(len(start) == 1 for start in starts):
        return operand[_shared_slice(operand, starts, sizes)]
    return slices_at(operand, _inside(operand, starts, sizes), sizes, ())


def dynamic_update_slice(record: OpRecord, operand: Array, update: Array, *starts: Array) -> Array:
    """StableHLO's specification, "dynamic_update_slice"."""
    lanes = lanes_of(operand, update, *starts)
    return write_slice(record, np.array(in_lanes(operand, lanes), order="C"), update, *starts)


def write_slice(record: OpRecord, target: Array, update: Array, *starts: Array) -> Array:
    """Does `dynamic_update_slice` in place, in a contiguous array with all lanes."""
    lanes, sizes = len(target), update.shape[1:]
    if all(len(start) == 1 for start in starts):
        target[_shared_slice(target, starts, sizes)] = update
    else:
        windows = all_slices(target, sizes, writeable=True)
        windows[(np.arange(lanes), *_inside(target, starts, sizes))] = in_lanes(update, lanes)
    return target


def _shared_slice(operand: Array, starts: Sequence[Array], sizes: Sequence[int]) -> tuple[slice, ...]:
    """Returns the slices along all axes at starts of one lane."""
    ranges = [slice(None)]
    for start, full, size in zip(starts, operand.shape[1:], sizes, strict=True):
        first = min(max(start.item(), 0), full - size)
        ranges.append(slice(first, first + size))
    return tuple(ranges)


def _inside(operand: Array, starts: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
    dimensions = zip(starts, operand.shape[1:], sizes, strict=True)
    return [clamped(start, full - size) for start, full, size in dimensions]


def all_slices(array: Array, sizes: Sequence[int], *, writeable: bool = False) -> Array:
    """Returns a view (lanes, *starts, *sizes) of all slices of these sizes."""
    starts = (full - size + 1 for full, size in zip(array.shape[1:], sizes, strict=True))
    strides = array.strides + array.strides[1:]
    return strided(array, (len(array), *starts, *sizes), strides, writeable=writeable)


def slices_at(operand: Array, starts: Starts, sizes: Sequence[int], batch: tuple[int, ...]) -> Array:
    """Returns slices (lanes, *batch, *sizes) of the operand, which start inside."""
    moved = [dimension for dimension, start in enumerate(starts) if start is not None]
    given = [start for start in starts if start is not None]
    if all(start.size == 1 for start in given):
        firsts = (0 if start is None else start.item() for start in starts)
        ranges = (slice(first, first + size) for first, size in zip(firsts, sizes, strict=True))
        found = operand[(slice(None), *ranges)]
        found = found.reshape(len(operand), *(1,) * len(batch), *sizes)
        return np.broadcast_to(found, (len(operand), *batch, *sizes))
    if given[0].shape[1:] != batch:
        given[0] = np.broadcast_to(given[0], (lanes_of(*given), *batch))
    kept = (slice(None if d in moved else size) for d, size in enumerate(sizes))
    operand = operand[(slice(None), *kept)]
    if all(sizes[dimension] == 1 for dimension in moved):
        found = _elements_at(operand, moved, given)
        if found is not None:
            return found.reshape(len(found), *batch, *sizes)
    # Slices of one element get no axis in the view: what remains of it is copied row by row.
    windows = [d for d, size in enumerate(sizes) if starts[d] is None or size != 1]
    shape = [operand.shape[d + 1] - sizes[d] + 1 for d in moved] + [sizes[d] for d in windows]
    strides = [operand.strides[d + 1] for d in (*moved, *windows)]
    lanes = lanes_of(*given)
    if len(operand) == 1:
        view = strided(operand[0], shape, strides)
        found = view[tuple(given)]
    else:
        view = strided(operand, (len(operand), *shape), (operand.strides[0], *strides))
        if lanes == 1:
            found = view[(slice(None), *(start[0] for start in given))]
        else:
            found = view[(np.arange(lanes).reshape(-1, *(1,) * len(batch)), *given)]
    return found.reshape(max(lanes, len(operand)), *batch, *sizes)


def _elements_at(operand: Array, moved: list[int], given: list[Array]) -> Array | None:
    """Returns elements or rows by `take`, which is faster; None if the operand's order prevents it."""
    if len(moved) == 1 and len(given[0]) == 1 and operand.ndim > 2:
        taken = operand.take(given[0][0], moved[0] + 1, mode="clip")
        rank = given[0].ndim - 1
        before = range(1, moved[0] + 1)
        batch = range(moved[0] + 1, moved[0] + 1 + rank)
        return taken.transpose(0, *batch, *before, *range(moved[0] + 1 + rank, taken.ndim))
    if moved != list(range(len(moved))) or not operand.flags.c_contiguous:
        return None
    shape, rest = operand.shape[1 : len(moved) + 1], operand.shape[len(moved) + 1 :]
    position = 0
    for size, start in zip(shape, given, strict=True):
        position = position * size + start
    if len(operand) > 1:
        lanes = np.arange(len(operand)).reshape(-1, *(1,) * (given[0].ndim - 1))
        position = position + lanes * prod(shape)
    return operand.reshape(-1, *rest).take(position, 0, mode="clip")


def gather(record: OpRecord, operand: Array, start_indices: Array) -> Array:
    """StableHLO's specification, "gather"."""
    return _gather(record, operand, start_indices, record.attributes["slice_sizes"])


def dynamic_gather(record: OpRecord, operand: Array, start_indices: Array, slice_sizes: Array) -> Array:
    """StableHLO's specification, "dynamic_gather"."""
    sizes = shape_in(record, slice_sizes)
    dropped = GatherDimensions.of(record.attributes).dropped
    for dimension, (size, full) in enumerate(zip(sizes, operand.shape[1:], strict=True)):
        if size > full or (dimension in dropped and size != 1):
            expected = "1" if dimension in dropped else f"at most {full}"
            what = f"'{record.name}' op slice size of dimension {dimension}"
            raise ShardyError.unexpected(what, expected=expected, got=f"{size}")
    return as_declared(record, _gather(record, operand, start_indices, sizes))


def _gather(record: OpRecord, operand: Array, start_indices: Array, sizes: tuple[int, ...]) -> Array:
    numbers = GatherDimensions.of(record.attributes)
    indices = index_vectors(start_indices, numbers.vector)
    starts: list[Array | None] = [None] * len(sizes)
    for number, dimension in enumerate(numbers.index_map):
        starts[dimension] = clamped(indices[..., number], operand.shape[dimension + 1] - sizes[dimension])
    batch = indices.shape[1:-1]
    add_batching(starts, numbers.vector, numbers.batched, batch)
    found = slices_at(operand, starts, sizes, batch)
    return _arrange(found, sizes, numbers.dropped, numbers.offsets, len(batch))


def _arrange(
    found: Array, sizes: tuple[int, ...], dropped: tuple[int, ...], offset_dims: tuple[int, ...], batch: int
) -> Array:
    """Returns slices (lanes, *batch, *sizes) without the dropped dimensions, in the result's order."""
    kept = [size for dimension, size in enumerate(sizes) if dimension not in dropped]
    found = found.reshape(*found.shape[: batch + 1], *kept)
    return found.transpose(result_order(offset_dims, batch))


@SESSION.cache(1024)
def result_order(window_dims: tuple[int, ...], batch: int) -> tuple[int, ...]:
    """Returns the axes of (lanes, *batch, *window) as ordered in a tensor whose dimensions `window_dims` hold
    the window.
    """
    rank = batch + len(window_dims)
    outer, inner = iter(range(1, batch + 1)), iter(range(batch + 1, rank + 1))
    return (0, *(next(inner if dimension in window_dims else outer) for dimension in range(rank)))


def index_vectors(indices: Array, index_vector_dim: int) -> Array:
    """Returns indices with the dimension of index vectors last: (lanes, *batch, count)."""
    if index_vector_dim == indices.ndim - 1:
        return indices[..., None]
    if index_vector_dim == indices.ndim - 2:
        return indices
    return np.moveaxis(indices, index_vector_dim + 1, -1)


def add_batching(
    starts: list[Array | None],
    index_vector_dim: int,
    batched: Pairs,
    batch: tuple[int, ...],
) -> None:
    """Adds the starts along batching dimensions: the position along a dimension of the indices."""
    for dimension, source in batched:
        axis = source - (source > index_vector_dim)
        shape = [1] * (len(batch) + 1)
        shape[axis + 1] = batch[axis]
        starts[dimension] = np.arange(batch[axis]).reshape(shape)


def torch_index_select(record: OpRecord, operand: Array, index: Array) -> Array:
    """Slices of one element along a dimension, with leading dimensions that both operands have."""
    along, shared = record.attributes["dim"], record.attributes["batch_dims"]
    sizes = [1 if d == along or d < shared else size for d, size in enumerate(operand.shape[1:])]
    starts: list[Array | None] = [None] * len(sizes)
    starts[along] = clamped(index, operand.shape[along + 1] - 1)
    batch = index.shape[1:]
    add_batching(starts, len(batch), tuple((d, d) for d in range(shared)), batch)
    found = slices_at(operand, starts, sizes, batch)
    before = tuple(range(shared, along))
    window = (*before, *range(along + len(batch) - shared, len(sizes) - 1 + len(batch) - shared))
    return _arrange(found, tuple(sizes), (*range(shared), along), window, len(batch))


COMPUTE: dict[str, Compute] = {
    "stablehlo.dynamic_gather": dynamic_gather,
    "stablehlo.dynamic_slice": dynamic_slice,
    "stablehlo.dynamic_update_slice": dynamic_update_slice,
    "stablehlo.gather": gather,
    "stablehlo.torch_index_select": torch_index_select,
}
"""The function of each op."""
