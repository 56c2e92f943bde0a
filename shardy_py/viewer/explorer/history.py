"""The shardings of all values over time: before propagation, after each of its steps, and at the end.

Read from the record of the passes. Not here: the record (`propagation/graph/run_record.py`), explanations
of one value as text (`report/explain/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.value_table import ValueTable
from shardy_py.propagation.flat import UNSHARDABLE
from shardy_py.propagation.graph.run_record import Propagation, Record
from shardy_py.propagation.journal import FUNCTION_RESULT, Arrival
from shardy_py.report.explain import Names, spots_of
from shardy_py.sharding import TensorSharding

MOST_STEPS = 100_000


class ShownMove(NamedTuple):
    """An axis that appeared on a dimension of a value, and where it came from; values as table positions."""

    value: int
    dimension: int
    axis: str
    source: int
    source_dimension: int


class ShownStep(NamedTuple):
    """A step that changed shardings.

    stage: the round. op: through which axes moved; None for a function result or a sharding group.
    changes: values with their new shardings. moves: the axes that the step added.
    """

    stage: str
    op: Operation | None
    changes: tuple[tuple[int, TensorSharding | None], ...]
    moves: tuple[ShownMove, ...]


@dataclass(frozen=True, slots=True)
class History:
    """The shardings before propagation, by value, and the steps to the final ones."""

    start: tuple[TensorSharding | None, ...]
    steps: tuple[ShownStep, ...]


def history_of(
    table: ValueTable, shardings: Sequence[TensorSharding | None], record: Record | None
) -> History:
    """Returns the history of the values of a final program; without a record, the final shardings only.

    shardings: the final ones, by value.

    The last step has what other passes changed after propagation.
    """
    final = tuple(shardings)
    if record is None:
        return History(final, ())
    names = Names(record, table.module, table)
    numbers = {id(entry): number for number, entry in enumerate(table.entries)}
    start: dict[int, TensorSharding | None] = {}
    known = dict[int, TensorSharding | None]()
    steps: list[ShownStep] = []
    for propagation in record.propagations:
        places: dict[int, int] = {}
        for slot in range(UNSHARDABLE + 1, len(propagation.program.slots.values)):
            entry = names.entry(spots_of(propagation, slot)[-1])
            if entry is not None:
                number = places[slot] = numbers[id(entry)]
                start.setdefault(number, propagation.journal.first_sharding(slot))
        for step in _steps(propagation, places):
            known.update(step.changes)
            if len(steps) < MOST_STEPS:
                steps.append(step)
    before = tuple(start.get(number, sharding) for number, sharding in enumerate(final))
    end = (known.get(number, before[number]) for number in range(len(final)))
    last = tuple((n, new) for n, (old, new) in enumerate(zip(end, final, strict=True)) if old != new)
    return History(before, (*steps, *([ShownStep("other passes", None, last, ())] if last else [])))


def _steps(propagation: Propagation, places: dict[int, int]) -> Iterator[ShownStep]:
    """The steps of one propagation, where they change values of the final program; places: by slot."""
    journal, arrivals = propagation.journal, propagation.arrivals
    stages = _stage_names(propagation)
    moves: dict[int, list[Arrival]] = {}
    for slot in places:
        for arrival in arrivals.at(slot):
            moves.setdefault(arrival.entry, []).append(arrival)
    for index, (number, _, _, changed) in enumerate(journal.entries):
        slots = arrivals.slots_of(number)
        changes: dict[int, TensorSharding | None] = {}
        for position, sharding in changed:
            slot = slots[position]
            members = (member.slot for member in propagation.program.flat.other_members(slot))
            changes.update((places[s], journal.values[sharding]) for s in (slot, *members) if s in places)
        if changes:
            op = None if number <= FUNCTION_RESULT else propagation.program.step_ops[number]
            found = tuple(_move(arrival, places) for arrival in moves.get(index, ()))
            yield ShownStep(stages[index], op, tuple(changes.items()), found)


def _move(arrival: Arrival, places: dict[int, int]) -> ShownMove:
    source = arrival.sources[0]
    axis = str(arrival.axis).replace('"', "")
    return ShownMove(
        places[arrival.slot], arrival.dimension, axis, places.get(source.slot, -1), source.dimension
    )


def _stage_names(propagation: Propagation) -> Sequence[str]:
    journal = propagation.journal
    names = [""] * len(journal.entries)
    for stage in journal.stages:
        names[stage.first_entry :] = [stage.name] * (len(names) - stage.first_entry)
    return names
