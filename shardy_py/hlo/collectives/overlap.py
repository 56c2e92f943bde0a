"""Finds what runs between the start and the end of a collective, by the order of instructions.

Not here: which instructions those are (`reading.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property

from shardy_py.hlo.collectives.model import Overlap
from shardy_py.hlo.text import Computation

_IDLE = frozenset(
    (
        *("add-dependency", "after-all", "bitcast", "constant", "get-dimension-size", "get-tuple-element"),
        *("iota", "opt-barrier", "parameter", "partition-id", "replica-id", "tuple"),
    )
)
"""Opcodes of instructions that take no time."""
_APART = ("-start", "-update", "-done")
_SHOWN = 3


class Timeline:
    """The instructions of a computation in their order; is_scheduled: it is that in which they run."""

    def __init__(self, computation: Computation, *, is_scheduled: bool) -> None:
        self.computation = computation
        self.is_scheduled = is_scheduled

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each instruction."""
        return {each.name: index for index, each in enumerate(self.computation.instructions)}

    @cached_property
    def _working(self) -> list[int]:
        """The places of instructions that take time: collectives and copies that start or end do not."""
        return [
            index
            for index, each in enumerate(self.computation.instructions)
            if each.opcode not in _IDLE and not each.opcode.endswith(_APART)
        ]

    def between(self, start: int, end: int | None) -> Overlap:
        """Returns what computes between two places; None: the end of the computation."""
        if not self.is_scheduled:
            return Overlap(is_async=True, is_known=False)
        last = len(self.computation.instructions) if end is None else end
        first, after = bisect_left(self._working, start + 1), bisect_left(self._working, last)
        shown = self._working[first : min(after, first + _SHOWN)]
        names = tuple(self.computation.instructions[index].name for index in shown)
        return Overlap(is_async=True, count=max(after - first, 0), names=names)
