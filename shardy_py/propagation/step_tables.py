"""The outcomes of the steps of programs, kept from one propagation to the next.

Not here: the outcome of one step (`step.py`), the loop that runs them (`fixpoint.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import itemgetter

from shardy_py.base.session import SESSION
from shardy_py.propagation.basic import StepOptions, Strategy
from shardy_py.propagation.flat import Direction, Directions, FlatProgram, ReturnedValue, StepKind
from shardy_py.propagation.step import Interner, Step, StepTable
from shardy_py.sharding import Mesh

Reader = Callable[[list[int]], tuple[int, ...]]
"""Returns the numbers of the shardings of a step, from those of all slots."""
Round = tuple[list[StepTable | None], list[int]]
"""By kind of step: its table and mode in a round; None and 0 if no axis may move."""
WantedModes = dict[int, tuple[int, int, Sequence[int]]]
"""By the identity of the modes of a round, which are kept, those of the steps: see `Propagator`."""
ReturnedStep = tuple[tuple[int, int], StepTable]
"""The slots of a returned value and of the result, and the table of the step between them."""
InRound = tuple[StepTable | None, Directions]
"""The table of the steps of a kind in a round, None if no axis may move; the directions of factors."""


class Outcomes:
    """The outcomes of steps on equal meshes, for all programs on them: many propagate the same steps.

    interner: numbers the shardings.
    """

    def __init__(self, meshes: Mapping[str, Mesh]) -> None:
        self.interner = Interner()
        self._meshes = dict(meshes)
        self._tables: dict[Step, StepTable] = {}
        self._kinds: dict[StepKind, dict[Hashable, InRound]] = {}

    @staticmethod
    def on(meshes: Mapping[str, Mesh]) -> Outcomes:
        """Returns what is known of steps on these meshes."""
        key = tuple(meshes.items())
        return _OUTCOMES.get(key) or _OUTCOMES.setdefault(key, Outcomes(meshes))

    def of(self, step: Step) -> StepTable:
        """Returns the table of a step."""
        table = self._tables.get(step)
        if table is None:
            table = self._tables.setdefault(step, StepTable(step, self.interner, self._meshes))
        return table

    def of_kind(self, kind: StepKind) -> dict[Hashable, InRound]:
        """Returns the tables of the steps of a kind, by round."""
        return self._kinds.get(kind) or self._kinds.setdefault(kind, {})


_OUTCOMES: dict[tuple[tuple[str, Mesh], ...], Outcomes] = SESSION.table("outcomes of steps")


class StepTables:
    """The outcomes of the steps of one program: kept from one propagation of it to the next.

    interner: numbers the shardings.
    """

    def __init__(self, meshes: Mapping[str, Mesh]) -> None:
        self._outcomes = Outcomes.on(meshes)
        self.interner = self._outcomes.interner
        self.of = self._outcomes.of
        self.rounds: dict[Hashable, Round] = {}
        self._by_kind: list[dict[Hashable, InRound]] = []
        self._readers: tuple[Sequence[tuple[int, ...]], list[Reader]] = (), []
        self._wanted: tuple[Sequence[int], WantedModes] = (), {}
        self._returned: tuple[Sequence[ReturnedValue], dict[Strategy, list[ReturnedStep]]] = (), {}
        self._modes: dict[int, dict[tuple[Strategy, Directions], int]] = {}

    def of_kinds(self, kinds: Sequence[StepKind]) -> Sequence[dict[Hashable, InRound]]:
        """Returns, by kind of step, the tables and directions by round; `kinds` only grow."""
        self._by_kind += map(self._outcomes.of_kind, kinds[len(self._by_kind) :])
        return self._by_kind

    def readers(self, program: FlatProgram) -> list[Reader]:
        """By step, the function that reads what its slots hold; of programs that share their steps, once."""
        if self._readers[0] is not program.step_slots:
            self._readers = program.step_slots, [reader_of(slots) for slots in program.step_slots]
        return self._readers[1]

    def wanted(self, program: FlatProgram) -> WantedModes:
        """The modes of the steps in rounds; of programs that share their steps, and erase none, once."""
        if self._wanted[0] is not program.step_kinds:
            self._wanted = program.step_kinds, {}
        return self._wanted[1]

    def returned(self, program: FlatProgram, strategy: Strategy) -> list[ReturnedStep]:
        """The steps between returned values and results; of programs that share these, once."""
        if self._returned[0] is not program.returned:
            self._returned = program.returned, {}
        known = self._returned[1].get(strategy)
        if known is None:
            known = self._returned[1][strategy] = [self._of_returned(v, strategy) for v in program.returned]
        return known

    def _of_returned(self, value: ReturnedValue, strategy: Strategy) -> ReturnedStep:
        sizes = value.rule.factor_sizes
        both_ways = StepOptions(sizes, (Direction.BOTH,) * len(sizes))
        return (value.slot, value.result_slot), self.of(Step(value.rule, strategy, both_ways))

    def mode(self, kind: int, strategy: Strategy, directions: Directions) -> int:
        """The number, from 1, of the way in which steps of a kind propagate in a round."""
        known = self._modes.setdefault(kind, {})
        return known.setdefault((strategy, directions), 1 + len(known))


def reader_of(slots: tuple[int, ...]) -> Reader:
    """Returns a function from the list of all shardings to the tuple of those in `slots`."""
    if len(slots) < 2:
        return lambda shardings: tuple(shardings[slot] for slot in slots)
    return itemgetter(*slots)
