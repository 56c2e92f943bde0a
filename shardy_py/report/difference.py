"""The difference between two programs in shardings, communication and memory.

    found = difference(ValueTable(before), ValueTable(after))
    print(difference_text(found, figures_before, figures_after))

Names of values, functions and meshes do not matter. Not here: which values correspond (`matching.py`),
running passes (`pipeline.py`), the figures of one program (`communication/`, `memory/`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.base.releases import KEY, Release, current
from shardy_py.base.terminal import lines_text
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_table import ValueEntry, ValueTable
from shardy_py.report.communication import CommunicationReport, Partitioner
from shardy_py.report.memory import MemoryReport
from shardy_py.report.tables import bytes_text, omission, seconds_text, table
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.xla.targets.stage import AS_PARTITIONED

SCHEMA = 2


@dataclass(frozen=True, slots=True)
class Change:
    """A value whose sharding differs between the two programs; None: it has none."""

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
        """Its location in the source; "" if unknown."""
        return location_text(self.new_entry.location) or location_text(self.entry.location)

    def __str__(self) -> str:
        renamed = "" if self.entry.name == self.new_entry.name else f" (now {self.new_entry})"
        place = f"  [{self.location}]" if self.location else ""
        return f"{self.entry}{renamed}: {self.before or 'none'} -> {self.after or 'none'}{place}"


@dataclass(frozen=True, slots=True)
class MeshChange:
    """A mesh that differs; None: the program has no mesh of that name."""

    name: str
    before: Mesh | None
    after: Mesh | None

    def __str__(self) -> str:
        return f"@{self.name}: {self.before or 'none'} -> {self.after or 'none'}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Changed values, those in one program only, in program order, and meshes that differ."""

    changes: tuple[Change, ...]
    removed: tuple[ValueEntry, ...] = ()
    added: tuple[ValueEntry, ...] = ()
    meshes: tuple[MeshChange, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.removed or self.added or self.meshes)


@dataclass(frozen=True, eq=False)
class Figures:
    """The costs of a program: collectives by kind, bytes received per device, seconds, memory per device.

    memory: in bytes, or what computes it when it is asked for. partitioner, release: whose collectives.
    stage: of the program, as a phrase.
    """

    collectives: dict[str, int]
    bytes: int
    seconds: float
    memory: int | Callable[[], int] = field(repr=False)
    partitioner: Partitioner = "shardy"
    release: Release = field(default_factory=current)
    stage: str = AS_PARTITIONED

    @cached_property
    def memory_bytes(self) -> int:
        """The memory on each device, as of the memory report."""
        return self.memory if isinstance(self.memory, int) else self.memory()

    @staticmethod
    def of(communication: CommunicationReport, memory: MemoryReport) -> Figures:
        """Returns the figures of a program's reports."""
        counts, total = dict(sorted(communication.counts.items())), communication.total
        partitioner, release = communication.partitioner, communication.release
        own = partitioner, release, communication.stage_words
        return Figures(counts, total.bytes, total.seconds, memory.memory_bytes, *own)

    @property
    def _costs(self) -> tuple[Any, ...]:
        """The costs compared, also those of different releases."""
        return self.collectives, self.bytes, self.seconds, self.memory_bytes, self.partitioner, self.stage

    def to_json(self) -> JsonObject:
        """Returns the figures by name."""
        names = ("collectives", "bytes", "seconds", "memory_bytes", "partitioner", "stage")
        return {**dict(zip(names, self._costs, strict=True)), KEY: self.release.name}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Figures) and self._costs == other._costs

    def __hash__(self) -> int:
        return hash((self.bytes, self.seconds, self.partitioner))

    def __reduce__(self) -> tuple[object, ...]:
        return Figures, (*self._costs[:-1], self.release, self.stage)


def difference(before: ValueTable, after: ValueTable) -> Difference:
    """Returns the difference between the values of two modules."""
    from shardy_py.report.matching import match_values

    matching = match_values(before, after)
    old, new = Symbols(before.module).meshes(), Symbols(after.module).meshes()
    changes = changed(matching.pairs, renamed_meshes(old, new))
    return Difference(changes, matching.removed, matching.added, changed_meshes(old, new))


