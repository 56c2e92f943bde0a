"""Where a value has its replicated and unreduced axes from: the annotation, and passes on the way.

Propagation moves no such axes, so there is one way: back through what passes did, to where they were first.

    kept = keeper(tracer, value, axis, "replicated_axes")      Path(root, causes), None if a pass made them

Not here: axes of dimensions (`tracing.py`).
"""

from __future__ import annotations

from typing import Literal

from shardy_py.graph.movements import Spot
from shardy_py.graph.run_record import Propagation
from shardy_py.report.explain.demands import wanted_alike
from shardy_py.report.explain.tracing import AtSpot, Cause, Path, Root, State, Tracer, spots_of
from shardy_py.sharding import AxisRef, TensorSharding

Kept = Literal["replicated_axes", "unreduced_axes"]
"""The fields of a sharding that hold such axes."""

NO_DIMENSION = -1
"""Stands for the dimension of an axis that is on none."""


def keeper(tracer: Tracer, spot: Spot, axis: AxisRef, kept: Kept) -> Path | None:
    """The way from what says that a value is replicated, or unreduced, along `axis`; None if nothing does."""
    time = len(tracer.events)
    way: list[tuple[State, Cause]] = []
    written: TensorSharding | None = None
    while (found := tracer.latest(spot, time)) is not None:
        index, event, slot = found
        if isinstance(event, Propagation):
            first = event.journal.first_sharding(slot)
            if not _has(first, axis, kept):
                return None
            spots = spots_of(event, slot)
            moved = next((s for s in spots if tracer.latest(s, index) is not None), None)
            if moved is None:
                owner = event.edge_values.get(id(spots[-1]), (None, None))[1]
                return Path(Root(spots[-1], NO_DIMENSION, axis, None, first, owner), tuple(way))
            spot, time, written = moved, index, first
            continue
        if event.is_dictated:
            return Path(Root(spot, NO_DIMENSION, axis, event.op, event.new), tuple(way))
        before = event.old if event.source is event.target else tracer.sharding_at(event.source, index)
        source: Spot | None = event.source
        if event.new is not None and not _has(before, axis, kept):
            wanting = () if event.op is None else wanted_alike(event.op, event.index)
            source = next((s for s in wanting if _has(tracer.sharding_at(s, index), axis, kept)), None)
        if source is None:
            return None
        if source is not spot:
            state = AtSpot(source, index, NO_DIMENSION, axis)
            way.insert(0, (AtSpot(spot, time, NO_DIMENSION, axis), Cause(state, movement=event)))
        if event.new is not None:
            written = tracer.sharding_at(source, index)
        spot, time = source, index
    return Path(Root(spot, NO_DIMENSION, axis, None, written), tuple(way))


def _has(sharding: TensorSharding | None, axis: AxisRef, kept: Kept) -> bool:
    axes: tuple[AxisRef, ...] = () if sharding is None else getattr(sharding, kept)
    return any(axis.overlaps(other) for other in axes)
