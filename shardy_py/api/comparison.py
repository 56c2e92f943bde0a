"""What differs between two propagations of one program.

Not here: two programs that only their texts relate (`report/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from shardy_py.api.sharding import Sharding
from shardy_py.api.values import Value

if TYPE_CHECKING:
    from shardy_py.api.result import Result


@dataclass(frozen=True, slots=True)
class Change:
    """One value whose sharding differs; None: it has none."""

    value: Value
    before: Sharding | None
    after: Sharding | None

    def __str__(self) -> str:
        where = f" ({self.value.location})" if self.value.location else ""
        return f"{self.value}{where}: {_told(self.before)} -> {_told(self.after)}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two results; `changes` are of values of the program that both were made from, in program order."""

    before: Result
    after: Result
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        if not self.changes:
            return "no sharding changes"
        return "\n".join([f"{len(self.changes)} shardings change:", *(f"  {c}" for c in self.changes)])


def compare(before: Result, after: Result, origin: Mapping[SSAValue, SSAValue]) -> Comparison:
    """What differs between two results; `origin` leads from the first one's source to the second one's."""
    changes: list[Change] = []
    for value in before.source.values:
        old = before.followed(value)
        new = after.followed(_edited(value, after, origin))
        if old is None or new is None:
            continue
        if (was := old.sharding) != (will_be := new.sharding):
            changes.append(Change(value, was, will_be))
    return Comparison(before, after, tuple(changes))


def _edited(value: Value, after: Result, origin: Mapping[SSAValue, SSAValue]) -> Value:
    """The value of the edited source that stands for one of the source."""
    entry = value.entry
    if entry.value is None:
        return value
    found = after.source.values.table.by_value[id(origin[entry.value])]
    return Value(found, after.source.meshes)


def _told(sharding: Sharding | None) -> str:
    return "none" if sharding is None else str(sharding)
