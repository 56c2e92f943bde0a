"""A program as liveness sees it: which values each step reads and makes, and what it runs inside.

Values are numbers, one an array in memory; two names of the same array (an optimization barrier and its
operand) are one number. Not here: how IR becomes this (`collect.py`), what is alive when (`liveness.py`).

    %0 = f(%a)  %1 = g(%0)  return %1      Computation((0,), (Step((0,), (1,)), Step((1,), (2,))), (2,))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Nested:
    """A computation that an op runs: a branch, the body of a loop, a callee.

    computation: its index in the program.
    arguments: by argument of the computation, the value outside that becomes it; None: a copy of one, made on
        the way in.
    handed_over: when the computation may end the life of an argument. "never": outside keeps it; "always": it
        is the computation's own; "last use": it is, if the op is the last one that reads it.
    """

    computation: int
    arguments: tuple[int | None, ...] = ()
    handed_over: Literal["never", "always", "last use"] = "last use"


@dataclass(frozen=True, slots=True)
class Runs:
    """The computations that an op runs, one at a time.

    is_loop: whether the results are there before the computations run, which pass them on from turn to turn.
    """

    nested: tuple[Nested, ...]
    is_loop: bool = False


class Step(NamedTuple):
    """One op.

    reads: the values it reads, those that its regions take from outside included.
    makes: the values it makes.
    updates: pairs of a value read and one made that takes its place, if nobody reads the first one later.
    """

    reads: tuple[int, ...]
    makes: tuple[int, ...]
    updates: tuple[tuple[int, int], ...] = ()
    runs: Runs | None = None


@dataclass(frozen=True, slots=True)
class Computation:
    """Steps in order; `arguments` are there before the first one, `returns` after the last one."""

    arguments: tuple[int, ...]
    steps: tuple[Step, ...]
    returns: tuple[int, ...] = ()
