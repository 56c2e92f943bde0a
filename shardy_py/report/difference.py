"""What differs between two programs as far as shardings go: values, communication, memory.

    found = difference(ValueTable(before), ValueTable(after))
    print(difference_text(found, figures_before, figures_after))

Values are matched by function and, where the programs differ, by what is the same before and behind. Not
here: running passes (`pipeline.py`), one program's figures (`communication/`, `memory/`).
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute

from shardy_py.graph.holders import read
from shardy_py.graph.value_table import ValueEntry, ValueTable, location_text
from shardy_py.report.collect import module_meshes
from shardy_py.report.communication import Bill, seconds_text
from shardy_py.report.memory import MemoryReport
from shardy_py.report.tables import bytes_text, table
from shardy_py.sharding import Mesh, TensorSharding

SCHEMA = 1
MOST_EDITS = 2000
"""So many removals and additions in one function are told apart; with more, all that differs is both."""


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
    meshes = changed_meshes(module_meshes(before.module), module_meshes(after.module))
    return Difference(changed(pairs), tuple(removed), tuple(added), meshes)


def changed_meshes(before: Mapping[str, Mesh], after: Mapping[str, Mesh]) -> tuple[MeshChange, ...]:
    """The meshes that are not the same in two programs."""
    names = dict.fromkeys((*before, *after))
    found = (MeshChange(name, before.get(name), after.get(name)) for name in names)
    return tuple(change for change in found if change.before != change.after)


def changed(pairs: Iterable[tuple[ValueEntry, ValueEntry]]) -> tuple[Change, ...]:
    """Those of the pairs whose shardings differ."""
    found = (Change(old, new, _sharding(old), _sharding(new)) for old, new in pairs)
    return tuple(change for change in found if change.before != change.after)


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
    pairs = matched([_key(entry) for entry in first], [_key(entry) for entry in second], MOST_EDITS)
    at, other = 0, 0
    for i, j in (*pairs, (len(first), len(second))):
        yield first[at:i], ()
        yield (), second[other:j]
        yield first[i : i + 1], second[j : j + 1]
        at, other = i + 1, j + 1


def matched(first: Sequence[Hashable], second: Sequence[Hashable], most: int) -> list[tuple[int, int]]:
    """Where two sequences agree after the fewest removals and additions; nowhere, if those are over `most`.

    E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986: `reach[k]` is how far into the
    first sequence `edits` edits lead on the diagonal where k more of it than of the second are passed.

    >>> matched("abcd", "xbd", 10)
    [(1, 1), (3, 2)]
    """
    numbers: dict[Hashable, int] = {}
    a, b = ([numbers.setdefault(key, len(numbers)) for key in keys] for keys in (first, second))
    limit = min(most, len(a) + len(b))
    reach = array("q", [-1]) * (2 * limit + 3)
    middle = limit + 1
    reach[middle + 1] = 0
    steps: list[array[int]] = []
    for edits in range(limit + 1):
        steps.append(reach[middle - edits - 1 : middle + edits + 2])
        for k in range(-edits, edits + 1, 2):
            below, above = reach[middle + k - 1], reach[middle + k + 1]
            i = above if _is_addition(k, edits, below, above) else below + 1
            j = i - k
            while i < len(a) and j < len(b) and a[i] == b[j]:
                i, j = i + 1, j + 1
            reach[middle + k] = i
            if i >= len(a) and j >= len(b):
                return _walked_back(steps, len(a), len(b))
    return []


def _is_addition(k: int, edits: int, below: int, above: int) -> bool:
    """Whether the last edit on the way to diagonal k takes from the second sequence, not from the first."""
    return k == -edits or (k != edits and below < above)


def _walked_back(steps: Sequence[array[int]], i: int, j: int) -> list[tuple[int, int]]:
    """The agreements on the way to (i, j); `steps`: how far each number of edits had led before."""
    found: list[tuple[int, int]] = []
    for edits in range(len(steps) - 1, -1, -1):
        k = i - j
        below, above = steps[edits][k + edits], steps[edits][k + edits + 2]
        is_addition = _is_addition(k, edits, below, above)
        start = above if is_addition else below + 1
        while i > max(start, 0) and j > 0:
            i, j = i - 1, j - 1
            found.append((i, j))
        if edits:
            i = above if is_addition else below
            j = i - (k + 1 if is_addition else k - 1)
    return found[::-1]


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


def _told(value: TensorSharding | Mesh | None) -> str:
    return "none" if value is None else str(value)


def _text(value: TensorSharding | Mesh | None) -> str | None:
    return None if value is None else str(value)


def _plural(one: str, many: str, entries: Sequence[object]) -> str:
    return one if len(entries) == 1 else many
