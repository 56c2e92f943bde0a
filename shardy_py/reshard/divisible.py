"""Divisible shapes: the sizes of tensors of which every device holds an equal part.

A dimension of size d in n parts has parts of ceil(d / n) elements on every device. Its divisible size is n
times that; what lies beyond d is padding, at the end of the dimension.

>>> from shardy_py.sharding import AxisRef, DimensionSharding
>>> sharding = TensorSharding("mesh", (DimensionSharding((AxisRef("x"),)), DimensionSharding()))
>>> divisible_shape((7, 5), sharding, Mesh.of(x=4))
(8, 5)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.axis_lists import total_size

_Size = TypeVar("_Size", int, int | None)


def divisible_shape(shape: tuple[_Size, ...], sharding: TensorSharding, mesh: Mesh) -> tuple[_Size, ...]:
    """The sizes of `shape` rounded up to multiples of the parts of their dimensions.

    mesh: that of `sharding`. A dynamic size, None, stays None, as do all sizes on a single device.
    """
    if not sharding.dimensions:
        return shape
    return tuple(
        -(-size // parts) * parts
        if size is not None and by.axes and (parts := total_size(by.axes, mesh)) > 1
        else size
        for size, by in zip(shape, sharding.dimensions, strict=True)
    )


def misaligned_dimensions(
    shape: Sequence[int], source: TensorSharding, target: TensorSharding, mesh: Mesh
) -> tuple[int, ...]:
    """The dimensions whose parts in one sharding are not unions of parts in the other.

    A dimension of size 10 has parts of 3 on 4 devices and of 2 on 8: no collective of equal parts joins the
    latter to the former.
    """
    found: list[int] = []
    for dimension, size in enumerate(shape):
        counts = [total_size(s.dimensions[dimension].axes, mesh) for s in (source, target)]
        few, many = sorted(counts)
        if few > 1 and -(-size // few) * few != -(-size // many) * many:
            found.append(dimension)
    return tuple(found)
