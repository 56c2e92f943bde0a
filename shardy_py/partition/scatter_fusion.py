"""Fuses an all-reduce and an all-slice of its result into a reduce-scatter.

all_reduce {"x"} then all_slice [{"x", "z"}, {}]    reduce_scatter [{"x"}, {}] then all_slice [{"z"}, {}]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from shardy_py.sharding import Axes, DimensionSharding, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import append_axes

AxesPerDimension = tuple[Axes, ...]


@dataclass(frozen=True, slots=True)
class ScatterFusion:
    """The reduce-scatter, and the axes left to slice; None if there are none."""

    axes: AxesPerDimension
    sharding: TensorSharding
    sliced_after: AxesPerDimension | None


def scatter_fusion(
    reduced: Axes, reduced_from: TensorSharding, sliced: AxesPerDimension, target: TensorSharding, mesh: Mesh
) -> ScatterFusion | None:
    """The fusion of reducing along `reduced` and slicing along `sliced`; None if `sliced` lacks some of them.

    reduced_from: the sharding of the operand. target: that of the result of slicing.
    """
    left = set(reduced)
    scattered: list[Axes] = []
    rest: list[Axes] = []
    for axes in sliced:
        count = 0
        while count < len(axes) and axes[count] in left:
            left.discard(axes[count])
            count += 1
        scattered.append(axes[:count])
        rest.append(axes[count:])
    if left:
        return None
    dimensions = tuple(
        DimensionSharding(append_axes(d.axes, axes, mesh), True)
        for d, axes in zip(reduced_from.dimensions, scattered, strict=True)
    )
    sharding = replace(target, dimensions=dimensions)
    return ScatterFusion(tuple(scattered), sharding, tuple(rest) if any(rest) else None)
