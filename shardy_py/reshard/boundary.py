"""Shardings at the boundary of a program: closed, even, without sub-axes.

Callers pass tensors without padding, and many do not support sub-axes, so the shardings of function arguments
and results are truncated. Not here: the values concerned (`passes/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from math import gcd

from shardy_py.sharding import Axes, AxisRef, DimensionSharding, Mesh, SubAxis, TensorSharding
from shardy_py.sharding.axis_lists import total_size


def closed_like(sharding: TensorSharding) -> TensorSharding:
    """The sharding with every dimension closed and no explicitly replicated axes."""
    dimensions = tuple(d if d.is_closed else replace(d, is_closed=True) for d in sharding.dimensions)
    return replace(sharding, dimensions=dimensions, replicated_axes=())


def evenly_divided(sharding: TensorSharding, shape: Sequence[int], mesh: Mesh) -> TensorSharding:
    """The sharding with each dimension truncated to the largest prefix of its axes that divides it.

    The last axis of the prefix may be a sub-axis. A sharding on a single device is unchanged.
    """
    if not sharding.dimensions:
        return sharding
    dimensions = tuple(_divided(d, size, mesh) for d, size in zip(sharding.dimensions, shape, strict=True))
    return sharding if dimensions == sharding.dimensions else replace(sharding, dimensions=dimensions)


def without_sub_axes(sharding: TensorSharding) -> TensorSharding:
    """The sharding with each open dimension truncated before its first sub-axis."""
    if not any(axis.sub_axis for d in sharding.dimensions for axis in d.axes):
        return sharding
    dimensions = tuple(
        d if d.is_closed else replace(d, axes=tuple(takewhile(lambda a: a.sub_axis is None, d.axes)))
        for d in sharding.dimensions
    )
    return replace(sharding, dimensions=dimensions)


def _divided(dimension: DimensionSharding, size: int, mesh: Mesh) -> DimensionSharding:
    if size % total_size(dimension.axes, mesh) == 0:
        return dimension
    axes: Axes = ()
    for axis in dimension.axes:
        part = gcd(axis.size(mesh), size)
        if part == 1:
            break
        if part < axis.size(mesh):
            axes += (AxisRef(axis.name, SubAxis(axis.pre_size, part)),)
            break
        axes += (axis,)
        size //= part
    return DimensionSharding(axes, dimension.is_closed)
