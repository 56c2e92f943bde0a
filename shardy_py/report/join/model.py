"""Values that are sent, as the join sees them: those of a compiled program, and those that were forecast.

Not here: how they are joined (`joining.py`), where they come from (`report/compiled/`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import IntEnum, auto
from math import prod
from pathlib import PurePath

from shardy_py.base.records import dataclass
from shardy_py.base.source_files import is_framework
from shardy_py.hlo.collectives import Place
from shardy_py.hlo.text import Frame, Origin

Line = tuple[str, int]
"""The name of a source file, without its folders, and a line."""


def frame_of(origin: Origin) -> Frame | None:
    """Returns the innermost frame of an origin, of the model if there is one; None if it has no lines."""
    known = [frame for frame in origin.frames if frame.line]
    return next((frame for frame in known if not is_framework(frame.file)), known[0] if known else None)


def line_of(origin: Origin) -> Line | None:
    """Returns the line of an origin; None if it has none."""
    frame = frame_of(origin)
    return None if frame is None else (PurePath(frame.file).name, frame.line)


def sizes_of(shape: Iterable[int | None]) -> tuple[int, ...]:
    """Returns the sizes of a shape as the join compares them: sorted, without those of 1."""
    return tuple(sorted(size for size in shape if size is not None and size != 1))


def scope_of(origin: Origin) -> str:
    """Returns the name of an origin without that of its op: `jit(f)/while` of `jit(f)/while/dot`."""
    return origin.name.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class SentItem:
    """A value that a collective sends.

    kind: as in the op table. axes: with sizes, sorted. element, sizes: of the value before or after, where a
    device has more of it; sorted, without those of 1. runs: of its collective.
    origins: of what it is sent for; makers, readers: of what makes and reads it, the nearest first.
    place: of its collective among the others; (): unknown.
    """

    kind: str
    axes: tuple[tuple[str, int], ...]
    element: str
    sizes: tuple[int, ...]
    runs: int
    origins: tuple[Origin, ...] = ()
    makers: tuple[Origin, ...] = ()
    readers: tuple[Origin, ...] = ()
    place: Place = ()

    @property
    def count(self) -> int:
        """The number of elements of the whole value."""
        return prod(self.sizes)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of its origins."""
        return tuple(dict.fromkeys(line for line in map(line_of, self.origins) if line is not None))


class JoinEvidence(IntEnum):
    """The evidence that two values were joined by, the strongest first."""

    METADATA = auto()
    AROUND = auto()
    STRUCTURE = auto()
    LINE = auto()


@dataclass(frozen=True, slots=True)
class Match:
    """The numbers of the forecast values that a value of a compiled program is, and what says so."""

    forecasts: tuple[int, ...]
    evidence: JoinEvidence


@dataclass(frozen=True, slots=True)
class Join:
    """The matches of compiled values by their number; several may be of one forecast value."""

    matches: Mapping[int, Match] = field(default_factory=dict[int, Match])

    @property
    def parts(self) -> dict[int, int]:
        """The number of compiled values of each forecast value that has some."""
        return dict(Counter(each for match in self.matches.values() for each in match.forecasts))
