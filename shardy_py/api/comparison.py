"""What differs between two propagations of one program: shardings, communication, memory.

Not here: two programs that only their texts relate (`sdy-diff`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from shardy_py.collection import without_collection
from shardy_py.graph.value_table import ValueEntry
from shardy_py.report.difference import Change, Difference, Figures, changed, changed_meshes, difference_text

if TYPE_CHECKING:
    from shardy_py.api.result import Result


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two results of one source program; `changes` are in its order."""

    before: Result
    after: Result
    changes: tuple[Change, ...]

    @cached_property
    @without_collection()
    def figures(self) -> tuple[Figures, Figures]:
        """What the program costs before and after: collectives, bytes moved, seconds, peak memory."""
        results = (self.before, self.after)
        old, new = (Figures.of(result.communication(), result.memory()) for result in results)
        return old, new

    @property
    def moved_bytes(self) -> int:
        """How many bytes more each device takes in; below 0: fewer."""
        return self.figures[1].bytes - self.figures[0].bytes

    @property
    def peak_bytes(self) -> int:
        """How much higher the peak of memory is on each device; below 0: lower."""
        return self.figures[1].peak_bytes - self.figures[0].peak_bytes

    def __repr__(self) -> str:
        return f"<Comparison: {len(self.changes)} changed>"

    def __str__(self) -> str:
        meshes = changed_meshes(self.before.program.meshes, self.after.program.meshes)
        return difference_text(Difference(self.changes, meshes=meshes), *self.figures)


def compare(before: Result, after: Result, origin: Mapping[SSAValue, SSAValue]) -> Comparison:
    """What differs between two results; `origin` leads from the first one's source to the second one's."""
    return Comparison(before, after, changed(_pairs(before, after, origin)))


def _pairs(
    before: Result, after: Result, origin: Mapping[SSAValue, SSAValue]
) -> Iterator[tuple[ValueEntry, ValueEntry]]:
    """Each value of the source in both, use by use: an edit may leave all uses but one to a constraint."""
    old, new = before.values.table.entries, after.values.table.entries
    for value in before.source.values:
        first, second = before.heirs(value), after.heirs(after.source.counterpart(value, origin))
        if first and second:
            uses = zip_longest(first, second)
            filled = ((first[-1] if a is None else a, second[-1] if b is None else b) for a, b in uses)
            yield from ((old[a], new[b]) for a, b in dict.fromkeys(filled))
