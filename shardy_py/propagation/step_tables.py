"""The outcomes of the steps of a program, kept from one propagation of it to the next.

Not here: the outcome of one step (`step.py`), the loop that runs them (`fixpoint.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import itemgetter

from shardy_py.propagation.basic import Strategy
from shardy_py.propagation.flat import Directions, FlatProgram
from shardy_py.propagation.step import Interner, Step, StepTable
from shardy_py.sharding import Mesh

Reader = Callable[[list[int]], tuple[int, ...]]
"""Returns the numbers of the shardings of a step, from those of all slots."""
Round = tuple[list[StepTable | None], list[int]]
"""By kind of step: its table and mode in a round; None and 0 if no axis may move."""


class StepTables:
    """The outcomes of steps, by the numbers of shardings: kept from one propagation of a program to the next.

    interner: numbers the shardings.
    """

    def __init__(self, meshes: Mapping[str, Mesh]) -> None:
        self.interner = Interner()
        self.rounds: dict[Hashable, Round] = {}
        self._meshes = meshes
        self._tables: dict[Step, StepTable] = {}
        self._readers: tuple[Sequence[tuple[int, ...]], list[Reader]] = (), []
        self._modes: dict[tuple[int, Strategy, Directions], int] = {}

    def of(self, step: Step) -> StepTable:
        """The table of a step."""
        table = self._tables.get(step)
        if table is None:
            table = self._tables[step] = StepTable(step, self.interner, self._meshes)
        return table

    def readers(self, program: FlatProgram) -> list[Reader]:
        """By step, the function that reads what its slots hold; of programs that share their steps, once."""
        if self._readers[0] is not program.step_slots:
            self._readers = program.step_slots, [reader_of(slots) for slots in program.step_slots]
        return self._readers[1]

    def mode(self, kind: int, strategy: Strategy, directions: Directions) -> int:
        """The number, from 1, of the way in which steps of a kind propagate in a round."""
        key = (kind, strategy, directions)
        mode = self._modes.get(key)
        if mode is None:
            mode = self._modes[key] = 1 + sum(1 for known in self._modes if known[0] == kind)
        return mode


def reader_of(slots: tuple[int, ...]) -> Reader:
    """Returns a function from the list of all shardings to the tuple of those in `slots`."""
    if len(slots) < 2:
        return lambda shardings: tuple(shardings[slot] for slot in slots)
    return itemgetter(*slots)
