"""How computations of a compiled program run each other, how often, and how values flow in them.

Not here: trip counts (`trips.py`), which instructions are collectives (`reading.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from shardy_py.base.records import dataclass
from shardy_py.hlo.collectives.attributes import computation_names
from shardy_py.hlo.collectives.trips import trip_count
from shardy_py.hlo.text import Computation, HloModule, Instruction

_CALLS = (
    *("calls", "to_apply", "called_computations"),
    *("branch_computations", "true_computation", "false_computation"),
)
_MOST_RUNS = 1 << 53
MOVING = frozenset(
    {"bitcast", "copy", "reshape", "transpose", "convert", "copy-start", "copy-done", "optimization-barrier"}
)
"""Opcodes of instructions that only move or convert their first operand."""


@dataclass(frozen=True, slots=True)
class RunCount:
    """How often a computation runs; is_estimate: a trip count around it is unknown and counts as one."""

    times: int = 0
    is_estimate: bool = False


class Flow:
    """The flow of control and values of a module."""

    def __init__(self, module: HloModule) -> None:
        self.module = module
        self._users: dict[str, Mapping[str, tuple[Instruction, ...]]] = {}
        self._loops: dict[tuple[str, str], int | None] = {}

    def called(
        self, computation: Computation, instruction: Instruction
    ) -> Iterator[tuple[Computation, RunCount]]:
        """Returns the computations that an instruction runs, with how often for one run of its own."""
        if instruction.opcode == "while":
            trips = self.trips(computation, instruction)
            runs = RunCount(1 if trips is None else trips, trips is None)
            for each in ("body", "condition"):
                yield from ((found, runs) for found in self._named(instruction, each))
            return
        for each in _CALLS:
            yield from ((found, RunCount(1)) for found in self._named(instruction, each))

    def trips(self, computation: Computation, loop: Instruction) -> int | None:
        """Returns the trip count of a loop; None if it is unknown."""
        key = computation.name, loop.name
        if key not in self._loops:
            self._loops[key] = trip_count(self.module, computation, loop)
        return self._loops[key]

    @cached_property
    def runs(self) -> Mapping[str, RunCount]:
        """How often each computation runs, by name; those that nothing runs are left out."""
        found: dict[str, RunCount] = {self.module.entry: RunCount(1)}
        for computation in reversed(self.module.computations):  # each after those it calls
            own = found.get(computation.name)
            if own is None:
                continue
            for instruction in computation.instructions:
                for inner, runs in self.called(computation, instruction):
                    before = found.get(inner.name, RunCount())
                    times = min(before.times + own.times * runs.times, _MOST_RUNS)
                    is_estimate = before.is_estimate or own.is_estimate or runs.is_estimate
                    found[inner.name] = RunCount(times, is_estimate)
        return found

    @cached_property
    def order(self) -> tuple[Computation, ...]:
        """The computations that run, each once, as the entry computation comes to them."""
        found: dict[str, Computation] = {}
        left = [self.module.entry_computation]
        while left:
            computation = left.pop()
            if computation.name in found:
                continue
            found[computation.name] = computation
            inner = [
                called
                for instruction in computation.instructions
                for called, _ in self.called(computation, instruction)
            ]
            left += reversed(inner)
        return tuple(found.values())

    def users(self, computation: Computation) -> Mapping[str, tuple[Instruction, ...]]:
        """Returns the users of each instruction of a computation, in order."""
        if computation.name not in self._users:
            found: dict[str, list[Instruction]] = defaultdict(list)
            for instruction in computation.instructions:
                for operand in dict.fromkeys(instruction.operands):
                    found[operand].append(instruction)
            self._users[computation.name] = {name: tuple(users) for name, users in found.items()}
        return self._users[computation.name]

    def fused(self, instruction: Instruction) -> Computation | None:
        """Returns the computation of a fusion; None of other instructions."""
        if instruction.opcode != "fusion":
            return None
        return next(self._named(instruction, "calls"), None)

    def _named(self, instruction: Instruction, attribute: str) -> Iterator[Computation]:
        for name in computation_names(instruction, attribute):
            found = self.module.by_name.get(name)
            if found is not None:
                yield found
