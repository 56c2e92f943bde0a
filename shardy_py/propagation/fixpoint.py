"""The worklist loop: runs steps until none changes a sharding.

Results can depend on the order of steps, which is that of MLIR's greedy driver: all steps in program order; a
step that changes a value pushes the steps that depend on the value on a stack, unless they are on the
worklist. Steps that cannot change anything with the current shardings are skipped (`_settled`).

>>> worklist = Worklist(bytearray([1, 0, 0]))
>>> worklist.cursor = 1
>>> worklist.push(0); worklist.push(2); worklist.push(0)
>>> worklist.again, [*worklist.waiting]
([0], [1, 0, 1])

Not here: the changes of steps (`step.py`, `step_tables.py`), rounds (`propagate.py`, `schedule.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress

from shardy_py.propagation.basic import StepOptions, Strategy
from shardy_py.propagation.flat import UNSHARDABLE, Directions, FlatProgram, Liveness, StepKind
from shardy_py.propagation.journal import FUNCTION_RESULT, Journal, Setting, Stage
from shardy_py.propagation.schedule import DirectionOf, directions_in_round
from shardy_py.propagation.step import NO_SHARDING, Step, StepTable, before_edge
from shardy_py.propagation.step_tables import InRound, Round, StepTables, WantedModes
from shardy_py.sharding import Mesh, TensorSharding


class Worklist:
    """Steps in program order, with a stack of pushed steps that are popped first.

    waiting: by step, 1 if it is still to be popped in program order.
    queued: by step, 1 if it is on the stack.
    again: the stack, its top last.
    cursor: the last step popped in program order; later steps are never pushed on the stack.
    """

    __slots__ = ("again", "cursor", "queued", "waiting")

    def __init__(self, waiting: bytearray) -> None:
        self.waiting = waiting
        self.queued = bytearray(len(waiting))
        self.again: list[int] = []
        self.cursor = -1

    def push(self, step: int) -> None:
        """Push `step`, unless it is on the worklist."""
        if step > self.cursor:
            self.waiting[step] = 1
        elif not self.queued[step]:
            self.queued[step] = 1
            self.again.append(step)


class Erasure:
    """The dead ops: MLIR's greedy driver erases them when it visits them, so they propagate only until then.

    An op that is used by dead ops only is visited once before it is dead. Erasing an op removes a use of its
    operands, so that another user may propagate in an earlier round.
    """

    def __init__(self, program: FlatProgram, liveness: Liveness) -> None:
        self._remaining = dict(liveness.remaining_uses)
        self._users = {value: Counter(users) for value, users in liveness.users.items()}
        self._liveness = liveness
        self._erased: set[int] = set()
        self._nothing = program.kind_number(StepKind(None))
        kinds = program.kinds
        self._unshared = {
            step: program.kind_number(replace(kinds[program.step_kinds[step]], has_shared_operand=False))
            for step in liveness.reads
            if step not in liveness.shared_elsewhere
        }

    @property
    def is_done(self) -> bool:
        """Returns whether all dead ops are erased."""
        return len(self._erased) == len(self._remaining)

    def add_to(self, worklist: Worklist) -> None:
        """Add the remaining dead ops to the worklist."""
        for step in self._remaining:
            if step not in self._erased:
                worklist.waiting[step] = 1

    def visit(self, step: int, worklist: Worklist, kinds: list[int], settled: bytearray) -> bool:
        """Erase `step` if it is dead by now; returns whether it is erased."""
        if self._remaining.get(step, 1) > 0:
            return False
        if step not in self._erased:
            self._erase(step, worklist, kinds, settled)
        return True

    def _erase(self, step: int, worklist: Worklist, kinds: list[int], settled: bytearray) -> None:
        for inner in self._liveness.nested[step]:
            kinds[inner] = self._nothing
            if inner in self._remaining and inner not in self._erased:
                self._erase(inner, worklist, kinds, settled)
        self._erased.add(step)
        kinds[step] = self._nothing
        operands = self._liveness.operands[step]
        for maker, value in operands:
            # As in the driver, the op that defines an operand is visited again if at most one user is left.
            users = self._users[value]
            if maker >= 0 and len(users) - (step in users) < 2:
                worklist.push(maker)
        for maker, value in operands:
            users = self._users[value]
            users[step] -= 1
            if not users[step]:
                del users[step]
            if not _has_several(users) and users:
                self._unshare(next(iter(users)), worklist, kinds, settled)
            if maker in self._remaining:
                self._remaining[maker] -= 1

    def _unshare(self, user: int, worklist: Worklist, kinds: list[int], settled: bytearray) -> None:
        """Change the kind of the only user that is left of a value, unless it has another shared operand."""
        kind = None if user in self._erased else self._unshared.get(user)
        if kind is None or any(_has_several(self._users[value]) for value in self._liveness.reads[user]):
            return
        kinds[user] = kind
        settled[user] = 0
        if user > worklist.cursor:
            worklist.waiting[user] = 1


def _has_several(users: Counter[int]) -> bool:
    return len(users) > 1 or users.total() > 1


ALWAYS = 255
"""In `_settled`: the step changes nothing in any mode, because none of its tensors is sharded."""


class Propagator:
    """Propagation through one program: the sharding of each slot, and the rounds that change them.

    tables: those of earlier propagations of the same program with the same meshes. given: the shardings that
    slots have at first, by their identities: many slots have the same.
    """

    def __init__(
        self,
        program: FlatProgram,
        meshes: Mapping[str, Mesh],
        *,
        conservative_propagation: bool = False,
        journal: Journal | None = None,
        tables: StepTables | None = None,
    ) -> None:
        self.program = program
        self._known = StepTables(meshes) if tables is None else tables
        self.interner = self._known.interner
        number, identities = self.interner.number, [*map(id, program.shardings)]
        self.given = dict(zip(identities, program.shardings, strict=True))
        numbers = {n: NO_SHARDING if each is None else number(each) for n, each in self.given.items()}
        self.shardings = [*map(numbers.__getitem__, identities)]
        self._journal = journal
        self._is_conservative = conservative_propagation
        self._erasure = Erasure(program, program.liveness) if program.liveness else None
        self._kinds = list(program.step_kinds)
        self._reads = self._known.readers(program)
        self._wanted: WantedModes = {} if self._erasure is not None else self._known.wanted(program)
        # By step: the mode (see `_mode`) in which it changes nothing at present; 0: unknown.
        # An edge without axes at the boundary of a manual computation may still have manual axes.
        settled = [0 if kind.boundary is not None else ALWAYS for kind in program.kinds]
        self._settled = bytearray(map(settled.__getitem__, self._kinds))
        sharded = {n for n, each in self.given.items() if each is not None and not each.has_no_axes}
        for slot in compress(range(len(identities)), map(sharded.__contains__, identities)):
            self._unsettle(slot)
        if journal is not None:
            journal.values, journal.meshes, journal.kinds = self.interner.values, meshes, self._kinds
            journal.start_numbers, journal.end_numbers = tuple(self.shardings), self.shardings

    def sharding(self, slot: int) -> TensorSharding | None:
        """The sharding that `slot` holds now."""
        return self.interner.values[self.shardings[slot]]

    def set_sharding(self, slot: int, sharding: TensorSharding | None) -> None:
        """Replace what `slot` holds."""
        self.shardings[slot] = self.interner.number(sharding)
        if (journal := self._journal) is not None:
            journal.settings.append(Setting(len(journal.entries), slot, self.shardings[slot]))
        self._unsettle(slot)

    def run_round(
        self, strategy: Strategy, schedule: tuple[DirectionOf, ...], number: int, stage: str = ""
    ) -> None:
        """Run round `number` of `schedule` to its fixed point, with function results before and after."""
        tables, modes = self._tables_of_round(strategy, schedule, number)
        if self._journal is not None:
            self._journal.stages.append(Stage(len(self._journal.entries), stage, tables))
        self._run_returned(strategy)
        self._run_steps(tables, modes)
        self._run_returned(strategy)

    def _run_steps(self, tables: Sequence[StepTable | None], modes: Sequence[int]) -> None:
        entries = None if self._journal is None else self._journal.entries
        kinds, reads, settled, shardings = self._kinds, self._reads, self._settled, self.shardings
        program = self.program
        slots_of, dependents, others = program.step_slots, program.dependents, program.other_readers
        groups, write = program.groups, self._write
        worklist = Worklist(self._unsettled(modes))
        waiting, queued, again = worklist.waiting, worklist.queued, worklist.again
        find, cursor = waiting.find, -1
        erasure = self._erasure
        if erasure is not None:
            erasure.add_to(worklist)
        while True:
            # `Worklist.push`, inlined below: most of the time of propagation is spent here.
            if again:
                step = again.pop()
                queued[step] = 0
            else:
                step = find(1, cursor + 1)
                if step < 0:
                    break
                worklist.cursor = cursor = step
            if erasure is not None and erasure.visit(step, worklist, kinds, settled):
                continue
            kind = kinds[step]
            table = tables[kind]
            if table is None:
                continue
            numbers = reads[step](shardings)
            changes = table[numbers]
            if not changes:
                settled[step] = modes[kind]
                continue
            settled[step] = 0
            if entries is not None:
                entries.append((step, numbers, table.step, changes))
            slots = slots_of[step]
            for position, new in changes:
                slot = slots[position]
                if slot == UNSHARDABLE:
                    continue
                write(slot, new)
                for user in dependents[slot]:
                    settled[user] = 0
                    if user > cursor:
                        waiting[user] = 1
                    elif user != step and not queued[user]:
                        queued[user] = 1
                        again.append(user)
                if slot in others:
                    self._revisit(others[slot], worklist)
                if slot in groups:
                    self._follow_group(step, slot, new, worklist)
        if erasure is not None and erasure.is_done:
            self._erasure = None

    def _run_returned(self, strategy: Strategy) -> None:
        """Propagate once between each value that the main function returns and its result, in order."""
        shardings = self.shardings
        for index, (slots, table) in enumerate(self._known.returned(self.program, strategy)):
            numbers = (shardings[slots[0]], shardings[slots[1]])
            changes = table[numbers]
            if not changes:
                continue
            if self._journal is not None:
                self._journal.entries.append((FUNCTION_RESULT - index, numbers, table.step, changes))
            for position, new in changes:
                members = self.program.other_members(slots[position])
                for slot in (slots[position], *(member.slot for member in members)):
                    self._write(slot, new)
                    self._unsettle(slot)

    def _follow_group(self, step: int, slot: int, new: int, worklist: Worklist) -> None:
        """Gives the other members of the group of `slot` what a step gave it."""
        shared = self._as_group_has(step, slot, new)
        for member in self.program.other_members(slot):
            self._write(member.slot, shared)
            self._enqueue(step, member.dependents, worklist)
            self._revisit(self.program.other_readers.get(member.slot, ()), worklist)

    def _as_group_has(self, step: int, slot: int, new: int) -> int:
        """The sharding that the group of `slot` gets: of an edge at a boundary, what its source sees."""
        boundary = self.program.kinds[self.program.step_kinds[step]].boundary
        sharding = self.interner.values[new]
        if boundary is None or sharding is None or slot != self.program.step_slots[step][-1]:
            return new
        return self.interner.number(before_edge(boundary, sharding))

    def _enqueue(self, step: int, users: Sequence[int], worklist: Worklist) -> None:
        for user in users:
            self._settled[user] = 0
            if user != step:
                worklist.push(user)

    def _revisit(self, users: Sequence[int], worklist: Worklist) -> None:
        """Run these steps again only if they are still to come in program order."""
        for user in users:
            self._settled[user] = 0
            if user > worklist.cursor:
                worklist.waiting[user] = 1

    def _unsettle(self, slot: int) -> None:
        """Between rounds: run the steps that read `slot` again."""
        for step in (*self.program.dependents[slot], *self.program.other_readers.get(slot, ())):
            self._settled[step] = 0

    def _write(self, slot: int, new: int) -> None:
        # Once a result has a sharding, the other results of its op have open ones on the same mesh.
        if self.shardings[slot] == NO_SHARDING and slot in self.program.siblings:
            for sibling in self.program.siblings[slot]:
                if sibling != slot and self.shardings[sibling] == NO_SHARDING:
                    self.shardings[sibling] = self._open_number(new, sibling)
        self.shardings[slot] = new

    def _open_number(self, like: int, slot: int) -> int:
        sharding = self.interner.values[like]
        assert sharding is not None
        return self.interner.number(TensorSharding.fully_open(sharding.mesh, self.program.ranks[slot]))

    def _tables_of_round(self, strategy: Strategy, schedule: tuple[DirectionOf, ...], number: int) -> Round:
        kinds = self.program.kinds
        key = strategy, schedule, number, len(kinds), self._is_conservative
        known = self._known.rounds.get(key)
        if known is None:
            known = self._known.rounds[key] = self._new_round(strategy, schedule, number)
        return known

    def _new_round(self, strategy: Strategy, schedule: tuple[DirectionOf, ...], number: int) -> Round:
        tables: list[StepTable | None] = []
        modes: list[int] = []
        kinds, key = self.program.kinds, (strategy, schedule, number, self._is_conservative)
        for index, (kind, known) in enumerate(zip(kinds, self._known.of_kinds(kinds), strict=True)):
            found = known.get(key)
            if found is None:
                found = known[key] = self._in_round(
                    kind, strategy, directions_in_round(kind, schedule, number)
                )
            table, directions = found
            tables.append(table)
            modes.append(0 if table is None else self._known.mode(index, strategy, directions))
        return tables, modes

    def _in_round(self, kind: StepKind, strategy: Strategy, directions: Directions) -> InRound:
        if kind.rule is None or not any(directions):
            return None, directions
        is_conservative = self._is_conservative and not kind.is_edge and not kind.is_barrier
        options = StepOptions(kind.rule.factor_sizes, directions, is_conservative, kind.is_elementwise)
        return self._known.of(Step(kind.rule, strategy, options, kind.boundary)), directions

    def _unsettled(self, modes: Sequence[int]) -> bytearray:
        """By step: 1 if it may change something in a round with these modes by kind."""
        wanted, is_wanted, _ = self._wanted.get(id(modes)) or self._by_step(modes)
        size = len(self._kinds)
        differs = (wanted ^ _bits(self._settled)).to_bytes(size, "little")
        may_change = is_wanted & _bits(self._settled.translate(_NOT_ALWAYS))
        return bytearray((may_change & _bits(differs.translate(_NOT_ZERO))).to_bytes(size, "little"))

    def _by_step(self, modes: Sequence[int]) -> tuple[int, int, Sequence[int]]:
        """As integers of a byte a step: its mode, and whether it has one; kept when kinds change no more."""
        wanted = bytes(map(modes.__getitem__, self._kinds))
        found = _bits(wanted), _bits(wanted.translate(_NOT_ZERO)), modes
        if self._erasure is None:
            self._wanted[id(modes)] = found
        return found


_NOT_ZERO, _NOT_ALWAYS = (bytes(byte != other for byte in range(256)) for other in (0, ALWAYS))


def _bits(data: bytes | bytearray) -> int:
    """All bytes as one integer, to combine them at once; numpy would have to be imported for it."""
    return int.from_bytes(data, "little")
