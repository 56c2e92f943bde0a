"""The share of each operand that is read to compute all results.

The union of the images of all maps to an operand is exact if the operand is small (a mask) or the images are
a few strided boxes (inclusion and exclusion); otherwise the share is bounded.

Runtime variables (offsets of dynamic slices) have one value for the whole op. If each element of the result
has its own (a gather's indices: some dimension does not occur in the map) the share is bounded: all values
may be equal, or all different.

>>> from shardy_py.ops import OpRecord, TensorType
>>> attributes = {"start_indices": (0, 5), "limit_indices": (4, 8), "strides": (2, 1)}
>>> record = OpRecord("stablehlo.slice", (TensorType((4, 8)),), (TensorType((2, 3)),), attributes)
>>> print(operand_utilization(record)[0])
3/16
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from shardy_py.base.records import dataclass
from shardy_py.hlo.analysis.function import Function
from shardy_py.hlo.analysis.fusion import function_maps
from shardy_py.hlo.analysis.image import Image, image_of
from shardy_py.hlo.analysis.maps import sizes_of
from shardy_py.hlo.analysis.strided import StridedBox, union_count, whole
from shardy_py.indexing import IndexMap, Interval, dim, range_var
from shardy_py.ops import OpRecord

MOST_MARKED = 1 << 24
"""The most elements of an operand that are counted on a mask."""
_MOST_BOXES = 12
_MOST_RUNTIMES = 6


@dataclass(frozen=True)
class Utilization:
    """The share of an operand that is read: between `least` and `most`, which are equal if it is exact."""

    least: Fraction
    most: Fraction

    @property
    def is_exact(self) -> bool:
        """Returns whether the share is exact."""
        return self.least == self.most

    def __str__(self) -> str:
        return str(self.least) if self.is_exact else f"between {self.least} and {self.most}"


_ALL = Utilization(Fraction(1), Fraction(1))


def operand_utilization(subject: Function | OpRecord) -> tuple[Utilization, ...]:
    """The share of each operand, or of each parameter of a function; 1 for an empty one."""
    grid = function_maps(subject)
    operands = subject.parameters if isinstance(subject, Function) else subject.operands
    return tuple(
        utilization_of([m for row in grid for m in row[number]], sizes_of(operand))
        for number, operand in enumerate(operands)
    )


def utilization_of(maps: Sequence[IndexMap], sizes: tuple[int, ...]) -> Utilization:
    """The share of a tensor of these sizes that all maps together read."""
    total, (least, most) = prod(sizes), counted(maps, sizes)
    return Utilization(Fraction(least, total), Fraction(most, total)) if total else _ALL


def counted(maps: Sequence[IndexMap], sizes: tuple[int, ...]) -> tuple[int, int]:
    """The least and greatest number of elements that all maps together read."""
    total = prod(sizes)
    images = [image_of(m) for m in dict.fromkeys(maps) if not m.runtimes]
    loose = [m for m in dict.fromkeys(maps) if m.runtimes]
    least, most = _union(images, sizes)
    for index_map in loose:
        least = max(least, _least_of(index_map))
        one = image_of(index_map, fixed_runtimes=True)
        most += (one if _has_one_value(index_map) and _is_uniform(index_map) else image_of(index_map)).count
    return least, min(most, total)


def _has_one_value(index_map: IndexMap) -> bool:
    """Returns whether every dimension occurs: no two elements differ in their runtime values only."""
    used = index_map.used
    free = [dim(i) for i, interval in enumerate(index_map.dims) if interval.size > 1]
    free += [range_var(i) for i, interval in enumerate(index_map.ranges) if interval.size > 1]
    return all(variable in used for variable in free)


def _least_of(index_map: IndexMap) -> int:
    """The least number of elements read, over all runtime values.

    Linear maps reach it at extreme values; for others it is 0.
    """
    expressions = (*index_map.results, *(e for e, _ in index_map.constraints))
    if len(index_map.runtimes) > _MOST_RUNTIMES or any(e.division_count for e in expressions):
        return 0
    corners = product(*((Interval(i.low, i.low), Interval(i.high, i.high)) for i in index_map.runtimes))
    images = (image_of(replace(index_map, runtimes=corner)) for corner in corners)
    return min(0 if image.is_bound else image.count for image in images)


def _is_uniform(index_map: IndexMap) -> bool:
    """Returns whether runtime values only shift the elements that are read."""
    shifted = [r for r in index_map.results if any(v.kind == "rt" for v in r.variables)]
    return not index_map.constraints and all(r.division_count == 0 for r in shifted)


def _union(images: Sequence[Image], sizes: tuple[int, ...]) -> tuple[int, int]:
    total = prod(sizes)
    exact = [image for image in images if not image.is_bound]
    if any(image.is_box and image.count == total for image in exact):
        return total, total
    bounds = sum(image.count for image in images if image.is_bound)
    least, most = exact_union(exact, sizes)
    return least, min(total, most + bounds)


def exact_union(images: Sequence[Image], sizes: tuple[int, ...]) -> tuple[int, int]:
    """Bounds on the number of elements in the union of images that are not bounds themselves."""
    if len(images) < 2:
        count = images[0].count if images else 0
        return count, count
    if prod(sizes) <= MOST_MARKED:
        mask = np.zeros(sizes, dtype=np.bool_)
        for image in images:
            image.mark(mask)
        count = int(np.count_nonzero(mask))
        return count, count
    boxes = _outer([image.box for image in images if image.is_box])
    if len(boxes) <= _MOST_BOXES and all(image.is_box for image in images):
        count = union_count(boxes)
        return count, count
    counts = [image.count for image in images]
    return max(counts), min(sum(counts), whole(sizes).count)


def _outer(boxes: list[StridedBox]) -> list[StridedBox]:
    """The boxes that no other box covers."""
    kept: list[StridedBox] = []
    for box in sorted(boxes, key=lambda b: -b.count):
        if not any(other.covers(box) for other in kept):
            kept.append(box)
    return kept
