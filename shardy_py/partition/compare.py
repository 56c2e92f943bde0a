"""When two shardings mean the same.

Not here: what is done when they do not (`steps.py`, `reshard_plan.py`).
"""

from __future__ import annotations

from shardy_py.sharding import TensorSharding


def is_replicated(sharding: TensorSharding | None) -> bool:
    """Whether no dimension is sharded."""
    return sharding is None or sharding.is_fully_replicated


def is_equivalent(first: TensorSharding | None, second: TensorSharding | None) -> bool:
    """Whether both put the same data on the same devices; None is fully replicated.

    Open and closed, priorities and explicitly replicated axes make no difference. Fully replicated tensors
    are the same on any mesh.

    >>> x, y = TensorSharding.fully_open("x", 2), TensorSharding.fully_closed("y", 2)
    >>> is_equivalent(x, y), is_equivalent(x, None)
    (True, True)
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
