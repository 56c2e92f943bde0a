"""Whether two shardings lay the elements of a tensor out alike, in two shapes of it.

An axis that shards a dimension steps through the elements in row-major order by a stride: `[{"x"}, {}]` of
tensor<8x4> on 2 devices steps by 16 elements. Shardings with the same axes at the same strides agree.

    tensor<8x4> [{"x"}, {}] and tensor<32> [{"x"}] agree: the reshape between them moves nothing
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from shardy_py.sharding import AxisRef, Mesh, SubAxis, TensorSharding

Stride = tuple[AxisRef, int]
"""An axis, and how many elements lie between what neighbours along it hold first."""


def is_same_layout(
    first: TensorSharding,
    first_shape: Sequence[int],
    second: TensorSharding,
    second_shape: Sequence[int],
    mesh: Mesh,
) -> bool:
    """Whether both put each element of the tensor on the same devices; both are on `mesh`.

    >>> from shardy_py.sharding import DimensionSharding, MeshAxis
    >>> x, mesh = DimensionSharding((AxisRef("x"),)), Mesh((MeshAxis("x", 2),))
    >>> is_same_layout(
    ...     TensorSharding("m", (x, DimensionSharding())), (8, 4), TensorSharding("m", (x,)), (32,), mesh
    ... )
    True
    """
    if first.replicated_axes != second.replicated_axes:
        return False
    return strides(first, first_shape, mesh) == strides(second, second_shape, mesh)


def strides(sharding: TensorSharding, shape: Sequence[int], mesh: Mesh) -> list[Stride]:
    """The stride of each axis, the smallest first; sub-axes that continue each other are joined."""
    found: list[Stride] = []
    elements = 1
    for dimension, size in zip(reversed(sharding.dimensions), reversed(shape), strict=True):
        parts = prod(axis.size(mesh) for axis in dimension.axes)
        stride = elements * -(-size // parts)
        for axis in reversed(dimension.axes):
            found.append((axis, stride))
            stride *= axis.size(mesh)
        elements *= size
    merged: list[Stride] = []
    for axis, stride in sorted(found, key=lambda entry: entry[1]):
        joined = _joined(axis, stride, merged[-1], mesh) if merged else None
        if joined is None:
            merged.append((axis, stride))
        else:
            merged[-1] = (joined, merged[-1][1])
    return merged


def _joined(major: AxisRef, stride: int, last: Stride, mesh: Mesh) -> AxisRef | None:
    """`major` and the last, more minor entry as one axis; None if they do not continue each other."""
    minor, minor_stride = last
    if major.name != minor.name or major.pre_size * major.size(mesh) != minor.pre_size:
        return None
    if stride != minor_stride * minor.size(mesh):
        return None
    size = major.size(mesh) * minor.size(mesh)
    if major.pre_size == 1 and size == mesh.sizes[major.name]:
        return AxisRef(major.name)
    return AxisRef(major.name, SubAxis(major.pre_size, size))
