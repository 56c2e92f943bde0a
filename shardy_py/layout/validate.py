"""Checks of an array and its layout that XLA's `ValidateShape` makes, for elements of tuples only.

>>> from shardy_py.layout.values import ArrayShape, Layout, SplitConfig
>>> for fault in faults(ArrayShape("f32", (3, 5), (), Layout((1, 1), split_configs=(SplitConfig(0, (3,)),)))):
...     print(fault)
minor_to_major: expected a permutation of 2 dimensions, got (1, 1)
split configuration SC: expected indices from 1 to 2 for dimension 0, got 3
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import mul

from shardy_py.layout.element_types import ELEMENT_TABLE
from shardy_py.layout.tile_level import COMBINE
from shardy_py.layout.values import UNBOUNDED, ArrayShape, Layout

_MAX_BYTES = (1 << 63) - 1


@lru_cache(maxsize=1 << 12)
def faults(shape: ArrayShape) -> tuple[str, ...]:
    """The faults of an array: of its size in bytes, then of each part of its layout."""
    found = tuple(_size_faults(shape))
    return (*found, *_layout_faults(shape.layout, shape.dimensions)) if shape.layout else found


def _size_faults(shape: ArrayShape) -> Iterator[str]:
    element_bytes = max(1, ELEMENT_TABLE[shape.element_type].bits // 8)
    known = (size for size in shape.dimensions if size != UNBOUNDED)
    products = tuple(accumulate(known, mul, initial=1))
    if max(*products, products[-1] * element_bytes) > _MAX_BYTES:
        yield f"array of {shape.element_type} with sizes {shape.dimensions}: more than 2^63 - 1 bytes"


def _layout_faults(layout: Layout, dimensions: tuple[int, ...]) -> Iterator[str]:
    if sorted(layout.minor_to_major) != list(range(len(dimensions))):
        yield (
            f"minor_to_major: expected a permutation of {len(dimensions)} dimensions, "
            f"got {layout.minor_to_major}"
        )
    for tile in layout.tiles:
        if not tile.sizes or any(size < 1 and size != COMBINE for size in tile.sizes):
            yield f"tile T: expected sizes of at least 1, got {tile}"
    if (layout.index_primitive_type or layout.pointer_primitive_type) and not layout.is_sparse:
        yield "index and pointer types #, * of a dense array"
    if layout.element_size_bits < 0:
        yield f"element size E: expected at least 0 bits, got {layout.element_size_bits}"
    yield from _split_faults(layout, dimensions)


def _split_faults(layout: Layout, dimensions: tuple[int, ...]) -> Iterator[str]:
    order = layout.minor_to_major[::-1]
    is_order = sorted(order) == list(range(len(dimensions)))
    # Splits are of physical dimensions.
    sizes = tuple(dimensions[i] for i in order) if is_order else dimensions
    seen: set[int] = set()
    for split in layout.split_configs:
        at = split.dimension
        if not 0 <= at < len(dimensions):
            yield f"split configuration SC: unknown dimension {at}"
            continue
        if at in seen:
            yield f"split configuration SC: dimension {at} is split twice"
        seen.add(at)
        outside = [i for i in split.split_indices if not 0 < i < sizes[at]]
        if outside:
            yield (
                f"split configuration SC: expected indices from 1 to {sizes[at] - 1} for dimension {at}, "
                f"got {outside[0]}"
            )
        if any(later <= earlier for earlier, later in pairwise(split.split_indices)):
            yield (
                f"split configuration SC: expected increasing indices for dimension {at}, "
                f"got {split.split_indices}"
            )
