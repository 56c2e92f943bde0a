"""What differs between two programs as far as shardings go: values, communication, memory.

    found = difference(ValueTable(before), ValueTable(after))
    print(difference_text(found, figures_before, figures_after))

Values are matched by function and, where the programs differ, by what is the same before and behind. Not
here: running passes (`pipeline.py`), one program's figures (`communication/`, `memory/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from xdsl.ir import Attribute

from shardy_py.graph.holders import read
from shardy_py.graph.value_table import ValueEntry, ValueTable, location_text
from shardy_py.report.communication import Bill, seconds_text
from shardy_py.report.memory import MemoryReport
from shardy_py.report.tables import bytes_text, table
from shardy_py.sharding import TensorSharding

SCHEMA = 1
MOST_ALIGNED = 4000
"""So many values that differ in a row are aligned; more count as removed and added."""


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
class Difference:
    """Changed values, and those that only one of the programs has, in program order."""

    changes: tuple[Change, ...]
    removed: tuple[ValueEntry, ...] = ()
    added: tuple[ValueEntry, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.removed or self.added)


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
    """What differs between the values of two modules; functions are matched by name."""
    old, new = _by_function(before), _by_function(after)
    pairs: list[tuple[ValueEntry, ValueEntry]] = []
    removed: list[ValueEntry] = []
    added: list[ValueEntry] = []
    for function in dict.fromkeys((*old, *new)):
        for first, second in _aligned(old.get(function, ()), new.get(function, ())):
            if len(first) == len(second):
                pairs.extend(zip(first, second, strict=True))
            else:
                removed.extend(first)
                added.extend(second)
    return Difference(changed(pairs), tuple(removed), tuple(added))


def changed(pairs: Iterable[tuple[ValueEntry, ValueEntry]]) -> tuple[Change, ...]:
    """Those of the pairs whose shardings differ."""
    found = (Change(old, new, _sharding(old), _sharding(new)) for old, new in pairs)
    return tuple(change for change in found if change.before != change.after)


def difference_text(found: Difference, before: Figures, after: Figures, most: int = 200) -> str:
    """Only what differs, at most `most` values of each kind."""
    parts: list[str] = []
    sections: tuple[tuple[str, Sequence[object]], ...] = (
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


def _by_function(values: ValueTable) -> dict[str, list[ValueEntry]]:
    found: dict[str, list[ValueEntry]] = {}
    for entry in values.entries:
        found.setdefault(entry.function, []).append(entry)
    return found


Runs = Iterator[tuple[Sequence[ValueEntry], Sequence[ValueEntry]]]
"""Runs of values, equally long where they match."""


def _aligned(first: Sequence[ValueEntry], second: Sequence[ValueEntry]) -> Runs:
    """Runs of the one list beside those of the other."""
    keys = [_key(entry) for entry in first], [_key(entry) for entry in second]
    start = _common(keys[0], keys[1])
    end = _common(keys[0][start:][::-1], keys[1][start:][::-1])
    yield first[:start], second[:start]
    middle = first[start : len(first) - end], second[start : len(second) - end]
    if middle[0] or middle[1]:
        yield from _middle(*middle)
    yield first[len(first) - end :], second[len(second) - end :]


def _middle(first: Sequence[ValueEntry], second: Sequence[ValueEntry]) -> Runs:
    if max(len(first), len(second)) > MOST_ALIGNED or not first or not second:
        yield first, ()
        yield (), second
        return
    matcher = SequenceMatcher(None, [_key(e) for e in first], [_key(e) for e in second], autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            yield first[a:b], second[c:d]
        else:
            yield first[a:b], ()
            yield (), second[c:d]


def _common(first: Sequence[object], second: Sequence[object]) -> int:
    count = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        count += 1
    return count


def _key(entry: ValueEntry) -> tuple[str, str, int, Attribute]:
    return entry.op.name, entry.role, entry.index, entry.type


def _sharding(entry: ValueEntry) -> TensorSharding | None:
    holder = entry.holder
    return None if holder is None else read(holder)


def _told(sharding: TensorSharding | None) -> str:
    return "none" if sharding is None else str(sharding)


def _text(sharding: TensorSharding | None) -> str | None:
    return None if sharding is None else str(sharding)