def renamed_meshes(before: Mapping[str, Mesh], after: Mapping[str, Mesh]) -> dict[str, str]:
    """Returns the new names of meshes that only have another name."""
    free = [name for name in after if name not in before]
    renamed: dict[str, str] = {}
    for name, mesh in before.items():
        new = next((other for other in free if after[other] == mesh), None) if name not in after else None
        if new is not None:
            renamed[name] = new
            free.remove(new)
    return renamed


def changed_meshes(before: Mapping[str, Mesh], after: Mapping[str, Mesh]) -> tuple[MeshChange, ...]:
    """Returns the meshes that differ, but for new names."""
    renamed = renamed_meshes(before, after)
    names = dict.fromkeys(name for name in (*before, *after) if name not in renamed)
    changes = (MeshChange(name, before.get(name), after.get(name)) for name in names)
    same = frozenset(renamed.values())
    return tuple(change for change in changes if change.before != change.after and change.name not in same)


def changed(
    pairs: Iterable[tuple[ValueEntry, ValueEntry]], renamed: Mapping[str, str] | None = None
) -> tuple[Change, ...]:
    """Returns the pairs whose shardings differ, but for new names of meshes."""
    changes = (Change(old, new, old.sharding, new.sharding) for old, new in pairs)
    return tuple(change for change in changes if _differs(change, renamed or {}))


def difference_text(delta: Difference, before: Figures, after: Figures, most: int = 200) -> str:
    """Returns what differs as text, at most `most` values of each kind."""
    parts: list[str] = []
    meshes = "mesh" if len(delta.meshes) == 1 else "meshes", delta.meshes
    values = ("changed", delta.changes), ("removed", delta.removed), ("added", delta.added)
    for title, entries in (meshes, *values):
        if entries:
            lines = [f"{len(entries)} {title}:", *(f"  {entry}" for entry in entries[:most])]
            parts.append(lines_text([*lines, *omission(len(entries) - most, "  ")]))
    rows = list(_figure_rows(before, after))
    if rows:
        parts.append(
            table([(f"partitioner: {before.partitioner}, {before.stage}", "before", "after"), *rows])
        )
    return "\n\n".join(parts) or "no differences"


def difference_json(delta: Difference, before: Figures, after: Figures) -> JsonObject:
    """Returns what differs for JSON; docs/diff.md describes the schema."""
    changes = [
        {"value": str(c.entry), "now": str(c.new_entry), **_sides(c), "location": c.location}
        for c in delta.changes
    ]
    meshes = [{"name": change.name, **_sides(change)} for change in delta.meshes]
    alone = {"removed": [*map(str, delta.removed)], "added": [*map(str, delta.added)]}
    figures = {"before": before.to_json(), "after": after.to_json()}
    return {"schema": SCHEMA, "changed": changes, "meshes": meshes, **alone, **figures}


def _figure_rows(before: Figures, after: Figures) -> Iterator[tuple[str, str, str]]:
    for kind in sorted({*before.collectives, *after.collectives}):
        old, new = before.collectives.get(kind, 0), after.collectives.get(kind, 0)
        if old != new:
            yield kind, str(old), str(new)
    if before.bytes != after.bytes:
        yield "bytes moved", bytes_text(before.bytes), bytes_text(after.bytes)
    if before.seconds != after.seconds:
        yield "time", seconds_text(before.seconds), seconds_text(after.seconds)
    if before.memory_bytes != after.memory_bytes:
        yield "memory", bytes_text(before.memory_bytes), bytes_text(after.memory_bytes)


def _differs(change: Change, renamed: Mapping[str, str]) -> bool:
    before, after = change.before, change.after
    if before is None or after is None or not isinstance(before.mesh, str):
        return before != after
    return before != after and replace(before, mesh=renamed.get(before.mesh, before.mesh)) != after


def _sides(change: Change | MeshChange) -> dict[str, str | None]:
    sides = (("before", change.before), ("after", change.after))
    return {side: None if value is None else str(value) for side, value in sides}
