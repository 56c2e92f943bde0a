"""Comparisons of shardings: do they put the same elements on the same devices?

Not here: reshards between shardings that do not (`steps.py`, `reshard_plan.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from shardy_py.sharding import AxisRef, Mesh, SubAxis, TensorSharding

Stride = tuple[AxisRef, int, int]
"""An axis, and the number of elements between the first ones of neighbours along it.

Last, for a dimension that its axes do not divide, the number of elements after which they begin again,
else 0.
"""


def is_replicated(sharding: TensorSharding | None) -> bool:
    """True if no dimension is sharded."""
    return sharding is None or sharding.is_fully_replicated


def is_equivalent(first: TensorSharding | None, second: TensorSharding | None) -> bool:
    """True if both put the same data on the same devices; None is fully replicated.

    Closed dimensions, priorities and explicitly replicated axes are ignored. Fully replicated tensors are
    equivalent on any mesh.
    """
    if first is None:
        return is_replicated(second)
    if first.is_fully_replicated and not first.unreduced_axes:
        return second is None or (second.is_fully_replicated and not second.unreduced_axes)
    return (
        second is not None
        and first.mesh == second.mesh
        and first.unreduced_axes == second.unreduced_axes
        and [d.axes for d in first.dimensions] == [d.axes for d in second.dimensions]
    )


def is_same_layout(
    first: TensorSharding,
    first_shape: Sequence[int],
    second: TensorSharding,
    second_shape: Sequence[int],
    mesh: Mesh,
) -> bool:
    """True if both put each element of the tensor, in two shapes of it, on the same devices of `mesh`.

    An axis that shards a dimension steps through the elements in row-major order by a stride: `[{"x"}, {}]`
    of tensor<8x4> on 2 devices steps by 16 elements. Shardings with the same axes at the same strides agree.
    Uneven dimensions must also end alike: on 4 devices, `[{}, {"x"}]` of tensor<6x5> and of tensor<5x6> step
    by 2 elements.
    """
    if first.replicated_axes != second.replicated_axes:
        return False
    return strides(first, first_shape, mesh) == strides(second, second_shape, mesh)


def strides(
    sharding: TensorSharding, shape: Sequence[int], mesh: Mesh, *, merges: bool = True
) -> list[Stride]:
    """The stride of each axis, the smallest first; consecutive sub-axes are merged if `merges`."""
    if not mesh.axes:  # a single device, whose shardings have no dimensions
        return []
    found: list[Stride] = []
    elements = 1
    for dimension, size in zip(reversed(sharding.dimensions), reversed(shape), strict=True):
        parts = prod(axis.size(mesh) for axis in dimension.axes)
        stride = elements * -(-size // parts)
        end = elements * size if size % parts else 0
        for axis in reversed(dimension.axes):
            found.append((axis, stride, end))
            stride *= axis.size(mesh)
        elements *= size
    merged: list[Stride] = []
    for axis, stride, end in sorted(found, key=lambda entry: entry[1]):
        joined = _joined(axis, stride, merged[-1], mesh) if merged and merges else None
        if joined is None:
            merged.append((axis, stride, end))
        else:
            merged[-1] = (joined, merged[-1][1], max(end, merged[-1][2]))
    return merged


def _joined(major: AxisRef, stride: int, last: Stride, mesh: Mesh) -> AxisRef | None:
    """`major` and the last, more minor entry as one axis; None if they are not consecutive."""
    minor, minor_stride, _ = last
    if major.name != minor.name or major.pre_size * major.size(mesh) != minor.pre_size:
        return None
    if stride != minor_stride * minor.size(mesh):
        return None
    size = major.size(mesh) * minor.size(mesh)
    if major.pre_size == 1 and size == mesh.sizes[major.name]:
        return AxisRef(major.name)
    return AxisRef(major.name, SubAxis(major.pre_size, size))
