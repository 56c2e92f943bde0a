"""The dimensions that a reshape splits or joins, in groups, and where shardings agree across it.

    tensor<4x6x8> -> tensor<4x2x3x8>: groups (0 | 0), (1 | 1, 2) and (2 | 3)

A group is the shortest run of dimensions with as many elements in both shapes. Not here: reshapes whose
parts are exactly the same elements (`compare.py`), the exchange for other ones (`halo.py`).

>>> [(*g.source, *g.target) for g in reshape_groups((4, 6, 8), (4, 2, 3, 8))]
[(0, 1, 0, 1), (1, 2, 1, 3), (2, 3, 3, 4)]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.sharding import AxisRef, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import Axes, total_size

Shape = Sequence[int]


@dataclass(frozen=True, slots=True)
class ReshapeGroup:
    """Dimensions `source[0]` to `source[1]` of the operand and `target[0]` to `target[1]` of the result.

    nontrivial: the number of dimensions of a size other than one, in the operand and in the result.
    """

    source: tuple[int, int]
    target: tuple[int, int]
    nontrivial: tuple[int, int]

    @property
    def is_passed_through(self) -> bool:
        """True if at most one dimension on each side has several elements."""
        return max(self.nontrivial) <= 1

    @property
    def is_split(self) -> bool:
        """True if it splits one dimension."""
        return self.nontrivial[0] <= 1 < self.nontrivial[1]

    def axes(self, source: TensorSharding, target: TensorSharding) -> Axes:
        """The axes that shard its dimensions, those of the operand first."""
        found = source.dimensions[slice(*self.source)] + target.dimensions[slice(*self.target)]
        return tuple(axis for dimension in found for axis in dimension.axes)


def reshape_groups(source: Shape, target: Shape) -> tuple[ReshapeGroup, ...]:
    """The groups of a reshape, in order; a dimension of size one that matches nothing is one of its own."""
    groups: list[ReshapeGroup] = []
    i = j = 0
    while i < len(source) or j < len(target):
        first = (i, j)
        left = source[i] if i < len(source) else 1
        right = target[j] if j < len(target) else 1
        i, j = min(i + 1, len(source)), min(j + 1, len(target))
        while left != right:
            if left < right and i < len(source):
                left *= source[i]
                i += 1
            elif right < left and j < len(target):
                right *= target[j]
                j += 1
            else:
                break
        nontrivial = (
            sum(size != 1 for size in source[first[0] : i]),
            sum(size != 1 for size in target[first[1] : j]),
        )
        groups.append(ReshapeGroup((first[0], i), (first[1], j), nontrivial))
    return tuple(groups)


def is_uneven(group: ReshapeGroup, source: tuple[Shape, Shape], target: tuple[Shape, Shape]) -> bool:
    """True if a dimension of the group is padded; `source` and `target`: shape and padded shape."""
    return any(
        list(shape[slice(*ends)]) != list(padded[slice(*ends)])
        for ends, (shape, padded) in ((group.source, source), (group.target, target))
    )


def has_same_parts(
    first: TensorSharding, first_shape: Shape, second: TensorSharding, second_shape: Shape, mesh: Mesh
) -> bool:
    """True if each axis divides the elements at the same level: sizes that do not divide are rounded up.

    `[{"x"}]` of tensor<6> and `[{"x":(1)2}, {"x":(2)2}]` of tensor<2x3> agree on 4 devices, though the
    devices hold other elements, because 3 is not divisible by 2.
    """
    if first.mesh != second.mesh or first.replicated_axes != second.replicated_axes:
        return False
    return _levels(first, first_shape, mesh) == _levels(second, second_shape, mesh)


def _levels(sharding: TensorSharding, shape: Shape, mesh: Mesh) -> list[tuple[AxisRef, int]]:
    """Each axis with the number of parts in front of it, the most minor first; sub-axes are merged."""
    found: list[tuple[float, AxisRef, int, int]] = []
    elements = 1.0
    for number in range(len(shape) - 1, -1, -1):
        axes, size = sharding.dimensions[number].axes, shape[number]
        before = total_size(axes, mesh)
        stride, prefix = elements * (size / before), prod(shape[:number])
        for axis in reversed(axes):
            before //= axis.size(mesh)
            found.append((stride, axis, prefix * before, size))
            stride *= axis.size(mesh)
        elements *= size
    merged: list[tuple[AxisRef, int]] = []
    for _, axis, prefix, size in sorted(found, key=lambda entry: entry[0]):
        if merged:
            minor, level = merged[-1]
            is_next = axis.sub_axis is not None and axis.can_merge(minor)
            if is_next and (level == prefix or (level == prefix * size and axis.size(mesh) == size)):
                merged[-1] = (axis.merge(minor, mesh), min(level, prefix))
                continue
        merged.append((axis, prefix))
    return merged
