"""The state of a run, and the devices that execute a block in lockstep."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.ir import Operation

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.ops.compute.movement import check_elements
from shardy_py.reshard.process_grid import Grid
from shardy_py.run.interpret.rendezvous import Rendezvous
from shardy_py.run.interpret.values import Lanes, Value

Observe = Callable[[Operation, "Devices", list[Value]], Sequence[Value] | None]
"""Sees the results of an op, for the devices that ran it; returns what takes their place, or None."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of the cost of a run.

    elements: of one tensor on one device; steps: ops executed, each once for all devices in lockstep.
    remedy: what helps a run that executes more.
    """

    elements: int = 1 << 28
    steps: int = 10_000_000
    remedy: str = "max-steps raises it"

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Raises `ShardyError` if a tensor of that shape has too many elements."""
        check_elements(shape, self.elements)


@dataclass(frozen=True, eq=False)
class World:
    """The processes that can communicate with each other.

    is_manual: whether they are the devices of a manual computation.
    """

    grid: Grid
    is_manual: bool = True
    rendezvous: Rendezvous = field(default_factory=Rendezvous)


@dataclass(eq=False)
class Machine:
    """The state of one run.

    observe: sees the results of every op that was built with it.
    write: prints a line of the program's output.
    probe_folder: where `interpreter.probe` writes files; "": nowhere.
    """

    limits: RunLimits
    observe: Observe | None = None
    write: Callable[[str], None] = print
    probe_folder: str = ""
    steps: int = 0
    infeed: deque[Callable[[], Value]] = field(default_factory=deque[Callable[[], Value]])
    outfeed: list[list[Value]] = field(default_factory=list[list[Value]])
    probes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def count(self, steps: int) -> None:
        """Counts executed ops. Raises `ShardyError` when they exceed the limit."""
        self.steps += steps
        if self.steps > self.limits.steps:
            raise ShardyError(
                f"the run exceeds the limit of {self.limits.steps} executed ops; {self.limits.remedy}"
            )


@dataclass(frozen=True, eq=False)
class Devices:
    """The processes that execute a block in lockstep; values have one lane, or one for each of them.

    members: their flattened ids, in the order of lanes. For regions that are applied to elements, each
        process is repeated.
    manual_axes: of the manual computations around, along which the processes have parts of their own.
    """

    machine: Machine
    world: World
    members: Lanes
    manual_axes: tuple[str, ...] = ()

    @cached_property
    def count(self) -> int:
        """The number of lanes."""
        return len(self.members)

    def only(self, lanes: Lanes) -> Devices:
        """Returns the devices at these positions."""
        return replace(self, members=self.members[lanes])

    def times(self, count: int) -> Devices:
        """Returns each device `count` times."""
        return self if count == 1 else replace(self, members=np.repeat(self.members, count))

    @staticmethod
    def all_of(machine: Machine, grid: Grid) -> Devices:
        """Returns all processes of a new grid."""
        return Devices(machine, World(grid, is_manual=False), np.arange(grid.size))

    def __repr__(self) -> str:
        return f"<Devices {self.members.tolist()}>"


Run = Callable[[Devices, list[Value]], Any]
"""Executes an op: from its operands, a list that it may empty, to a sequence of its results."""
