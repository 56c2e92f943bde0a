"""The journal of a propagation: all changes in order, at little cost.

Each step that changes something appends one tuple of existing objects: `(3, (1, 0, 0), step, ((2, 1),))` if
step 3 read the shardings number 1, 0, 0 and changed that of its tensor 2 to number 1. `Arrivals` derives on
demand which axis appeared where, along which factor of which step, and from which tensors. Not here:
shardings that passes move (`mlir/movements.py`), tracing an axis to its origin (`report/explain/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from shardy_py.propagation.flat import UNSHARDABLE, FlatProgram
from shardy_py.propagation.provenance import new_axes
from shardy_py.propagation.step import Change, Passage, Step, StepTable
from shardy_py.sharding import AxisRef, Mesh, ShardingRule, TensorSharding

FUNCTION_RESULT = -1
"""The number of the step between the first value that the main function returns and its result."""

Entry = tuple[int, tuple[int, ...], Step, Sequence[Change]]
"""One step that changed something: its number, or `FUNCTION_RESULT` minus the index of the result; the
numbers of the shardings it read; the step; its changes."""


class Stage(NamedTuple):
    """One round: its first entry, its name, and the table of each kind of step (None: no axis may move)."""

    first_entry: int
    name: str
    tables: Sequence[StepTable | None]


class Setting(NamedTuple):
    """A sharding set between rounds, when dimensions of a user priority are held back or restored."""

    first_entry: int
    slot: int
    number: int


class Journal:
    """The record of one propagation; filled by `Propagator`.

    entries: the steps that changed something, in order.
    stages, settings: rounds, and shardings set between them, each with the number of the next entry.
    values: by number, the sharding.
    start_numbers, end_numbers: by slot, the number of its sharding before and after.
    meshes: by symbol.
    kinds: by step, the index of its kind at the end.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.stages: list[Stage] = []
        self.settings: list[Setting] = []
        self.values: Sequence[TensorSharding | None] = (None,)
        self.start_numbers: tuple[int, ...] = ()
        self.end_numbers: Sequence[int] = ()
        self.meshes: Mapping[str, Mesh] = {}
        self.kinds: Sequence[int] = ()

    def sharding(self, slot: int) -> TensorSharding | None:
        """The final sharding of `slot`."""
        return self.values[self.end_numbers[slot]]

    def first_sharding(self, slot: int) -> TensorSharding | None:
        """The initial sharding of `slot`."""
        return self.values[self.start_numbers[slot]]

    def stage_of(self, entry: int) -> str:
        """The name of the round of entry number `entry`."""
        names = [stage.name for stage in self.stages if stage.first_entry <= entry]
        return names[-1] if names else ""


class AxisSource(NamedTuple):
    """A tensor that had the axis: its position in the step, its slot, and the dimension of the factor."""

    position: int
    slot: int
    dimension: int


class Arrival(NamedTuple):
    """An axis that appeared on a dimension.

    entry: the number of the entry in the journal; smaller is earlier.
    slot, dimension, axis: the axis, and where it appeared.
    step: the number of the step, as in the journal; None if it came from another member of a sharding group.
    position: of the tensor among operands, then results, of the step.
    factor: of the step's rule.
    sources: the tensors that had it, ordered by position; not empty.
    """

    entry: int
    slot: int
    dimension: int
    axis: AxisRef
    step: int | None
    position: int
    factor: int
    sources: tuple[AxisSource, ...]


class _Move(NamedTuple):
    """An arrival in terms of positions, shared by equal entries."""

    position: int
    dimension: int
    axis: AxisRef
    factor: int
    sources: tuple[tuple[int, int], ...]


