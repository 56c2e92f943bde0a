"""The verdict of a device's compiler on a plan: what it allocates and sends, or why it rejects it.

Not here: running the compiler (`search/suggest_compiling.py`).

>>> small, large = Judged(10, 5, 100), Judged(120, 0, 100)
>>> small.text, large.text, Judged(None, None, 100, "runs out of memory").text
('fits', 'does not fit', 'runs out of memory')
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.report.tables import bytes_text, table
from shardy_py.search.study import StepCost


@dataclass(frozen=True, slots=True)
class Judged:
    """A plan as a compiler sees it.

    memory_bytes, received_bytes: of each device; None if the compiler rejects the plan, for the reason
    `problem`. limit_bytes: the most that a device may need. by: the compiler.
    """

    memory_bytes: int | None
    received_bytes: int | None
    limit_bytes: int
    problem: str = ""
    by: str = ""

    @property
    def excess(self) -> float:
        """The bytes above the limit; infinite for a plan that is rejected."""
        return float("inf") if self.memory_bytes is None else max(0, self.memory_bytes - self.limit_bytes)

    @property
    def text(self) -> str:
        """The verdict as a phrase."""
        return self.problem or ("does not fit" if self.excess else "fits")

    def to_json(self) -> JsonObject:
        """Returns the verdict for JSON."""
        return {
            "memory_bytes": self.memory_bytes,
            "received_bytes": self.received_bytes,
            "limit_bytes": self.limit_bytes,
            "verdict": self.text,
            "by": self.by,
        }


def judged_text(costs: Sequence[StepCost], verdicts: Sequence[Judged]) -> str:
    """Returns a table of plans: forecasts beside what the compiler makes of them."""
    rows: list[tuple[str, ...]] = []
    for number, (cost, each) in enumerate(zip(costs, verdicts, strict=True), 1):
        own = [_bytes(each.memory_bytes), bytes_text(cost.memory_bytes)]
        own += [_bytes(each.received_bytes), bytes_text(cost.received_bytes)]
        rows.append((f"plan {number}", *own, each.text))
    by = next((each.by for each in verdicts if each.by), "")
    head = ("as compiled", "memory", "forecast", "received", "forecast", "verdict")
    return table([head, *rows], left=(0, 5)) + (f"\ncompiled: by {by}" if by else "")


def _bytes(size: int | None) -> str:
    return "-" if size is None else bytes_text(size)
