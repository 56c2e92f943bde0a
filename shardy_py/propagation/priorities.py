"""User priorities: dimensions of priority p propagate from iteration p on; priority 0 comes first.

Before that, a dimension is empty and closed, and its axes are replicated, so that no other dimension uses
them.

    [{"a"}p1, {"b", ?}]     first:  [{}, {"b", ?}], replicated={"a"}     from p1 on:  [{"a"}, {"b", ?}]

Not here: priorities of ops (`schedule.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shardy_py.propagation.fixpoint import Propagator
from shardy_py.propagation.step import mesh_of
from shardy_py.sharding import DimensionSharding, Mesh, TensorSharding


def held_back(sharding: TensorSharding, meshes: Mapping[str, Mesh]) -> TensorSharding:
    """The sharding at priority 0: later dimensions are empty and closed, their axes replicated."""
    replicated = list(sharding.replicated_axes)
    dimensions: list[DimensionSharding] = []
    for dimension in sharding.dimensions:
        if dimension.priority:
            replicated += dimension.axes
            dimensions.append(DimensionSharding(is_closed=True))
        else:
            dimensions.append(replace(dimension, priority=None))
    mesh = mesh_of(sharding, meshes)
    replicated.sort(key=lambda axis: axis.order_in(mesh))
    return replace(sharding, dimensions=tuple(dimensions), replicated_axes=tuple(replicated))


def released(now: TensorSharding, original: TensorSharding, priority: int) -> TensorSharding:
    """The sharding `now` with the dimensions of that priority from `original`."""
    dimensions = tuple(
        replace(then, priority=None) if (then.priority or 0) == priority else current
        for current, then in zip(now.dimensions, original.dimensions, strict=True)
    )
    axes = {a for d in original.dimensions if (d.priority or 0) == priority for a in d.axes}
    replicated = tuple(axis for axis in now.replicated_axes if axis not in axes)
    return replace(now, dimensions=dimensions, replicated_axes=replicated)


def hold_back(
    propagator: Propagator, meshes: Mapping[str, Mesh]
) -> dict[int, list[tuple[int, TensorSharding]]]:
    """Hold back the dimensions of later priorities; returns by priority the slots and original shardings."""
    waiting: dict[int, list[tuple[int, TensorSharding]]] = {}
    for slot, original in enumerate(propagator.program.shardings):
        if original is None:
            continue
        later = {d.priority for d in original.dimensions if d.priority}
        for priority in later:
            waiting.setdefault(priority, []).append((slot, original))
        if any(d.priority is not None for d in original.dimensions):
            propagator.set_sharding(slot, held_back(original, meshes))
    return dict(sorted(waiting.items()))


def release(propagator: Propagator, slots: list[tuple[int, TensorSharding]], priority: int) -> None:
    """Restore the dimensions of one priority."""
    for slot, original in slots:
        now = propagator.sharding(slot)
        assert now is not None
        propagator.set_sharding(slot, released(now, original, priority))
