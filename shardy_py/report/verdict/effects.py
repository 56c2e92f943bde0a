"""The collectives that a change removes, makes cheaper or adds, by what they are sent for.

The program with the change is another one, so its collectives are found again by the op that needs them: its
name, operand, source location and scopes. Not here: changes (`model.py`), their costs in all.
"""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.base.records import dataclass
from shardy_py.mlir.location_names import name_stack
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.communication.report import by_cause


@dataclass(frozen=True, slots=True)
class CollectivePlace:
    """The purpose of a collective: an operand of an op, at a location and in scopes as JAX writes them.

    kind, axes: of the collective. operand: -1: the result of the op.
    """

    kind: str
    axes: tuple[str, ...]
    op: str
    operand: int
    location: str
    scope: str

    @staticmethod
    def of(use: CollectiveUse) -> CollectivePlace:
        """Returns the place of a collective."""
        cause, axes = use.cause, tuple(name for name, _ in use.axes)
        scope = "" if cause.made_for is None else name_stack(cause.made_for.location)
        return CollectivePlace(use.kind, axes, cause.op, cause.operand, cause.location, scope)


@dataclass(frozen=True, slots=True)
class CollectiveEffect:
    """The bytes that each device receives at a place in all runs, without a change and with it."""

    place: CollectivePlace
    before: int
    after: int


def effects_between(
    before: Iterable[CollectiveUse], after: Iterable[CollectiveUse]
) -> tuple[CollectiveEffect, ...]:
    """Returns the places whose bytes differ, those with the most saved first."""
    old, new = bytes_by_place(before), bytes_by_place(after)
    places = dict.fromkeys((*old, *new))
    found = (CollectiveEffect(place, old.get(place, 0), new.get(place, 0)) for place in places)
    return tuple(sorted((e for e in found if e.before != e.after), key=lambda e: e.after - e.before))


def bytes_by_place(uses: Iterable[CollectiveUse]) -> dict[CollectivePlace, int]:
    """Returns the bytes that each device receives in all runs, by place."""
    found: dict[CollectivePlace, int] = {}
    for use in uses:
        for part in by_cause(use):
            place = CollectivePlace.of(part)
            found[place] = found.get(place, 0) + part.total.bytes
    return found
