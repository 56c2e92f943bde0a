"""The values that tracing works on: states of an axis, the moves between them, roots, whole paths.

A state of an axis is at a spot (a value or function result, at a time among the events of the record), or in
a slot of one propagation (at a time among the entries of its journal). A root is an annotation of the user.

Not here: finding them (`tracing.py`), the nearest ones (`ways.py`).
"""

from __future__ import annotations

from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.holders import Holder
from shardy_py.mlir.movements import Movement, Spot
from shardy_py.propagation.journal import Arrival, AxisSource
from shardy_py.sharding import AxisRef, TensorSharding

SpotKey = tuple[int, int]
"""The identity of a value and -1, or that of a function and the index of a result."""


def key_of(spot: Spot) -> SpotKey:
    """Returns what identifies a spot."""
    return (id(spot.op), spot.position) if isinstance(spot, Holder) else (id(spot), -1)


@dataclass(frozen=True, slots=True, eq=False)
class AtSpot:
    """An axis on a dimension of a spot, before event number `time` of the record."""

    spot: Spot
    time: int
    dimension: int
    axis: AxisRef

    @property
    def key(self) -> tuple[object, ...]:
        """Identifies the state."""
        return (key_of(self.spot), self.time, self.dimension, self.axis)


@dataclass(frozen=True, slots=True, eq=False)
class InSlot:
    """An axis on a dimension of a slot of the propagation that is event `event`, before its entry `entry`."""

    event: int
    slot: int
    entry: int
    dimension: int
    axis: AxisRef

    @property
    def key(self) -> tuple[object, ...]:
        """As that of `AtSpot`, but for the time."""
        return (self.event, self.slot, self.dimension, self.axis)


State = AtSpot | InSlot


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """The move of an axis to a state: an arrival in propagation, or a pass; both None: nothing changed.

    before: the state that it comes from.
    """

    before: State
    arrival: Arrival | None = None
    source: AxisSource | None = None
    movement: Movement | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Root:
    """An annotation of the user: the sharding of a spot, or of an op that dictates it.

    sharding: the first one in the record; None if there is none.
    owner: the op that defines the value of the spot, if it may be erased by now.
    """

    spot: Spot
    dimension: int
    axis: AxisRef
    op: Operation | None = None
    sharding: TensorSharding | None = None
    owner: Operation | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Identifies the root."""
        return (id(self.op) if self.op is not None else key_of(self.spot), self.dimension)


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """The way from a root to the state asked about: each state but the first, with the move to it."""

    root: Root
    transitions: tuple[tuple[State, Transition], ...]


def overlapping(sharding: TensorSharding | None, dimension: int, axis: AxisRef) -> list[AxisRef]:
    """Returns the axes of a dimension that overlap with `axis`."""
    if sharding is None or dimension >= sharding.rank:
        return []
    return [other for other in sharding.dimensions[dimension].axes if other.overlaps(axis)]
