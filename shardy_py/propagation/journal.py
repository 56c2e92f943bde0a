"""What propagation did, in the order in which it did it: a journal that is cheap to keep.

While propagation runs, each step that changes something adds one tuple of things that are there anyway. Who
wants to know which axis moved where reads the journal afterwards (`arrivals.py`).

    journal = Journal()
    propagate(program, meshes, journal=journal)
    journal.entries        [(3, (1, 0, 0), step, ((2, 1),)), ...]: step 3 saw shardings 1, 0, 0 and gave its
                           tensor number 2 the sharding number 1

Not here: shardings that passes move before and after (`graph/movements.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shardy_py.sharding import Mesh, TensorSharding

if TYPE_CHECKING:
    from shardy_py.propagation.step import Change, Step, StepTable

FUNCTION_RESULT = -1
"""Stands for a step where the main function's results are matched with what it returns."""

Entry = tuple[int, tuple[int, ...], "Step", "Sequence[Change]"]
"""One step that changed something: its number, or `FUNCTION_RESULT` minus the index of the result; the
numbers of the shardings it saw; the way through it; what it changed."""


class Stage(NamedTuple):
    """One round: its first entry, its name, the way through each kind of step (None: no axis may move)."""

    first_entry: int
    name: str
    tables: Sequence[StepTable | None]


class Setting(NamedTuple):
    """A sharding given between two rounds: what a user priority left of the user's sharding."""

    first_entry: int
    slot: int
    number: int


class Journal:
    """The record of one propagation; filled by `Propagator`.

    entries: what changed something, in order.
    stages, settings: rounds, and shardings given between them, by the entry that comes next.
    values: by number, the sharding.
    start_numbers: by slot, the number of its sharding at first.
    meshes: by symbol.
    kinds: by step, the index of its kind, as it was at the end.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.entries: list[Entry] = []
        self.stages: list[Stage] = []
        self.settings: list[Setting] = []
        self.values: Sequence[TensorSharding | None] = (None,)
        self.start_numbers: tuple[int, ...] = ()
        self.end_numbers: Sequence[int] = ()
        self.meshes: Mapping[str, Mesh] = {}
        self.kinds: Sequence[int] = ()

    def sharding(self, slot: int) -> TensorSharding | None:
        """What `slot` holds at the end."""
        return self.values[self.end_numbers[slot]]

    def first_sharding(self, slot: int) -> TensorSharding | None:
        """What `slot` held at first."""
        return self.values[self.start_numbers[slot]]

    def stage_of(self, entry: int) -> str:
        """The name of the round in which entry number `entry` was made."""
        name = ""
        for stage in self.stages:
            if stage.first_entry > entry:
                break
            name = stage.name
        return name
