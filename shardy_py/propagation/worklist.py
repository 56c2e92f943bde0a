"""The worklist of a round: steps in program order, and on top a stack of steps to run again.

Not here: running a step (`fixpoint.py`).

>>> worklist = Worklist(bytearray([1, 0, 1]))
>>> worklist.pop(), worklist.pop()
(0, 2)
>>> worklist.push(0); worklist.push(1); worklist.push(0)
>>> worklist.pop(), worklist.pop(), worklist.pop()
(1, 0, -1)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from shardy_py.propagation.flat import FlatProgram, Liveness, StepKind


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

    def pop(self) -> int:
        """Remove and return the next step; -1 if there is none."""
        if self.again:
            step = self.again.pop()
            self.queued[step] = 0
            return step
        step = self.waiting.find(1, self.cursor + 1)
        self.cursor = step if step >= 0 else len(self.waiting)
        return step

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
        """Whether all dead ops are erased."""
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
