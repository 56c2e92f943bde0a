"""The values of the whole program, kept while it runs.

Not here: what they are compared with (`comparison.py`).
"""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.ops.compute import Array
from shardy_py.run.interpret.machine import Devices
from shardy_py.run.interpret.values import Value, is_array
from shardy_py.run.proof.correspondences import Counterpart
from shardy_py.run.proof.coverage import Coverage
from shardy_py.run.proof.cutpoints import Cutpoints

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A value when it was computed.

    time: counts all values seen. members: the devices of a manual computation, None for the one logical
    device. array: [1 or members, *shape]. renewed: what the program went on with.
    """

    time: int
    members: Integers | None
    array: Array
    renewed: Array


@dataclass(eq=False)
class Expected:
    """The values of the whole program.

    wanted: the values to keep. observe: sees the results of an op, as the interpreter calls it. coverage: of
    its conditions, if they are to be seen. cutpoints: the values that are replaced; None: none is.
    """

    wanted: frozenset[SSAValue]
    coverage: Coverage | None = None
    cutpoints: Cutpoints | None = None
    seen: dict[SSAValue, list[Seen]] = field(default_factory=dict[SSAValue, "list[Seen]"])
    bytes: int = 0
    _time: int = 0

    def observed(self, op: Operation) -> bool:
        """Returns whether a result of the op is wanted."""
        conditions = frozenset[SSAValue]() if self.coverage is None else self.coverage.conditions
        return any(result in self.wanted or result in conditions for result in op.results)

    def observe(self, op: Operation, devices: Devices, results: list[Value]) -> list[Value] | None:
        """Keeps the wanted results; returns what takes their place."""
        members = devices.members.astype(np.int64) if devices.world.is_manual else None
        is_cut = False
        for index, (value, array) in enumerate(zip(op.results, results, strict=True)):
            if self.coverage is not None and value in self.coverage.conditions and is_array(array):
                self.coverage.see(value, array)
            if value in self.wanted and is_array(array):
                self._time += 1
                self.bytes += array.nbytes
                renewed = None if self.cutpoints is None else self.cutpoints.renewed(value, array)
                kept = array if renewed is None else renewed
                self.seen.setdefault(value, []).append(Seen(self._time, members, array, kept))
                if renewed is not None:
                    results[index], is_cut = renewed, True
        return results if is_cut else None

    def keep(self, argument: SSAValue, array: Value) -> None:
        """Keeps an argument of the main function, if it is wanted."""
        if argument in self.wanted and is_array(array):
            self.seen[argument] = [Seen(0, None, array, array)]

    def series(self, counterpart: Counterpart) -> list[Seen]:
        """Returns what a counterpart is compared with, execution by execution."""
        first, *others = counterpart.whole
        if not others:
            return self.seen.get(first, [])
        every = [seen for value in counterpart.whole for seen in self.seen.get(value, ())]
        return sorted(every, key=lambda seen: seen.time)


def of_execution(
    series: list[Seen], members: Integers, number: int, *, renewed: bool = False
) -> tuple[Array, Integers] | None:
    """The arrays of the whole program at an execution, and the lane of each device; None if there is none.

    renewed: those with which the program went on.
    """
    if number < len(series) and series[number].members is None:
        found = series[number]
        return found.renewed if renewed else found.array, np.zeros(len(members), np.int64)
    left = np.full(len(members), number)
    lanes = np.full(len(members), -1)
    rows: list[Array] = []
    for seen in series:
        if seen.members is None:
            return None
        place = {int(device): lane for lane, device in enumerate(seen.members)}
        for position, device in enumerate(members.tolist()):
            lane = place.get(device)
            if lane is None or lanes[position] >= 0:
                continue
            if left[position] == 0:
                lanes[position] = len(rows)
                array = seen.renewed if renewed else seen.array
                rows.append(array[lane if len(array) > 1 else 0])
            left[position] -= 1
        if (lanes >= 0).all():
            return np.stack(rows), lanes.astype(np.int64)
    return None
