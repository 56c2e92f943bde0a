"""What differs between two programs as far as shardings go: values, communication, memory.

    found = difference(ValueTable(before), ValueTable(after))
    print(difference_text(found, figures_before, figures_after))

Names of values, functions and meshes do not count. Not here: which values are the same (`matching.py`),
running passes (`pipeline.py`), one program's figures (`communication/`, `memory/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shardy_py.graph.holders import read
from shardy_py.graph.value_table import ValueEntry, ValueTable, location_text
from shardy_py.report.collect import module_meshes
from shardy_py.report.communication import Bill, seconds_text
from shardy_py.report.matching import match_values
from shardy_py.report.memory import MemoryReport
from shardy_py.report.tables import bytes_text, table
from shardy_py.sharding import Mesh, TensorSharding

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Change:
    """A value whose sharding differs; None: it has none. `before` and `after` are of the two programs."""

    entry: ValueEntry
    new_entry: ValueEntry
    before: TensorSharding | None
    after: TensorSharding | None

    @property
    def name(self) -> str:
        """The name of the value in the first program."""
        return str(self.entry)

    @property
    def location(self) -> str:
        """Where the source makes it; "" if unknown."""
        return location_text(self.new_entry.location) or location_text(self.entry.location)

    def __str__(self) -> str:
        renamed = "" if self.entry.name == self.new_entry.name else f" (now {self.new_entry})"
        place = f"  [{self.location}]" if self.location else ""
        return f"{self.entry}{renamed}: {_told(self.before)} -> {_told(self.after)}{place}"


@dataclass(frozen=True, slots=True)
class MeshChange:
    """A mesh that differs under one name; None: the program has none of that name."""

    name: str
    before: Mesh | None
    after: Mesh | None

    def __str__(self) -> str:
        return f"@{self.name}: {_told(self.before)} -> {_told(self.after)}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Changed values, those that only one of the programs has, in program order; meshes that differ."""

    changes: tuple[Change, ...]
    removed: tuple[ValueEntry, ...] = ()
    added: tuple[ValueEntry, ...] = ()
    meshes: tuple[MeshChange, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.removed or self.added or self.meshes)


@dataclass(frozen=True, slots=True)
class Figures:
    """What a program costs: collectives by kind, bytes each device takes in, seconds, padded peak bytes."""

    collectives: tuple[tuple[str, int], ...]
    bytes: int
    seconds: float
    peak_bytes: int

    @staticmethod
    def of(bill: Bill, memory: MemoryReport) -> Figures:
        """Those of a program's bill and memory."""
        counts = {entry.key: entry.count for entry in bill.by_kind}
        peak = max((entry.peak.bytes.padded_bytes for entry in memory.entries), default=0)
        return Figures(tuple(sorted(counts.items())), bill.total.bytes, bill.total.seconds, peak)


def difference(before: ValueTable, after: ValueTable) -> Difference:
    """What differs between the values of two modules, whatever these, functions and meshes are called."""
    found = match_values(before, after)
    old, new = module_meshes(before.module), module_meshes(after.module)
    changes = changed(found.pairs, renamed_meshes(old, new))
    return Difference(changes, found.removed, found.added, changed_meshes(old, new))


def renamed_meshes(before: Mapping[str, Mesh], after: Mapping[str, Mesh]) -> dict[str, str]:
    """The new names of meshes that have another name and are the same otherwise."""
    free = [name for name in after if name not in before]
    found: dict[str, str] = {}
    for name, mesh in before.items():
        new = next((other for other in free if after[other] == mesh), None) if name not in after else None
        if new is not None:
            found[name] = new
            free.remove(new)
    return found


def changed_meshes(before: Mapping[str, Mesh], after: Mapping[str, Mesh]) -> tuple[MeshChange, ...]:
    """The meshes that are not the same in two programs."""
    renamed = renamed_meshes(before, after)
    names = dict.fromkeys(name for name in (*before, *after) if name not in renamed)
    found = (MeshChange(name, before.get(name), after.get(name)) for name in names)
    same = frozenset(renamed.values())
    return tuple(change for change in found if change.before != change.after and change.name not in same)


