"""`x[1, ..., 2:8:2, None]`: numpy's basic indexing; on SSA values.

Not here: windows at run-time offsets and gathers (`ops.dynamic_slice`, `ops.gather`).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as integer
from typing import SupportsIndex, TypeGuard

from xdsl.ir import SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.frontends.builder.broadcasting import static_shape, tensor_type
from shardy_py.frontends.builder.emit import emit_one
from shardy_py.frontends.builder.types import RankedTensorType


def indexed(value: SSAValue, key: object) -> SSAValue:
    """The elements at integers, slices with positive steps, `...` and None (a new dimension).

    Raises `ShardyError` for other indices, and for dynamic sizes.
    """
    sizes = static_shape(value)
    parts = _for_all_dimensions(key if _is_tuple(key) else (key,), len(sizes))
    ranges: list[range] = []
    shape: list[int] = []
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        size = sizes[len(ranges)]
        indices = _range(part, size)
        ranges.append(indices)
        if isinstance(part, slice):
            shape.append(len(indices))
    if any(indices != range(size) for indices, size in zip(ranges, sizes, strict=True)):
        value = emit_one(
            "slice",
            value,
            start_indices=tuple(indices.start for indices in ranges),
            limit_indices=tuple(max(indices.start, indices.stop) for indices in ranges),
            strides=tuple(indices.step for indices in ranges),
        )
    type_ = tensor_type(value)
    if type_.shape == tuple(shape):
        return value
    return emit_one("reshape", value, results=RankedTensorType(tuple(shape), type_.element_type))


def _for_all_dimensions(key: Sequence[object], rank: int) -> list[object]:
    """The indices with `...` expanded, one a dimension and one for each None."""
    named = sum(part is not None and part is not Ellipsis for part in key)
    places = [place for place, part in enumerate(key) if part is Ellipsis]
    if named > rank or len(places) > 1:
        raise ShardyError(f"invalid index [{', '.join(map(_text, key))}] of a tensor of rank {rank}")
    whole = [slice(None)] * (rank - named)
    place = places[0] if places else len(key)
    return [*key[:place], *whole, *key[place + 1 :]]


def _is_tuple(key: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(key, tuple)


def _is_slice(part: object) -> TypeGuard[slice[object, object, object]]:
    return isinstance(part, slice)


def _range(part: object, size: int) -> range:
    if _is_slice(part):
        try:
            indices = range(*slice(part.start, part.stop, part.step).indices(size))
        except (TypeError, ValueError) as error:
            raise ShardyError(f"{_text(part)} is not an index: {error}") from None
        if indices.step < 0:
            raise ShardyError(f"{_text(part)} has a negative step; use ops.reverse")
        return indices
    if isinstance(part, bool) or not isinstance(part, SupportsIndex):
        raise ShardyError.unexpected(
            "index",
            expected="integers, slices, ... or None",
            got=repr(part),
            remedy="for indices that are tensors use ops.take, ops.gather or ops.dynamic_slice",
        )
    first = _place(integer(part), size)
    return range(first, first + 1)


def _place(number: int, size: int) -> int:
    """The index of an element counted from the front."""
    if not -size <= number < size:
        raise ShardyError(f"index {number} is out of range for a dimension of size {size}")
    return number + size if number < 0 else number


def _text(part: object) -> str:
    if not _is_slice(part):
        return "..." if part is Ellipsis else repr(part)
    ends = [("" if end is None else repr(end)) for end in (part.start, part.stop)]
    return ":".join(ends) + ("" if part.step is None else f":{part.step!r}")
