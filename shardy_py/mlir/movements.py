"""Events of passes: shardings moved, values copied and replaced, in `with recorded() as events:`.

Outside of `recorded`, an event costs one look-up. Not here: propagation (`propagation/journal.py`), the
readers of events (`report/explain/`, `run_record.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property

from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.holders import Holder
from shardy_py.mlir.ir import erase, place_before, replace_uses
from shardy_py.sharding import TensorSharding

Spot = SSAValue | Holder
"""Something with a sharding: a value, or a result of a function."""


@dataclass(frozen=True, slots=True, eq=False)
class Movement:
    """A sharding that a pass assigned to a value.

    target: the value that has the sharding now.
    source: the value it comes from; `target` itself if the pass changed it in place.
    pass_name: as on the command line.
    op: the op that required it, or None.
    index: the operand of `op` concerned; -1: a result, or the whole op.
    old: the sharding of the target before a change in place.
    new: the sharding of the target now; None: that of the source.
    """

    target: Spot
    source: Spot
    pass_name: str
    op: Operation | None = None
    index: int = -1
    old: TensorSharding | None = None
    new: TensorSharding | None = None

    @property
    def is_dictated(self) -> bool:
        """Returns whether `op`, a user of the target, determines its sharding, as a constraint does."""
        is_own = isinstance(self.target, SSAValue) and self.op is self.target.owner
        return self.source is self.target and self.old is None and self.op is not None and not is_own


@dataclass(frozen=True, slots=True, eq=False)
class Merger:
    """A function replaced by an equal one: its values, and the corresponding values of the other."""

    values: tuple[SSAValue, ...]
    kept_values: tuple[SSAValue, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """Values with their copies or replacements; a value may have several, in several events."""

    values: Mapping[SSAValue, SSAValue]


@dataclass(frozen=True, slots=True, eq=False)
class Localized:
    """A value that became the part of a tensor that each device holds, with the sharding of the tensor."""

    value: SSAValue
    sharding: TensorSharding


@dataclass(frozen=True, slots=True, eq=False)
class LocalSignature:
    """A function that takes and returns parts: the shardings of its tensors, None for whole ones."""

    name: str
    arguments: tuple[TensorSharding | None, ...]
    results: tuple[TensorSharding | None, ...]


@dataclass(frozen=True, eq=False)
class DroppedRules:
    """Sharding rules that a pass removed from ops.

    find_underivable: returns those that cannot be derived again.
    """

    find_underivable: Callable[[], Mapping[Operation, Attribute]]

    @cached_property
    def attributes(self) -> Mapping[Operation, Attribute]:
        """The attributes that cannot be derived again."""
        return self.find_underivable()


@dataclass(frozen=True, slots=True, eq=False)
class Insertion:
    """An op that moves data, inserted to make another op local."""

    op: Operation
    made_for: Operation


_EVENTS: ContextVar[list[object] | None] = ContextVar("events", default=None)


def note(event: object) -> None:
    """Record an event, within `recorded`."""
    events = _EVENTS.get()
    if events is not None:
        events.append(event)


def note_moved(
    targets: Sequence[Spot], sources: Sequence[Spot], pass_name: str, op: Operation | None = None
) -> None:
    """Record that each target has the sharding of its source."""
    events = _EVENTS.get()
    if events is not None:
        pairs = zip(targets, sources, strict=True)
        events.extend(Movement(target, source, pass_name, op) for target, source in pairs)


def note_copies(values: Mapping[SSAValue, SSAValue]) -> None:
    """Record copies of values; the mapping must not change afterwards."""
    note(Copies(values))


def carried_over(events: Iterable[object], origin: Mapping[SSAValue, SSAValue]) -> tuple[Movement, ...]:
    """The movements to values of a module, transferred to a copy of it; `origin` maps values to the copy.

    Movements to erased values stay, because chains of events lead through them.
    """
    return tuple(
        replace(event, target=origin[event.target]) if event.target in origin else event
        for event in events
        if isinstance(event, Movement) and isinstance(event.target, SSAValue)
    )


_MADE_FOR: ContextVar[Operation | None] = ContextVar("made_for", default=None)


@contextmanager
def inserting_for(op: Operation) -> Generator[None]:
    """Within it, ops that move data are noted as inserted for `op`."""
    token = _MADE_FOR.set(op)
    try:
        yield
    finally:
        _MADE_FOR.reset(token)


def note_inserted(op: Operation) -> None:
    """Record that an op was inserted, within `inserting_for`."""
    made_for = _MADE_FOR.get()
    if made_for is not None:
        note(Insertion(op, made_for))


def is_recording() -> bool:
    """Returns whether events are recorded."""
    return _EVENTS.get() is not None


@contextmanager
def recorded() -> Generator[list[object]]:
    """Record events; yields the list to which they are appended."""
    events: list[object] = []
    token = _EVENTS.set(events)
    try:
        yield events
    finally:
        _EVENTS.reset(token)


def replace_op(old: Operation, new: Operation) -> None:
    """Replace `old` by `new`, a detached op with the same number of results."""
    place_before(new, old)
    replace_by_values(old, new.results)


def replace_by_values(op: Operation, values: Sequence[SSAValue]) -> None:
    """Replace the results of `op` by `values` and erase it."""
    for before, after in zip(op.results, values, strict=True):
        replace_uses(before, after)
    events = _EVENTS.get()
    if events is not None:
        events.append(Copies(dict(zip(op.results, values, strict=True))))
    erase(op)
