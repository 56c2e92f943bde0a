"""The memory of a compiled program beside the estimate, with the source lines of its largest buffers.

Not here: what the program holds (`hlo/buffers/`), the estimate (`xla/buffers/`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.hlo.buffers import AllocatedMemory, memory_of
from shardy_py.hlo.collectives import Flow, ValueSurroundings
from shardy_py.hlo.text import Computation, HloModule
from shardy_py.report.compiled.origins import origin_text
from shardy_py.report.join import frame_of
from shardy_py.report.tables import bytes_text, table
from shardy_py.xla.buffers.estimated import LiveTensor, MemoryEstimate

NO_LINE = "(no line)"
PARTS = ("arguments", "results", "aliased", "temporaries", "total_bytes")
"""The fields of both sides of a memory that are shown."""


@dataclass(frozen=True)
class ComparedMemory:
    """The memory of a compiled program.

    held: on each device. largest: of its buffers, with lines. estimate: of the program; None: there is none.
    device_bytes: the memory of the device that it was compiled for; None: that is not known.
    """

    held: AllocatedMemory
    largest: tuple[LiveTensor, ...]
    estimate: MemoryEstimate | None = None
    device_bytes: int | None = None

    @staticmethod
    def of(
        module: HloModule,
        assigned: AllocatedMemory | None = None,
        estimate: MemoryEstimate | None = None,
        device_bytes: int | None = None,
    ) -> ComparedMemory:
        """Returns the memory of a module: as XLA assigned it if that is known, else by its schedule."""
        held = assigned or memory_of(module)
        return ComparedMemory(held, tuple(_largest(module, held)), estimate, device_bytes)

    @property
    def fits(self) -> bool | None:
        """True if the memory of the device holds the program; None: that is not known."""
        return None if self.device_bytes is None else self.held.total_bytes <= self.device_bytes

    def to_json(self) -> JsonObject:
        """Returns the memory for JSON."""
        parts = {name: getattr(self.held, name) for name in PARTS}
        estimate = self.estimate
        return {
            "by": self.held.by,
            "fits": self.fits,
            "compiled": parts,
            "estimate": None if estimate is None else {name: getattr(estimate, name) for name in PARTS},
            "largest": [_json(each) for each in self.largest],
            "estimated_largest": [] if estimate is None else [_json(each) for each in estimate.largest],
        }

    def __str__(self) -> str:
        """The parts of the memory, and the largest buffers of both sides."""
        estimate = self.estimate
        head = ("memory on each device", *(() if estimate is None else ("estimate",)), "compiled")
        rows = [
            (
                name.removesuffix("_bytes"),
                *(() if estimate is None else (bytes_text(getattr(estimate, name)),)),
                bytes_text(getattr(self.held, name)),
            )
            for name in PARTS
        ]
        parts = [f"{table([head, *rows])}\ncompiled: by {self.held.by}"]
        for title, buffers in (("held at once", self.largest), ("estimated", _of(estimate))):
            if buffers:
                cells = [(each.name, bytes_text(each.bytes), each.location) for each in buffers]
                parts.append(table([(title, "each device", "location"), *cells], (0, 2)))
        if self.device_bytes is not None:
            fits = "fits" if self.fits else "does not fit"
            sizes = f"{bytes_text(self.held.total_bytes)} of {bytes_text(self.device_bytes)}"
            parts.append(f"The program {fits}: {sizes}.")
        return "\n\n".join(parts)


def _of(estimate: MemoryEstimate | None) -> tuple[LiveTensor, ...]:
    return () if estimate is None else estimate.largest


def _json(each: LiveTensor) -> JsonObject:
    return {"bytes": each.bytes, "name": each.name, "location": each.location}


def _largest(module: HloModule, held: AllocatedMemory) -> Iterator[LiveTensor]:
    wanted = {each.name for each in held.largest}
    known = {
        name: computation
        for computation in module.computations
        for name in wanted.intersection(computation.by_name)
    }
    values = ValueSurroundings(Flow(module))
    for each in held.largest:
        around = known.get(each.name)
        location = "" if around is None else _location(values, around, each.name)
        yield LiveTensor(each.bytes, each.name, location)


def _location(values: ValueSurroundings, around: Computation, name: str) -> str:
    """The line of what makes a value, else of what reads it; "" if neither is known."""
    known = chain(values.makers(around, name), values.readers(around, (name,)))
    return next((origin_text(origin) for origin in known if frame_of(origin) is not None), "")
