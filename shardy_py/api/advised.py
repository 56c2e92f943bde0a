"""The advice on a result: changes of its source that were tried, and what rooms above keep with it.

    result.advice(result.communication().sending[0]).remedies

Not here: how changes are found and tried (`shardy_py.search`), reports (`result.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

from shardy_py.api.arguments import expect
from shardy_py.api.explained import Explained
from shardy_py.api.verified_module import ValueKey
from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.base.extensions import extension
from shardy_py.base.records import dataclass
from shardy_py.base.session import without_collection
from shardy_py.report.communication import CollectiveUse

if TYPE_CHECKING:
    from shardy_py.search.advice import Advice, PlacementRemedies, Remedy

Kept = TypeVar("Kept")


@releases.following
@dataclass(frozen=True, eq=False, repr=False)
class Advised(Explained):
    """A propagated program that can be asked what to change."""

    def kept(self, kind: Callable[[Self], Kept]) -> Kept:
        """Returns `kind(self)`, made once: what rooms above keep with a result."""
        if kind not in self._kept:
            self._kept[kind] = kind(self)
        return self._kept[kind]

    @cached_property
    def _kept(self) -> dict[object, Any]:
        return {}

    @without_collection()
    def advice(self, use: CollectiveUse, *, tries: int | None = None) -> Advice:
        """Returns the best remedies for a collective of `communication(partitioner="xla")`, tried before.

        Each is an annotation to change or add, after which less is sent in all, and by the collectives of
        the same kind, op and source location, and no device computes more.

        tries: how many edits are tried at most; None: by the size of the program.

        Raises:
            ShardyError: the collective is of another program or partitioner.
        """
        expect(use, CollectiveUse, "a collective of this result", "result.communication().sending lists them")
        report = self.forecasts.report_of(use)
        if report is None:
            remedy = 'pass one of result.communication(partitioner="xla").sending'
            raise ShardyError(f"the {use.kind} is not of a report by XLA on this result; {remedy}")
        return self.kept(extension("advice").ResultAdvice).advice(report, use, tries)

    def remedies(self, use: CollectiveUse) -> tuple[Remedy, ...]:
        """Returns those of `advice`, best first."""
        return self.advice(use).remedies

    def placements(
        self, key: ValueKey, axis: str, dimensions: Sequence[int] | None = None
    ) -> PlacementRemedies:
        """Returns annotations after which a value is sharded along an axis, each tried, with what they cost.

        dimensions: one of them is to be sharded; None: any.

        Raises:
            ShardyError: unknown value, or XLA's collectives cannot be planned.
        """
        value = self[key]
        among = range(len(value.shape or ())) if dimensions is None else dimensions
        return self.kept(extension("advice").ResultAdvice).placements(value, among, axis)
