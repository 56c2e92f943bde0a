"""Shardings that passes move, beside propagation: noted by the passes, for whoever records.

    with recorded() as events:
        run passes
    events          [Movement(target=%1, source=%0, "sdy-apply-sharding-constraints", ...), ...]

Without anyone who records, a note costs one look-up. Not here: what propagation itself does
(`propagation/journal.py`), who reads the notes (`report/explain/`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from xdsl.ir import Operation, SSAValue

from shardy_py.graph.holders import Holder
from shardy_py.ir import erase, place_before, replace_uses
from shardy_py.sharding import TensorSharding

Spot = SSAValue | Holder
"""What has a sharding: a value, or the result of a function."""


@dataclass(frozen=True, slots=True, eq=False)
class Movement:
    """A sharding that a pass gave to a value.

    target: what has it now.
    source: what had it before; `target` itself where the pass changed it in place.
    pass_name: as on the command line.
    op: the op for whose sake, None if there is no single one.
    index: which operand of `op` it serves; -1: it is about a result, or the whole op.
    old: what the target had before, where the pass changed it in place.
    new: what it has now; None: the same as the source.
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
        """Whether `op`, which uses the target, says how that is sharded, as a constraint does."""
        is_own = isinstance(self.target, SSAValue) and self.op is self.target.owner
        return self.source is self.target and self.old is None and self.op is not None and not is_own


@dataclass(frozen=True, slots=True, eq=False)
class Merger:
    """A function that another one stands for from now on: its values with those that stand for them."""

    values: tuple[SSAValue, ...]
    kept_values: tuple[SSAValue, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """Values with copies that stand for them from now on; what is in several notes has several."""

    values: Mapping[SSAValue, SSAValue]


_EVENTS: ContextVar[list[object] | None] = ContextVar("events", default=None)


def note(event: object) -> None:
    """Add an event to the record, if anyone keeps one."""
    events = _EVENTS.get()
    if events is not None:
        events.append(event)


def note_moved(
    targets: Sequence[Spot], sources: Sequence[Spot], pass_name: str, op: Operation | None = None
) -> None:
    """Note that each target has the sharding of its source, if anyone keeps a record."""
    events = _EVENTS.get()
    if events is not None:
        pairs = zip(targets, sources, strict=True)
        events.extend(Movement(target, source, pass_name, op) for target, source in pairs)


def note_copies(values: Mapping[SSAValue, SSAValue]) -> None:
    """Note the copies of values, if anyone keeps a record; the mapping must not change any more."""
    events = _EVENTS.get()
    if events is not None:
        events.append(Copies(values))


def carried_over(events: Iterable[object], origin: Mapping[SSAValue, SSAValue]) -> tuple[Movement, ...]:
    """The movements to values, those that `origin` leads to a copy of as if they had been to the copies.

    Those to values that are gone stay: chains of notes lead through them.
    """
    return tuple(
        replace(event, target=origin[event.target]) if event.target in origin else event
        for event in events
        if isinstance(event, Movement) and isinstance(event.target, SSAValue)
    )


def is_recording() -> bool:
    """Whether anyone keeps a record."""
    return _EVENTS.get() is not None


@contextmanager
def recorded() -> Generator[list[object]]:
    """The list to which all events within are added."""
    events: list[object] = []
    token = _EVENTS.set(events)
    try:
        yield events
    finally:
        _EVENTS.reset(token)


def replace_op(old: Operation, new: Operation) -> None:
    """Put `new`, which stands nowhere, where `old` stands; its results replace those of `old`."""
    place_before(new, old)
    replace_by_values(old, new.results)


def replace_by_values(op: Operation, values: Sequence[SSAValue]) -> None:
    """Let the users of the results of `op` use `values`; `op` goes."""
    for before, after in zip(op.results, values, strict=True):
        replace_uses(before, after)
    if is_recording():
        note_copies(dict(zip(op.results, values, strict=True)))
    erase(op)
