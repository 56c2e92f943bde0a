"""Dead ops: MLIR's greedy driver erases them when it visits them, so they propagate only until then.

An op that is used by dead ops only is visited once before it is dead. Erasing an op removes a use of its
operands, so that another user may propagate in an earlier round.

Not here: which ops are dead (`graph/liveness.py`), erasing them from the IR (`graph/program.py`).
"""

from __future__ import annotations

from shardy_py.propagation.flat import FlatProgram, Liveness, StepKind
from shardy_py.propagation.worklist import Worklist


class Erasure:
    """The dead ops, erased one by one."""

    def __init__(self, program: FlatProgram, liveness: Liveness) -> None:
        """Start with all dead ops present."""
        self._remaining = dict(liveness.remaining_uses)
        self._users = {value: list(users) for value, users in liveness.users.items()}
        self._liveness = liveness
        self._erased: set[int] = set()
        self._nothing = program.kind_number(StepKind(None))
        self._unshared = {
            step: program.unshared(program.step_kinds[step])
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
        remaining = self._remaining.get(step)
        if remaining is None or remaining > 0:
            return False
        if step in self._erased:
            return True
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
            if maker >= 0 and len({*self._users[value]} - {step}) < 2:
                worklist.push(maker)
        for maker, value in operands:
            users = self._users[value]
            users.remove(step)
            if len(users) == 1:
                self._unshare(users[0], worklist, kinds, settled)
            if maker in self._remaining:
                self._remaining[maker] -= 1

    def _unshare(self, user: int, worklist: Worklist, kinds: list[int], settled: bytearray) -> None:
        """Change the kind of the only user that is left of a value, unless it has another shared operand."""
        kind = None if user in self._erased else self._unshared.get(user)
        if kind is None or any(len(self._users[value]) > 1 for value in self._liveness.reads[user]):
            return
        kinds[user] = kind
        settled[user] = 0
        if user > worklist.cursor:
            worklist.waiting[user] = 1
