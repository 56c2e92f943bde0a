"""The origin of the replicated and unreduced axes of a value: an annotation, and passes on the way.

Propagation does not move such axes, so there is one way: back through passes to the first value with them.

    kept_from(tracer, value, axis, "replicated_axes")      Path(root, transitions); None if a pass added it

Not here: axes of dimensions (`tracing.py`).
"""

from __future__ import annotations

from typing import Literal

from shardy_py.mlir.movements import Spot
from shardy_py.propagation.graph.run_record import Propagation
from shardy_py.report.explain.demands import required_alike
from shardy_py.report.explain.states import AtSpot, Path, Root, State, Transition
from shardy_py.report.explain.tracing import Tracer, owner_of, spots_of
from shardy_py.sharding import AxisRef, TensorSharding

KeptField = Literal["replicated_axes", "unreduced_axes"]

NO_DIMENSION = -1
"""The dimension of an axis that does not shard one."""


def kept_from(tracer: Tracer, spot: Spot, axis: AxisRef, field: KeptField) -> Path | None:
    """Returns the path from the annotation that makes a value replicated, or unreduced, along `axis`."""
    time = len(tracer.events)
    way: list[tuple[State, Transition]] = []
    written: TensorSharding | None = None
    while (movement := tracer.latest(spot, time)) is not None:
        index, event, slot = movement
        if isinstance(event, Propagation):
            first = event.journal.first_sharding(slot)
            if not _has(first, axis, field):
                return None
            spots = spots_of(event, slot)
            moved = next((s for s in spots if tracer.latest(s, index) is not None), None)
            if moved is None:
                owner = owner_of(event, spots[-1])
                return Path(Root(spots[-1], NO_DIMENSION, axis, None, first, owner), tuple(way))
            spot, time, written = moved, index, first
            continue
        if event.is_dictated:
            return Path(Root(spot, NO_DIMENSION, axis, event.op, event.new), tuple(way))
        before = event.old if event.source is event.target else tracer.sharding_at(event.source, index)
        source: Spot | None = event.source
        if event.new is not None and not _has(before, axis, field):
            alike = () if event.op is None else required_alike(event.op, event.index)
            source = next((s for s in alike if _has(tracer.sharding_at(s, index), axis, field)), None)
        if source is None:
            return None
        if source is not spot:
            state = AtSpot(source, index, NO_DIMENSION, axis)
            way.insert(0, (AtSpot(spot, time, NO_DIMENSION, axis), Transition(state, movement=event)))
        if event.new is not None:
            written = tracer.sharding_at(source, index)
        spot, time = source, index
    return Path(Root(spot, NO_DIMENSION, axis, None, written), tuple(way))


def _has(sharding: TensorSharding | None, axis: AxisRef, field: KeptField) -> bool:
    axes: tuple[AxisRef, ...] = () if sharding is None else getattr(sharding, field)
    return any(axis.overlaps(other) for other in axes)
