"""The journal of a propagation: all changes in order, at little cost.

Each step that changes something appends one tuple of existing objects: `(3, (1, 0, 0), step, ((2, 1),))` if
step 3 read the shardings number 1, 0, 0 and changed that of its tensor 2 to number 1. `arrivals.py` derives
which axis moved where. Not here: shardings that passes move before and after (`graph/movements.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shardy_py.sharding import Mesh, TensorSharding

if TYPE_CHECKING:
    from shardy_py.propagation.step import Change, Step, StepTable

FUNCTION_RESULT = -1
"""The number of the step between the first value that the main function returns and its result."""

Entry = tuple[int, tuple[int, ...], "Step", "Sequence[Change]"]
"""One step that changed something: its number, or `FUNCTION_RESULT` minus the index of the result; the
numbers of the shardings it read; the step; its changes."""


class Stage(NamedTuple):
    """One round: its first entry, its name, and the table of each kind of step (None: no axis may move)."""

    first_entry: int
    name: str
    tables: Sequence[StepTable | None]


class Setting(NamedTuple):
    """A sharding set between rounds, when dimensions of a user priority are held back or restored."""

    first_entry: int
    slot: int
    number: int


class Journal:
    """The record of one propagation; filled by `Propagator`.

    entries: the steps that changed something, in order.
    stages, settings: rounds, and shardings set between them, each with the number of the next entry.
    values: by number, the sharding.
    start_numbers, end_numbers: by slot, the number of its sharding before and after.
    meshes: by symbol.
    kinds: by step, the index of its kind at the end.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.stages: list[Stage] = []
        self.settings: list[Setting] = []
        self.values: Sequence[TensorSharding | None] = (None,)
        self.start_numbers: tuple[int, ...] = ()
        self.end_numbers: Sequence[int] = ()
        self.meshes: Mapping[str, Mesh] = {}
        self.kinds: Sequence[int] = ()

    def sharding(self, slot: int) -> TensorSharding | None:
        """The final sharding of `slot`."""
        return self.values[self.end_numbers[slot]]

    def first_sharding(self, slot: int) -> TensorSharding | None:
        """The initial sharding of `slot`."""
        return self.values[self.start_numbers[slot]]

    def stage_of(self, entry: int) -> str:
        """The name of the round of entry number `entry`."""
        names = [stage.name for stage in self.stages if stage.first_entry <= entry]
        return names[-1] if names else ""
