"""A program for liveness analysis: the values that each step reads and makes, and the computations it runs.

Values are numbers, one an array in memory; two names of the same array (an optimization barrier and its
operand) are one number. Not here: building it from IR (`collect.py`), liveness (`liveness.py`).

    %0 = f(%a)  return %0      MemoryComputation((0,), (MemoryStep((0,), (1,)),), (1,))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Nested:
    """A computation that an op runs: a branch, the body of a loop, a callee.

    computation: its index in the program.
    arguments: for each argument of the computation, the outer value that becomes it; None: a copy of one,
        made on entry.
    handed_over: whether the life of an argument ends in the computation. "never": the outer computation keeps
        it; "always": the computation owns it; "last use": the computation owns it if the op reads it last.
    """

    computation: int
    arguments: tuple[int | None, ...] = ()
    handed_over: Literal["never", "always", "last use"] = "last use"


@dataclass(frozen=True, slots=True)
class Runs:
    """The computations that an op runs, one at a time.

    is_loop: whether the results exist before the computations run, as the values carried through iterations.
    """

    nested: tuple[Nested, ...]
    is_loop: bool = False


class MemoryStep(NamedTuple):
    """One op.

    reads: the values it reads, including those that its regions capture.
    makes: the values it makes.
    updates: pairs of a value read and one made that takes its place, if the first is not read later.
    """

    reads: tuple[int, ...]
    makes: tuple[int, ...]
    updates: tuple[tuple[int, int], ...] = ()
    runs: Runs | None = None

    @property
    def nested(self) -> tuple[Nested, ...]:
        """The computations that it runs."""
        return () if self.runs is None else self.runs.nested


@dataclass(frozen=True, slots=True)
class MemoryComputation:
    """Steps in order; `arguments` exist before the first one, `returns` after the last one."""

    arguments: tuple[int, ...]
    steps: tuple[MemoryStep, ...]
    returns: tuple[int, ...] = ()
