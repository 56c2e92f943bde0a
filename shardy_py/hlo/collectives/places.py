"""The places of collectives in a program: how many others each needs, and how many need it, in a row.

Compilers keep this order where they drop names and lines. Of a collective in a loop, also where the loop is.
Not here: the collectives (`reading.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shardy_py.base.records import dataclass
from shardy_py.hlo.collectives.flow import Flow
from shardy_py.hlo.text import Computation, Instruction

Place = tuple[tuple[int, int], ...]
"""From the entry computation inwards: the collectives before and after, each in need of the one before."""


@dataclass(frozen=True, slots=True)
class _Longest:
    """The most collectives in a row before each instruction, with its own, and from each to the end."""

    before: Mapping[str, int]
    after: Mapping[str, int]
    whole: int


class CollectivePlaces:
    """The places of instructions of a module; counts: the collectives that an instruction itself sends."""

    def __init__(self, flow: Flow, counts: Callable[[Instruction], int]) -> None:
        self.flow, self.counts = flow, counts
        self._inside: dict[str, _Longest] = {}
        for computation in flow.module.computations:  # each after those it calls
            if computation.name in flow.runs:
                self._inside[computation.name] = self._longest(computation)
        self._around: dict[str, Place] = {flow.module.entry: ()}
        for computation in reversed(flow.module.computations):
            own = self._around.get(computation.name)
            if own is None:
                continue
            for instruction in computation.instructions:
                for inner, _ in flow.called(computation, instruction):
                    self._around.setdefault(inner.name, (*own, self._own(computation, instruction)))

    def of(self, computation: Computation, operand: str, readers: tuple[str, ...], sender: str) -> Place:
        """Returns the place of a value that one collective sends, as if it sent nothing else.

        operand: the instruction whose value is sent. readers: those that have it afterwards, or the sender.
        """
        found = self._inside[computation.name]
        after = max((found.after[name] + (name != sender) for name in readers), default=1)
        return (*self._around.get(computation.name, ()), (found.before[operand] + 1, after))

    def _own(self, computation: Computation, instruction: Instruction) -> tuple[int, int]:
        found = self._inside[computation.name]
        return found.before[instruction.name], found.after[instruction.name]

    def _longest(self, computation: Computation) -> _Longest:
        weights: dict[str, int] = {}
        before: dict[str, int] = {}
        for each in computation.instructions:
            inner = [
                self._inside[called.name].whole
                for called, _ in self.flow.called(computation, each)
                if called.name in self._inside
            ]
            weights[each.name] = self.counts(each) or max(inner, default=0)
            needed = max((before[name] for name in each.operands), default=0)
            before[each.name] = needed + weights[each.name]
        after: dict[str, int] = dict.fromkeys(before, 0)
        for each in reversed(computation.instructions):
            after[each.name] += weights[each.name]
            for name in each.operands:
                after[name] = max(after[name], after[each.name])
        return _Longest(before, after, max(before.values(), default=0))
