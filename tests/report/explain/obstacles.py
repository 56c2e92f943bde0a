"""The obstacle that an answer names, taken away: does the axis come, or is another obstacle named?

Edits are made to the flat form of the program, to the very tensor or step that the answer is about; then it
is propagated again. Not here: what is asked (`test_obstacles.py`).
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from shardy_py.propagation.flat import StepKind
from shardy_py.propagation.graph.run_record import Propagation, Record
from shardy_py.propagation.journal import Journal
from shardy_py.propagation.propagate import propagate
from shardy_py.propagation.stops import Stop, StopKind
from shardy_py.report.explain import Explainer, Reason, WhyNot
from shardy_py.report.explain.crossings import Stopping
from shardy_py.report.explain.neighbourhood import Crossing
from shardy_py.report.explain.states import overlapping
from shardy_py.report.explain.tracing import spots_of
from shardy_py.sharding import AxisRef, TensorSharding

Change = Callable[[TensorSharding], TensorSharding]


@dataclass(frozen=True)
class Question:
    """Why a dimension of a slot has not got an axis."""

    slot: int
    dimension: int
    axis: AxisRef


@dataclass(frozen=True)
class Obstacle:
    """What a reason was made of: the stop with its slot, or the crossing that axes do not pass."""

    stop: Stop | None
    slot: int
    crossing: Crossing | None


def questions(propagation: Propagation) -> list[Question]:
    """All that can be asked of a program."""
    program = propagation.program
    axes = [AxisRef(a.name) for mesh in program.meshes.values() for a in mesh.axes]
    return [
        Question(slot, dimension, axis)
        for slot, rank in enumerate(program.flat.ranks)
        for dimension in range(rank if program.slots.holder(slot) is not None else 0)
        for axis in axes
    ]


@contextmanager
def noted(found: dict[tuple[str, str], Obstacle]) -> Iterator[None]:
    """What reasons that are made within are made of."""
    refused, blocked = Stopping._refused, Stopping._blocked

    def note_refused(self: Stopping, stop: Stop, slot: int, crossing: Crossing | None, *rest: Any) -> Reason:
        reason = refused(self, stop, slot, crossing, *rest)
        found.setdefault((reason.kind, reason.message), Obstacle(stop, slot, crossing))
        return reason

    def note_blocked(self: Stopping, crossing: Crossing, axis: AxisRef) -> Reason:
        reason = blocked(self, crossing, axis)
        found.setdefault((reason.kind, reason.message), Obstacle(None, -1, crossing))
        return reason

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stopping, "_refused", note_refused)
        patch.setattr(Stopping, "_blocked", note_blocked)
        yield


class Study:
    """One program and its variants without some obstacle."""

    def __init__(self, explainer: Explainer) -> None:
        """Ask about what the explainer's record holds."""
        self._events = list(explainer.tracer.events)
        self._names = explainer.names
        self.event, self.propagation = explainer.tracer.propagations[0]

    def first_reason(
        self, question: Question, propagation: Propagation
    ) -> tuple[Reason, Obstacle | None] | None:
        """The first reason; None if the axis is there."""
        if overlapping(propagation.journal.sharding(question.slot), question.dimension, question.axis):
            return None
        events = [*self._events]
        events[self.event] = propagation
        explainer = Explainer(Record(events), self._names.table.module, self._names.table)
        found: dict[tuple[str, str], Obstacle] = {}
        with noted(found):
            spot = spots_of(propagation, question.slot)[-1]
            asked = WhyNot(explainer)
            reason = next(
                asked._in_propagation(propagation, question.slot, spot, question.dimension, question.axis)
            )
        return reason, found.get((reason.kind, reason.message))

    def without(self, obstacle: Obstacle, reason: Reason, before: Propagation) -> Propagation | None:
        """The program without an obstacle, propagated; None if that takes more than an edit in one place."""
        stop, slot, crossing = obstacle.stop, obstacle.slot, obstacle.crossing
        flat = before.program.flat
        if stop is None:
            assert crossing is not None
            kind = flat.kinds[flat.step_kinds[crossing.step]]
            assert kind.rule is not None
            if reason.kind == "barrier":
                return self._variant(before, {}, {crossing.step: replace(kind, barrier_direction=3)})
            factors = list(kind.rule.factors)
            factors[crossing.factor] = replace(factors[crossing.factor], is_blocked=False)
            rule = replace(kind.rule, factors=tuple(factors))
            is_blocked = reason.kind == "blocked"
            return (
                self._variant(before, {}, {crossing.step: replace(kind, rule=rule)}) if is_blocked else None
            )
        if slot in before.boundaries:
            return None
        change = _change(stop)
        return None if change is None else self._variant(before, {slot: change}, {})

    def _variant(
        self, before: Propagation, changes: dict[int, Change], kinds: dict[int, StepKind]
    ) -> Propagation:
        old = before.program.flat
        flat = replace(
            old,
            shardings=[*old.shardings],
            kinds=[*old.kinds],
            step_kinds=[*old.step_kinds],
            kind_numbers=dict(old.kind_numbers),
        )
        for slot, change in changes.items():
            for member in (slot, *(other.slot for other in flat.other_members(slot))):
                given = flat.shardings[member]
                assert given is not None, "the reason names an annotation"
                assert change(given) != given, "the reason names an obstacle"
                flat.shardings[member] = change(given)
        for step, kind in kinds.items():
            flat.step_kinds[step] = flat.kind_number(kind)
        journal = Journal()
        propagate(flat, before.program.meshes, journal=journal)
        program = replace(before.program, flat=flat)
        return Propagation(program, journal, before.edge_values, before.edge_owners)


def _change(stop: Stop) -> Change | None:
    """The edit of the annotation of a tensor that takes a stop away."""

    def opened(given: TensorSharding) -> TensorSharding:
        dimensions = list(given.dimensions)
        dimensions[stop.dimension] = replace(dimensions[stop.dimension], is_closed=False)
        return replace(given, dimensions=tuple(dimensions))

    def rest(axes: tuple[AxisRef, ...]) -> tuple[AxisRef, ...]:
        return tuple(axis for axis in axes if not axis.overlaps(stop.axis))

    changes: dict[StopKind, Change] = {
        StopKind.CLOSED: opened,
        StopKind.REPLICATED: lambda given: replace(given, replicated_axes=rest(given.replicated_axes)),
        StopKind.UNREDUCED: lambda given: replace(given, unreduced_axes=rest(given.unreduced_axes)),
    }
    return changes.get(stop.kind)
