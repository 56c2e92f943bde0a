"""The collectives of a compiled program as plain values.

Not here: how they are found (`reading.py`), the program that they come from (`report/compiled/`).
"""

from __future__ import annotations

from math import prod

from shardy_py.base.records import dataclass
from shardy_py.hlo.collectives.places import Place
from shardy_py.hlo.text import NO_ORIGIN, Origin, Shape
from shardy_py.indexing.layout import element_type

Devices = tuple[tuple[int, ...], ...]
"""Groups of devices, or pairs of sender and receiver."""


@dataclass(frozen=True, slots=True)
class SentValue:
    """One value that a collective sends.

    held, made: its shape on a device before and after. origin: of the value, as far as it is certain: of the
    collective itself if it sends nothing else; empty otherwise. makers, readers: the origins of what made it,
    and of what reads it, the nearest first. place: among the collectives of the program.
    """

    held: Shape
    made: Shape
    origin: Origin = NO_ORIGIN
    makers: tuple[Origin, ...] = ()
    readers: tuple[Origin, ...] = ()
    place: Place = ()

    @property
    def held_bytes(self) -> int:
        """The bytes of the value on a device before."""
        return shape_bytes(self.held)

    @property
    def made_bytes(self) -> int:
        """The bytes of the value on a device after."""
        return shape_bytes(self.made)


@dataclass(frozen=True, slots=True)
class Overlap:
    """The instructions that run while the data of a collective moves.

    is_async: it starts and ends apart; others block. count: the instructions that compute between; names: of
    the first ones. is_known: the order of instructions is that in which they run.
    """

    is_async: bool = False
    count: int = 0
    names: tuple[str, ...] = ()
    is_known: bool = True

    @property
    def is_exposed(self) -> bool:
        """Returns whether devices only wait while data moves."""
        return not self.count


@dataclass(frozen=True, slots=True)
class HloCollective:
    """A collective of a compiled program.

    name: of its instruction, of the start if it has one, in `computation`. kind: as in the op table.
    devices: groups, or pairs of a permute; none: all devices. runs: with the trip counts of loops;
    is_estimate: one of them is unknown. form: how the compiler issues it, if not as one instruction. line: of
    the text; 0: unknown.
    """

    name: str
    computation: str
    kind: str
    devices: Devices
    values: tuple[SentValue, ...]
    origin: Origin
    runs: int
    is_estimate: bool = False
    channel: int | None = None
    overlap: Overlap = Overlap()
    form: str = ""
    line: int = 0

    @property
    def held_bytes(self) -> int:
        """The bytes on a device before one run."""
        return sum(value.held_bytes for value in self.values)

    @property
    def made_bytes(self) -> int:
        """The bytes on a device after one run."""
        return sum(value.made_bytes for value in self.values)


def element_count(shape: Shape) -> int:
    """Returns the number of elements of an array; unbounded dimensions count as 1."""
    return prod(size if size is not None else 1 for size in shape.sizes)


def shape_bytes(shape: Shape) -> int:
    """Returns the bytes of the elements of a shape, without padding; tokens have none.

    >>> shape_bytes(Shape("bf16", (8, 128)))
    2048
    """
    if shape.is_tuple:
        return sum(map(shape_bytes, shape.parts))
    if shape.element in ("token", "opaque"):
        return 0
    return -(-element_count(shape) * element_type(shape.element).bits // 8)
