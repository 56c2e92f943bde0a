"""Reasons why an axis is not there, as plain values, with their words and remedies: a row a kind.

Not here: finding them (`why_not.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

from shardy_py.report.explain.explanation import Place
from shardy_py.sharding import AxisRef


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why a dimension of a value is not sharded by an axis.

    kind: a key of `KINDS`.
    message: what is the matter, in a sentence. remedy: what to write to change it.
    op: where the axis stopped. rule, factor: of that op, "" where they do not matter.
    blame: the value that is to blame; None: no single one.
    distance: through how many ops the axis would have had to come from there; 0: the value itself.
    """

    kind: str
    message: str
    remedy: str
    op: Place | None = None
    rule: str = ""
    factor: str = ""
    blame: Place | None = None
    distance: int = 0

    def to_json(self) -> dict[str, Any]:
        """The same as dictionaries, lists, strings and numbers."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" + (f"; {self.remedy}" if self.remedy else "")


class Reasons(tuple[Reason, ...]):
    """All reasons, the nearest first; as text under the question that they answer."""

    title: str

    def __new__(cls, title: str, reasons: Iterable[Reason]) -> Self:
        """The reasons that answer the question `title`."""
        made = super().__new__(cls, reasons)
        made.title = title
        return made

    def __str__(self) -> str:
        lines = [self.title]
        for reason in self:
            place = f"  [{reason.op.location}]" if reason.op is not None and reason.op.location else ""
            place = "" if place.strip() in reason.message else place
            lines.append(f"  {reason.kind}: {reason.message}{place}")
            if reason.factor:
                lines.append(f"    along {reason.factor}" + (f", rule {reason.rule}" if reason.rule else ""))
            if reason.remedy:
                lines.append(f"    to change that: {reason.remedy}")
        return "\n".join(lines)


KINDS: dict[str, str] = {
    "sharded": "the axis is there",
    "pass": "a pass cut it after propagation, or moved the data elsewhere",
    "used": "another dimension of the tensor has the axis",
    "replicated": "the tensor is explicitly replicated along the axis",
    "unreduced": "the tensor is unreduced along the axis",
    "manual": "a manual computation around the tensor is over the axis",
    "closed": "a dimension on the way is closed",
    "conflict": "a tensor on the way has other axes along the factor",
    "priority": "other axes came first, by priority",
    "non-divisible": "the axis does not divide the dimension, or its factor",
    "barrier": "a propagation barrier does not let it through in that direction",
    "blocked": "the rule of an op blocks propagation along the factor",
    "size one": "the axis cuts nothing",
    "dead": "nothing uses what an op on the way gives, so propagation erased it",
    "no factor": "the rule of an op relates the dimension to no other",
    "not taken": "propagation did not come back to an op that would hand the axis over",
    "maximal": "the value is on a single device",
    "no rule": "an op on the way has no sharding rule",
    "mesh": "tensors on the way are on different meshes",
    "stride": "the axis would cut the dimension with a stride",
    "not sent": "no tensor that shares the dimension has the axis",
    "not shardable": "the value cannot have a sharding",
    "not recorded": "the value took no part in propagation",
    "unknown": "the record does not say",
}
"""What there is, in a phrase."""


def constrained(axis: AxisRef, place: Place | None) -> str:
    """The remedy that always helps: to say what a value has to have."""
    return f"add a sharding_constraint with {axis} on {place}"