class Arrivals:
    """All arrivals of one propagation, by slot."""

    def __init__(self, program: FlatProgram, journal: Journal) -> None:
        self.program = program
        self.journal = journal
        self._moves: dict[tuple[int, tuple[int, ...]], tuple[_Move, ...]] = {}
        self._known: dict[int, Sequence[Arrival]] = {}

    def at(self, slot: int) -> Sequence[Arrival]:
        """The arrivals at a slot, in order, computed on demand, once per distinct step."""
        known = self._known.get(slot)
        if known is None:
            entries = self.journal.entries
            known = self._known[slot] = [
                arrival
                for index in self._entries_at.get(slot, ())
                for arrival in self._of_entry(slot, index, entries[index])
            ]
        return known

    def slots_of(self, number: int) -> tuple[int, ...]:
        """The slots of a step; for a function result, those of the returned value and the result."""
        if number <= FUNCTION_RESULT:
            returned = self.program.returned[FUNCTION_RESULT - number]
            return (returned.slot, returned.result_slot)
        return self.program.step_slots[number]

    def rule_of(self, number: int) -> ShardingRule | None:
        """The rule of a step."""
        if number <= FUNCTION_RESULT:
            return self.program.returned[FUNCTION_RESULT - number].rule
        return self.program.kinds[self.program.step_kinds[number]].rule

    @cached_property
    def _entries_at(self) -> dict[int, list[int]]:
        """By slot, the entries of the journal that change it, or a member of its sharding group."""
        found: dict[int, list[int]] = {}
        program, groups = self.program, self.program.groups
        for index, (number, _, _, changes) in enumerate(self.journal.entries):
            slots = self.slots_of(number)
            changed = [slots[position] for position, _ in changes]
            if groups:
                changed += [member.slot for slot in changed for member in program.other_members(slot)]
            for slot in changed if len(changed) == 1 else dict.fromkeys(changed):
                found.setdefault(slot, []).append(index)
        return found

    def _of_entry(self, slot: int, index: int, entry: Entry) -> list[Arrival]:
        """The arrivals of an entry at a slot."""
        number, _, _, changes = entry
        slots = self.slots_of(number)
        moves = self._moves_of(entry)
        found: list[Arrival] = []
        for position, dimension, axis, factor, holders in moves:
            if slots[position] == slot != UNSHARDABLE:
                sources = tuple([AxisSource(holder, slots[holder], at) for holder, at in holders])
                found.append(Arrival(index, slot, dimension, axis, number, position, factor, sources))
        for changed, _ in changes if self.program.groups else ():
            for member in self.program.other_members(slots[changed]):
                for position, dimension, axis, factor, _ in moves if member.slot == slot else ():
                    if position == changed:
                        source = (AxisSource(position, slots[position], dimension),)
                        found.append(Arrival(index, slot, dimension, axis, None, position, factor, source))
        return found

    def _moves_of(self, entry: Entry) -> tuple[_Move, ...]:
        _, numbers, step, changes = entry
        key = (id(step), numbers)
        moves = self._moves.get(key)
        if moves is None:
            values = self.journal.values
            passage = step.passage(tuple(values[number] for number in numbers), self.journal.meshes)
            assert passage is not None
            new = {position: values[number] for position, number in changes}
            moves = self._moves[key] = tuple(_moves(step, passage, new))
        return moves


def _moves(step: Step, passage: Passage, new: dict[int, TensorSharding | None]) -> Iterator[_Move]:
    """The axes that one passage added, and that remain when factors are merged to dimensions."""
    tensors = step.rule.tensors
    for position, sharding in new.items():
        assert sharding is not None
        before, after = passage.before.tensors[position].factors, passage.after.tensors[position].factors
        for at, dimension in enumerate(tensors[position]):
            kept = sharding.dimensions[at].axes
            for factor in dimension:
                mine, its = before[factor], after[factor]
                if mine is None or its is None or mine.axes == its.axes:
                    continue
                for axis in new_axes(mine.axes, its.axes):
                    if any(axis.overlaps(other) for other in kept):
                        sources = tuple(_holders(step.rule, passage, position, factor, axis))
                        yield _Move(position, at, axis, factor, sources)


def _holders(
    rule: ShardingRule, passage: Passage, target: int, factor: int, axis: AxisRef
) -> Iterator[tuple[int, int]]:
    """The other tensors sharded along `factor` on `axis` or a sub-axis of it, with the dimension."""
    for position, tensor in enumerate(passage.before.tensors):
        along = tensor.factors[factor]
        if position != target and along is not None and any(axis.overlaps(other) for other in along.axes):
            mapping = rule.tensors[position]
            yield position, next(at for at, factors in enumerate(mapping) if factor in factors)
