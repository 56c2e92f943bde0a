"""All-reduces of which each device keeps its part only: XLA makes reduce-scatters of them later.

They are counted as its partitioner sends them, and timed as what they become. Not here: the partitioner
(`xla/spmd/`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from shardy_py.hardware.cost import AxisSize, Cost, CostModel
from shardy_py.sharding import TensorSharding
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.walk import Sent


def cost_of(
    model: CostModel, collective: PlannedCollective, axes: tuple[AxisSize, ...], *, scattered: bool
) -> Cost:
    """Returns what a collective of XLA's costs, in all reports; scattered: see `is_scattered`."""
    cost: Cost = getattr(model, collective.kind)(axes, collective.held_bytes)
    if not scattered:
        return cost
    return replace(cost, seconds=model.reduce_scatter(axes, collective.held_bytes).seconds)


def is_scattered(sent: Sent, axes: Iterable[AxisSize], sharding: TensorSharding | None) -> bool:
    """Returns whether each device keeps its part of a sum only.

    axes: along which it is sent. sharding: of the result of the step that it is for.
    """
    step, collective = sent.step, sent.collective
    if collective.kind != "all_reduce" or step is None or sharding is None or len(step.results) != 1:
        return False
    type_, target = step.record.results[0], step.targets[0]
    if type_ is None or target is None or step.source is None:
        return False
    kept = prod(target.local_shape([size or 0 for size in type_.shape]))
    names = {axis.name for dimension in sharding.dimensions for axis in dimension.axes}
    along = {name.partition(":(")[0] for name, _ in axes}
    return kept * collective.group_size <= prod(collective.held_shape) and along <= names
