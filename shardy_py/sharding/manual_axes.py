"""Shardings at the boundary of a manual computation: manual axes outside, free axes on both sides.

Outside, a dimension is sharded along manual axes, then along free axes; in the body along the free ones only.

>>> from shardy_py.sharding.axes import AxisRef
>>> from shardy_py.sharding.tensor_sharding import DimensionSharding
>>> outer = TensorSharding("mesh", (DimensionSharding((AxisRef("m"), AxisRef("f"))),))
>>> str(without_manual_axes(outer, ("m",)))
'<@mesh, [{"f", ?}]>'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.sharding.axis_lists import Axes
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding


def without_manual_axes(sharding: TensorSharding, manual_axes: Sequence[str]) -> TensorSharding:
    """The sharding in the body of a value with this outer sharding."""
    return _keep(sharding, manual_axes, keep_manual=False) if manual_axes else sharding


def without_free_axes(sharding: TensorSharding, manual_axes: Sequence[str]) -> TensorSharding:
    """The outer sharding with only manual axes in its dimensions, and only free axes in its other lists."""
    return _keep(sharding, manual_axes, keep_manual=True)


def with_free_axes(
    outer: TensorSharding, inner: TensorSharding, manual_axes: Sequence[str]
) -> TensorSharding:
    """The outer sharding with the manual axes of `outer`, followed by the axes of `inner`."""
    manual = without_free_axes(outer, manual_axes)
    dimensions = tuple(
        DimensionSharding(m.axes + f.axes, f.is_closed, f.priority)
        for m, f in zip(manual.dimensions, inner.dimensions, strict=True)
    )
    return TensorSharding(inner.mesh, dimensions, outer.replicated_axes, outer.unreduced_axes)


def _keep(sharding: TensorSharding, manual_axes: Sequence[str], *, keep_manual: bool) -> TensorSharding:
    manual = frozenset(manual_axes)
    dimensions: list[DimensionSharding] = []
    for dimension in sharding.dimensions:
        axes = dimension.axes
        first_free = next((i for i, axis in enumerate(axes) if axis.name not in manual), len(axes))
        kept = axes[:first_free] if keep_manual else axes[first_free:]
        dimensions.append(replace(dimension, axes=kept))
    return replace(
        sharding,
        dimensions=tuple(dimensions),
        replicated_axes=_free(sharding.replicated_axes, manual),
        unreduced_axes=_free(sharding.unreduced_axes, manual),
    )


def _free(axes: Axes, manual: frozenset[str]) -> Axes:
    return tuple(axis for axis in axes if axis.name not in manual)
