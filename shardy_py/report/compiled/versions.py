"""Two compiled programs of one source program: which collectives and buffers changed, by line.

    versions_of(before, after)

Of two releases of a compiler, say, or two sets of its flags. Not here: a program beside its forecast
(`report.py`), text and JSON (`versions_text.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.hlo.buffers import AllocatedMemory
from shardy_py.hlo.collectives import HloCollective, collectives_of
from shardy_py.hlo.text import HloModule
from shardy_py.report.compiled import sarif, versions_text
from shardy_py.report.compiled.memory import NO_LINE, ComparedMemory
from shardy_py.report.compiled.origins import origin_text
from shardy_py.report.compiled.sent import CompiledAxes, CompiledValue, compiled_values
from shardy_py.report.join import joined
from shardy_py.report.tables import type_text


@dataclass(frozen=True, slots=True)
class SentKind:
    """Equal collectives of one line. devices: the first group. combined: how many values one sends."""

    kind: str
    devices: str
    type: str
    runs: int
    combined: int
    is_exposed: bool


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A line whose collectives differ: those before and after, with their number and bytes in all runs."""

    location: str
    before: Mapping[SentKind, tuple[int, int]]
    after: Mapping[SentKind, tuple[int, int]]

    @property
    def bytes(self) -> tuple[int, int]:
        """The bytes that a device has after all runs, before and after."""
        old, new = (sum(size for _, size in each.values()) for each in (self.before, self.after))
        return old, new


@dataclass(frozen=True, slots=True)
class BufferChange:
    """A line whose buffers among the largest differ in bytes, before and after."""

    location: str
    before: int
    after: int


@dataclass(frozen=True, eq=False)
class VersionsReport:
    """The differences between two compiled programs.

    names: of the modules. collectives: of both. changes: lines whose collectives differ, most bytes first.
    """

    names: tuple[str, str]
    collectives: tuple[tuple[HloCollective, ...], tuple[HloCollective, ...]]
    changes: tuple[VersionChange, ...]
    memory: tuple[ComparedMemory, ComparedMemory]

    @cached_property
    def buffers(self) -> tuple[BufferChange, ...]:
        """The lines whose largest buffers differ, most bytes first."""
        old, new = (_by_line(each) for each in self.memory)
        found = (BufferChange(at, old.get(at, 0), new.get(at, 0)) for at in dict.fromkeys((*old, *new)))
        differing = (each for each in found if each.before != each.after)
        return tuple(sorted(differing, key=lambda each: -max(each.before, each.after)))

    def __bool__(self) -> bool:
        """True if anything differs."""
        return bool(self.changes or self.buffers) or self.memory[0].held != self.memory[1].held

    def to_json(self) -> JsonObject:
        """Returns the report for JSON; docs/compare.md describes the schema."""
        return versions_text.versions_json(self)

    def to_sarif(self, program: str = "") -> JsonObject:
        """Returns a SARIF log of the lines that differ; program: the file for what has no line."""
        return sarif.versions_sarif(self, program)

    def __str__(self) -> str:
        return versions_text.versions_text(self)


def versions_of(
    before: HloModule,
    after: HloModule,
    assigned: tuple[AllocatedMemory | None, AllocatedMemory | None] = (None, None),
) -> VersionsReport:
    """Returns what differs between two compiled programs.

    assigned: their memory as XLA assigned it; None: unknown.
    """
    axes = CompiledAxes((), 0)
    sides = tuple(tuple(collectives_of(module)) for module in (before, after))
    old, new = (compiled_values(side, axes) for side in sides)
    join = joined([value.item for value in new], [value.item for value in old], are_both_compiled=True)
    places_old = [_location(value) for value in old]
    places_new = [
        # a line of one side names both, so that a collective without metadata is not two
        places_old[join.matches[number].forecasts[0]] if number in join.matches else _location(value)
        for number, value in enumerate(new)
    ]
    grouped = _grouped(sides[0], old, places_old), _grouped(sides[1], new, places_new)
    changes = [
        VersionChange(at, grouped[0].get(at, {}), grouped[1].get(at, {}))
        for at in dict.fromkeys((*grouped[0], *grouped[1]))
    ]
    differing = [each for each in changes if each.before != each.after]
    memory = ComparedMemory.of(before, assigned[0]), ComparedMemory.of(after, assigned[1])
    return VersionsReport(
        (before.name, after.name),
        (sides[0], sides[1]),
        tuple(sorted(differing, key=lambda each: -max(each.bytes))),
        memory,
    )


def _location(value: CompiledValue) -> str:
    """The line of a value: its own, else that of what is around it."""
    item = value.item
    known = (origin for origin in (*item.origins, *item.makers, *item.readers) if origin.frames)
    origin = next(known, None)
    if origin is not None:
        return origin_text(origin).partition(" ")[0].rpartition(":")[0]
    return next((origin.name for origin in item.origins), "")


def _grouped(
    collectives: Sequence[HloCollective], values: Iterable[CompiledValue], places: Iterable[str]
) -> dict[str, dict[SentKind, tuple[int, int]]]:
    """By line, the values that are sent, with their number and bytes."""
    found: dict[str, dict[SentKind, tuple[int, int]]] = {}
    for value, place in zip(values, places, strict=True):
        sent = collectives[value.issue]
        held = value.value.held
        kind = SentKind(
            sent.kind,
            value.item.axes[0][0],
            type_text(held.sizes, held.element),
            sent.runs,
            len(sent.values),
            sent.overlap.is_exposed,
        )
        of_line = found.setdefault(place, {})
        count, size = of_line.get(kind, (0, 0))
        of_line[kind] = count + 1, size + value.value.made_bytes * sent.runs
    return found


def _by_line(memory: ComparedMemory) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in memory.largest:
        at = each.location.partition(" ")[0].rpartition(":")[0] or NO_LINE
        found[at] = found.get(at, 0) + each.bytes
    return found
