"""Reasons why a value is not sharded along an axis, as plain values and as text, with remedies.

Not here: finding them (`why_not.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

from shardy_py.report.explain.explanation import NamedPlace
from shardy_py.sharding import AxisRef


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why a dimension of a value is not sharded along an axis.

    kind: a key of `KINDS`.
    message: the fact, in a sentence. remedy: what to write to change it.
    op: the op at which the axis stopped. rule, factor: those of the op, "" where they do not matter.
    blame: the value responsible; None if there is no single one.
    distance: the number of ops between the value and the tensor that has the axis; 0: the value itself.
    """

    kind: str
    message: str
    remedy: str
    op: NamedPlace | None = None
    rule: str = ""
    factor: str = ""
    blame: NamedPlace | None = None
    distance: int = 0

    def to_json(self) -> dict[str, Any]:
        """The reason as dictionaries, lists, strings and numbers."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" + (f"; {self.remedy}" if self.remedy else "")


class Reasons(tuple[Reason, ...]):
    """All reasons, nearest first; the text has the question as its title."""

    title: str

    def __new__(cls, title: str, reasons: Iterable[Reason]) -> Self:
        """Returns the reasons that answer the question `title`."""
        made = super().__new__(cls, reasons)
        made.title = title
        return made

    def __str__(self) -> str:
        lines = [self.title]
        for reason in self:
            place = f"[{reason.op.location}]" if reason.op is not None and reason.op.location else ""
            suffix = f"  {place}" if place and place not in reason.message else ""
            lines.append(f"  {reason.kind}: {reason.message}{suffix}")
            if reason.factor:
                lines.append(f"    along {reason.factor}" + (f", rule {reason.rule}" if reason.rule else ""))
            if reason.remedy:
                lines.append(f"    to change that: {reason.remedy}")
        return "\n".join(lines)


KINDS: dict[str, str] = {
    "sharded": "the dimension is sharded along the axis",
    "pass": "a pass removed the axis after propagation, or moved the data",
    "used": "another dimension of the tensor uses the axis",
    "replicated": "the tensor is explicitly replicated along the axis",
    "unreduced": "the tensor is unreduced along the axis",
    "manual": "the tensor is inside a manual computation along the axis",
    "closed": "a dimension on the way is closed",
    "conflict": "a tensor on the way is sharded along other axes in the factor",
    "priority": "axes of a higher user priority were propagated first",
    "non-divisible": "the axis does not divide the dimension, or its factor",
    "barrier": "a propagation barrier blocks that direction",
    "blocked": "the rule of an op blocks propagation along the factor",
    "size one": "the axis has size 1",
    "dead": "the results of an op on the way are unused, so propagation erases it",
    "no factor": "the rule of an op does not map the dimension to any other",
    "not taken": "propagation does not revisit an op after the axis arrives",
    "maximal": "the value is on a single device",
    "no rule": "an op on the way has no sharding rule",
    "mesh": "tensors on the way are on different meshes",
    "stride": "the axis would shard the dimension with a stride",
    "not sent": "no related tensor is sharded along the axis",
    "not shardable": "the value cannot have a sharding",
    "not recorded": "the value was not part of propagation",
    "unknown": "the record does not contain the reason",
}
"""The kinds of reasons, each in a phrase."""


def constrained(axis: AxisRef, place: NamedPlace | None) -> str:
    """Returns the remedy that always applies: a sharding constraint on the value."""
    return f"add a sharding_constraint with {axis} on {place}"
