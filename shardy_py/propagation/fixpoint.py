"""The loop: steps in program order, again where something changed, until nothing does.

The order is that of MLIR's greedy driver, because results can depend on it. All steps start on a list in
program order. A step that changes a value puts the steps that see the value on top of the list, unless they
are on it. A step that cannot change anything with the shardings around it is passed over (`_settled`).

Not here: what a step changes (`step.py`), rounds and priorities (`propagate.py`, `schedule.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from shardy_py.propagation.basic import StepOptions, Strategy
from shardy_py.propagation.directions import Direction, Directions
from shardy_py.propagation.erasure import Erasure
from shardy_py.propagation.flat import UNSHARDABLE, FlatProgram
from shardy_py.propagation.journal import FUNCTION_RESULT, Journal, Setting, Stage
from shardy_py.propagation.schedule import DirectionOf, directions_in_round
from shardy_py.propagation.step import Change, Step, StepTable
from shardy_py.propagation.worklist import Worklist
from shardy_py.sharding import Interner, Mesh, TensorSharding
from shardy_py.sharding.interner import NO_SHARDING

ALWAYS = 255
"""In `_settled`: the step changes nothing in any mode, because nothing around it is sharded."""


@dataclass(frozen=True, slots=True)
class Event:
    """One change: who changed what, and when.

    step: the step that did it, or `FUNCTION_RESULT`.
    slot: what changed; `source` is the slot it differs from when it follows another member of its group.
    old, new: its shardings.
    stage: the name of the round.
    """

    step: int
    slot: int
    old: TensorSharding | None
    new: TensorSharding | None
    stage: str
    source: int | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """One step that changed something: all that is needed to take it again.

    number: the step, or `FUNCTION_RESULT`.
    step: the way through it in that round.
    slots, shardings: of its tensors, before it was taken.
    """

    number: int
    step: Step
    slots: tuple[int, ...]
    shardings: tuple[TensorSharding | None, ...]


class Propagator:
    """Propagation through one program: which slot holds which sharding, and the rounds that change it."""

    def __init__(
        self,
        program: FlatProgram,
        meshes: Mapping[str, Mesh],
        *,
        conservative_propagation: bool = False,
        log: list[Event] | None = None,
        trail: list[Taken] | None = None,
        journal: Journal | None = None,
    ) -> None:
        """Start from the program's own shardings; `log` collects changes, `trail` steps, if given.

        `journal` gets what it takes to tell all of it again later, at next to no cost now.
        """
        self.program = program
        self.interner = Interner()
        self.shardings = [self.interner.number(sharding) for sharding in program.shardings]
        self.log = log
        self.trail = trail
        self._journal = journal
        self._meshes = meshes
        self._is_conservative = conservative_propagation
        self._erasure = Erasure(program, program.liveness) if program.liveness else None
        self._kinds = list(program.step_kinds)
        self._reads = [_reader(slots) for slots in program.step_slots]
        self._tables: dict[Step, StepTable] = {}
        self._returned_tables: dict[Strategy, list[StepTable]] = {}
        self._modes: dict[tuple[int, Strategy, Directions], int] = {}
        self._open_numbers: dict[tuple[int, int], int] = {}
        # By step: the mode (see `_mode`) in which it is known to change nothing now; 0: not known.
        # At the border of a manual computation an edge without axes may still have manual ones.
        self._settled = bytearray(
            0 if program.kinds[kind].boundary is not None else ALWAYS for kind in self._kinds
        )
        for slot, sharding in enumerate(program.shardings):
            if sharding is not None and not sharding.has_no_axes:
                self._touch(slot)
        if journal is not None:
            journal.values, journal.meshes, journal.kinds = self.interner.values, meshes, self._kinds
            journal.start_numbers, journal.end_numbers = tuple(self.shardings), self.shardings

    def sharding(self, slot: int) -> TensorSharding | None:
        """The sharding that `slot` holds now."""
        return self.interner.values[self.shardings[slot]]

    def set_sharding(self, slot: int, sharding: TensorSharding | None) -> None:
        """Replace what `slot` holds."""
        self.shardings[slot] = self.interner.number(sharding)
        if self._journal is not None:
            entry = len(self._journal.entries)
            self._journal.settings.append(Setting(entry, slot, self.shardings[slot]))
        self._touch(slot)

    def run_round(
        self, strategy: Strategy, schedule: tuple[DirectionOf, ...], number: int, stage: str = ""
    ) -> None:
        """Run round `number` of `schedule` to its fixed point, function results before and after."""
        if self._journal is not None:
            tables, _ = self._tables_of_round(strategy, schedule, number)
            self._journal.stages.append(Stage(len(self._journal.entries), stage, tables))
        self._run_returned(strategy, stage)
        self._run_steps(strategy, schedule, number, stage)
        self._run_returned(strategy, stage)

    def _run_steps(
        self, strategy: Strategy, schedule: tuple[DirectionOf, ...], number: int, stage: str
    ) -> None:
        tables, modes = self._tables_of_round(strategy, schedule, number)
        entries = None if self._journal is None else self._journal.entries
        kinds, reads, settled, shardings = self._kinds, self._reads, self._settled, self.shardings
        worklist = Worklist(self._unsettled(modes))
        erasure = self._erasure
        if erasure is not None:
            erasure.add_to(worklist)
        pop = worklist.pop
        while (step := pop()) >= 0:
            if erasure is not None and erasure.visit(step, worklist, kinds, settled):
                continue
            kind = kinds[step]
            table = tables[kind]
            if table is None:
                continue
            numbers = reads[step](shardings)
            changes = table[numbers]
            if changes:
                settled[step] = 0
                if entries is not None:
                    entries.append((step, numbers, table.step, changes))
                if self.trail is not None:
                    self._remember(step, table, self.program.step_slots[step])
                self._apply(step, changes, worklist, stage)
            else:
                settled[step] = modes[kind]
        if erasure is not None and erasure.is_done:
            self._erasure = None

    def _run_returned(self, strategy: Strategy, stage: str) -> None:
        """Match what the main function returns with the shardings of its results, once, in order."""
        tables = self._returned_tables.get(strategy)
        if tables is None:
            tables = self._returned_tables[strategy] = [
                self._table(Step(value.rule, strategy, _both_ways(value.rule.factor_sizes)))
                for value in self.program.returned
            ]
        shardings = self.shardings
        for index, (value, table) in enumerate(zip(self.program.returned, tables, strict=True)):
            slots = (value.slot, value.result_slot)
            numbers = (shardings[slots[0]], shardings[slots[1]])
            changes = table[numbers]
            if changes and self._journal is not None:
                self._journal.entries.append((FUNCTION_RESULT - index, numbers, table.step, changes))
            if changes and self.trail is not None:
                self._remember(FUNCTION_RESULT, table, slots)
            for position, new in changes:
                slot = slots[position]
                self._write(FUNCTION_RESULT, slot, new, stage)
                self._touch(slot)
                for member in self.program.groups.get(slot, ()):
                    self._write(FUNCTION_RESULT, member.slot, new, stage, slot)
                    self._touch(member.slot)

    def _remember(self, step: int, table: StepTable, slots: tuple[int, ...]) -> None:
        assert self.trail is not None
        shardings = tuple(self.interner.values[self.shardings[slot]] for slot in slots)
        self.trail.append(Taken(step, table.step, slots, shardings))

    def _apply(self, step: int, changes: Sequence[Change], worklist: Worklist, stage: str) -> None:
        program, settled, write = self.program, self._settled, self._write
        notified, unnotified, groups = program.notified, program.unnotified, program.groups
        slots = program.step_slots[step]
        cursor, waiting, queued, again = (
            worklist.cursor,
            worklist.waiting,
            worklist.queued,
            worklist.again,
        )
        for position, new in changes:
            slot = slots[position]
            if slot == UNSHARDABLE:
                continue
            write(step, slot, new, stage)
            # `Worklist.push`, written out: most of the time of propagation is spent here.
            for user in notified[slot]:
                settled[user] = 0
                if user > cursor:
                    waiting[user] = 1
                elif user != step and not queued[user]:
                    queued[user] = 1
                    again.append(user)
            if slot in unnotified:
                self._see(unnotified[slot], worklist)
            if slot in groups:
                for member in groups[slot]:
                    write(step, member.slot, new, stage, slot)
                    self._wake(step, member.steps, worklist)
                    self._see(unnotified.get(member.slot, ()), worklist)

    def _wake(self, step: int, users: Sequence[int], worklist: Worklist) -> None:
        for user in users:
            self._settled[user] = 0
            if user != step:
                worklist.push(user)

    def _see(self, users: Sequence[int], worklist: Worklist) -> None:
        """Steps that are not put back still see the change when their turn comes."""
        for user in users:
            self._settled[user] = 0
            if user > worklist.cursor:
                worklist.waiting[user] = 1

    def _touch(self, slot: int) -> None:
        """Between rounds: forget what was known of the steps that see `slot`."""
        for step in self.program.notified[slot]:
            self._settled[step] = 0
        for step in self.program.unnotified.get(slot, ()):
            self._settled[step] = 0

    def _write(self, step: int, slot: int, new: int, stage: str, source: int | None = None) -> None:
        old = self.shardings[slot]
        if old == NO_SHARDING and slot in self.program.siblings:
            # The first sharding of a result gives the others of its op open ones on the same mesh.
            for sibling in self.program.siblings[slot]:
                if self.shardings[sibling] == NO_SHARDING:
                    self.shardings[sibling] = self._open_number(new, sibling)
        self.shardings[slot] = new
        if self.log is not None:
            values = self.interner.values
            self.log.append(Event(step, slot, values[old], values[new], stage, source))

    def _open_number(self, like: int, slot: int) -> int:
        rank = self.program.ranks[slot]
        number = self._open_numbers.get((like, rank))
        if number is None:
            sharding = self.interner.values[like]
            assert sharding is not None
            number = self.interner.number(TensorSharding.fully_open(sharding.mesh, rank))
            self._open_numbers[like, rank] = number
        return number

    def _tables_of_round(
        self, strategy: Strategy, schedule: tuple[DirectionOf, ...], number: int
    ) -> tuple[list[StepTable | None], list[int]]:
        """By kind of step: the table of the round, None if no axis may move; and the mode, then 0."""
        tables: list[StepTable | None] = []
        modes: list[int] = []
        for index, kind in enumerate(self.program.kinds):
            directions = directions_in_round(kind, schedule, number)
            if kind.rule is None or not any(directions):
                tables.append(None)
                modes.append(0)
                continue
            conservative_propagation = self._is_conservative and not kind.is_edge and not kind.is_barrier
            options = StepOptions(
                kind.rule.factor_sizes, directions, conservative_propagation, kind.is_elementwise
            )
            tables.append(self._table(Step(kind.rule, strategy, options, kind.boundary)))
            modes.append(self._mode(index, strategy, directions))
        return tables, modes

    def _mode(self, kind: int, strategy: Strategy, directions: Directions) -> int:
        """A number, 1 and up, for what steps of a kind do in a round; the same when they do the same."""
        key = (kind, strategy, directions)
        mode = self._modes.get(key)
        if mode is None:
            mode = self._modes[key] = 1 + sum(1 for known in self._modes if known[0] == kind)
        return mode

    def _table(self, step: Step) -> StepTable:
        table = self._tables.get(step)
        if table is None:
            table = self._tables[step] = StepTable(step, self.interner, self._meshes)
        return table

    def _unsettled(self, modes: Sequence[int]) -> bytearray:
        """By step: 1 if it may change something in a round in which its kind has that mode."""
        wanted = np.asarray(modes, np.uint8)[np.asarray(self._kinds, np.intp)]
        settled = np.frombuffer(self._settled, np.uint8)
        return bytearray(((wanted != 0) & (settled != wanted) & (settled != ALWAYS)).tobytes())


def _both_ways(factor_sizes: tuple[int, ...]) -> StepOptions:
    return StepOptions(factor_sizes, (Direction.BOTH,) * len(factor_sizes))


def _reader(slots: tuple[int, ...]) -> Callable[[list[int]], tuple[int, ...]]:
    """A function that takes what `slots` hold from the list of all, as a tuple."""
    if len(slots) < 2:
        return lambda shardings: tuple(shardings[slot] for slot in slots)
    return itemgetter(*slots)