def changed(
    pairs: Iterable[tuple[ValueEntry, ValueEntry]], renamed: Mapping[str, str] | None = None
) -> tuple[Change, ...]:
    """Those of the pairs whose shardings differ, but for new names of meshes."""
    found = (Change(old, new, _sharding(old), _sharding(new)) for old, new in pairs)
    return tuple(change for change in found if _differs(change, renamed or {}))


def difference_text(found: Difference, before: Figures, after: Figures, most: int = 200) -> str:
    """Only what differs, at most `most` values of each kind."""
    parts: list[str] = []
    sections: tuple[tuple[str, Sequence[object]], ...] = (
        (_plural("mesh", "meshes", found.meshes), found.meshes),
        ("changed", found.changes),
        ("removed", found.removed),
        ("added", found.added),
    )
    for title, entries in sections:
        if entries:
            rest = [f"  ... and {len(entries) - most} more"] if len(entries) > most else []
            parts.append("\n".join([f"{len(entries)} {title}:", *(f"  {e}" for e in entries[:most]), *rest]))
    rows = list(_figure_rows(before, after))
    if rows:
        parts.append(table([("", "before", "after"), *rows]))
    return "\n\n".join(parts) or "no differences"


def difference_json(found: Difference, before: Figures, after: Figures) -> dict[str, Any]:
    """The same for tools; docs/diff.md describes the schema."""
    return {
        "schema": SCHEMA,
        "changed": [
            {
                "value": str(change.entry),
                "now": str(change.new_entry),
                "before": _text(change.before),
                "after": _text(change.after),
                "location": change.location,
            }
            for change in found.changes
        ],
        "meshes": [
            {"name": change.name, "before": _text(change.before), "after": _text(change.after)}
            for change in found.meshes
        ],
        "removed": [str(entry) for entry in found.removed],
        "added": [str(entry) for entry in found.added],
        "before": _figures_json(before),
        "after": _figures_json(after),
    }


def _figure_rows(before: Figures, after: Figures) -> Iterator[tuple[str, str, str]]:
    counts = dict(before.collectives), dict(after.collectives)
    for kind in sorted({*counts[0], *counts[1]}):
        if counts[0].get(kind, 0) != counts[1].get(kind, 0):
            yield kind, str(counts[0].get(kind, 0)), str(counts[1].get(kind, 0))
    if before.bytes != after.bytes:
        yield "bytes moved", bytes_text(before.bytes), bytes_text(after.bytes)
    if before.seconds != after.seconds:
        yield "time", seconds_text(before.seconds), seconds_text(after.seconds)
    if before.peak_bytes != after.peak_bytes:
        yield "peak memory", bytes_text(before.peak_bytes), bytes_text(after.peak_bytes)


def _figures_json(figures: Figures) -> dict[str, Any]:
    return {
        "collectives": dict(figures.collectives),
        "bytes": figures.bytes,
        "seconds": figures.seconds,
        "peak_bytes": figures.peak_bytes,
    }


def _differs(change: Change, renamed: Mapping[str, str]) -> bool:
    before, after = change.before, change.after
    if before is None or after is None or not isinstance(before.mesh, str):
        return before != after
    return before != after and replace(before, mesh=renamed.get(before.mesh, before.mesh)) != after


def _sharding(entry: ValueEntry) -> TensorSharding | None:
    holder = entry.holder
    return None if holder is None else read(holder)


def _told(value: TensorSharding | Mesh | None) -> str:
    return "none" if value is None else str(value)


def _text(value: TensorSharding | Mesh | None) -> str | None:
    return None if value is None else str(value)


def _plural(one: str, many: str, entries: Sequence[object]) -> str:
    return one if len(entries) == 1 else many
