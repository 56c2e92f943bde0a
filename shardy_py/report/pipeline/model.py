"""The report on pipelines: the loops with their stages, microbatches and sends, and a picture of the order.

Not here: how loops are recognized (`detected.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase
from xml.sax.saxutils import escape

from shardy_py.base.records import dataclass
from shardy_py.report.tables import bytes_text, seconds_text

_MOST_COLUMNS = 48
"""Iterations in a picture as text."""
_CELL, _MARGIN = 26, 74
_XMLNS = 'xmlns="http://www.w3.org/2000/svg"'
_STYLE = "text{font:12px monospace;fill:#222}rect{stroke:#fff;fill:#9bc3e6}.e{fill:#f4f4f4;stroke:#ccc}"


@dataclass(frozen=True, slots=True)
class StageSend:
    """A collective permute of a loop, in one iteration.

    bytes: that each device receives. exposed: the seconds of it that no computation can hide. is_forward:
    whether it takes what a stage has computed to the next one.
    """

    value: str
    location: str
    bytes: int
    seconds: float
    exposed: float
    is_forward: bool


@dataclass(frozen=True, slots=True)
class PipelineLoop:
    """A loop whose iterations compute one microbatch on each stage.

    location: of the loop; "" if unknown. axis: along which stages are. iterations: of the loop. delay: the
    iterations after which a stage computes what the one before has sent. repeats: the times that a microbatch
    passes all stages. weight_bytes: of a stage's weights; state_bytes: of what is handed from one
    iteration to the next, on each device. compute: seconds of an iteration without sends. is_reversed:
    whether the last stage begins, as in a backward pass whose locations say so.
    """

    location: str
    axis: str
    stages: int
    iterations: int
    delay: int
    repeats: int
    weight_bytes: int
    state_bytes: int
    compute: float
    sends: tuple[StageSend, ...]
    is_reversed: bool = False

    @property
    def idle(self) -> int:
        """The iterations in which a device has no microbatch: it waits for the first, and for the others."""
        return self.delay * (self.stages - 1)

    @property
    def microbatches(self) -> int:
        """The number of microbatches."""
        return (self.iterations - self.idle) // self.repeats

    @property
    def bubble(self) -> float:
        """The part of its iterations in which a device has no microbatch.

        (p - 1) / (m + p - 1) for GPipe with p stages and m microbatches; (p - 1) / (m r + p - 1) if each
        passes the stages r times.
        """
        return self.idle / self.iterations

    @property
    def schedule(self) -> str:
        """The name of the schedule."""
        name = "circular" if self.repeats > 1 else "GPipe"
        return f"{name}, sent {self.delay} iterations before it is used" if self.delay > 1 else name

    @property
    def exposed(self) -> float:
        """The seconds of sends in an iteration that no computation can hide."""
        return sum(send.exposed for send in self.sends)

    @property
    def seconds(self) -> float:
        """The time of all iterations: computation, and sends that are exposed."""
        return self.iterations * (self.compute + self.exposed)

    def microbatch(self, stage: int, iteration: int) -> tuple[int, int] | None:
        """Returns the microbatch of a stage in an iteration, and how often it has passed all; None: none."""
        place = self.stages - 1 - stage if self.is_reversed else stage
        turn = iteration - self.delay * place
        if not 0 <= turn < self.microbatches * self.repeats:
            return None
        return turn % self.microbatches, turn // self.microbatches

    def picture(self) -> str:
        """Returns the microbatches of each stage by iteration; `.`: none, `1b`: for its second time."""
        shown = range(min(self.iterations, _MOST_COLUMNS))
        rows = [[self._cell(stage, n) for n in shown] for stage in range(self.stages)]
        width = max(len(cell) for row in rows for cell in row)
        more = " ..." if len(shown) < self.iterations else ""
        number = len(str(self.stages - 1))
        return "\n".join(
            f"stage {stage:>{number}}  {' '.join(cell.rjust(width) for cell in row)}{more}"
            for stage, row in enumerate(rows)
        )

    def _cell(self, stage: int, iteration: int) -> str:
        found = self.microbatch(stage, iteration)
        if found is None:
            return "."
        number, turn = found
        return f"{number}{ascii_lowercase[turn % 26]}" if self.repeats > 1 else str(number)

    def to_svg(self) -> str:
        """Returns the picture as the text of an SVG file."""
        width, height = _MARGIN + _CELL * self.iterations + 10, _CELL * (self.stages + 1)
        lines = [f'<svg {_XMLNS} width="{width}" height="{height}"><style>{_STYLE}</style>']
        lines.append(f"<desc>{escape(self.headline())}</desc>")
        for stage in range(self.stages):
            top = _CELL * stage + 8
            lines.append(f'<text x="8" y="{top + 17}">stage {stage}</text>')
            for n in range(self.iterations):
                cell, left = self._cell(stage, n), _MARGIN + _CELL * n
                kind = ' class="e"' if cell == "." else ""
                lines.append(
                    f'<rect{kind} x="{left}" y="{top}" width="{_CELL - 2}" height="{_CELL - 2}"/>'
                    f'<text x="{left + 3}" y="{top + 17}">{"" if cell == "." else cell}</text>'
                )
        return "\n".join((*lines, "</svg>"))

    def headline(self) -> str:
        """Returns stages, microbatches and bubble in a line."""
        times = f" {self.repeats} times" if self.repeats > 1 else ""
        return (
            f"{self.schedule}: {self.stages} stages along {self.axis}, "
            f"{self.microbatches} microbatches{times}, {self.iterations} iterations, bubble {self.bubble:.1%}"
        )

    def lines(self) -> Iterator[str]:
        """Returns the lines of a report."""
        yield self.headline() + (f"  [{self.location}]" if self.location else "")
        yield (
            f"  each device: weights {bytes_text(self.weight_bytes)}, handed from iteration to iteration "
            f"{bytes_text(self.state_bytes)}"
        )
        yield f"  iteration: compute {seconds_text(self.compute)}, sends exposed {seconds_text(self.exposed)}"
        for send in self.sends:
            what = "to the next stage" if send.is_forward else "other"
            exposed = f"{seconds_text(send.exposed)} of {seconds_text(send.seconds)} exposed"
            place = f"  [{send.location}]" if send.location else ""
            yield f"    {what}: {send.value}, {bytes_text(send.bytes)}, {exposed}{place}"
        yield from (f"  {line}" for line in self.picture().splitlines())


@dataclass(frozen=True, slots=True)
class PipelineReport:
    """The pipelines of a program; a step of training has one forward and one backward.

    memory_bytes: that XLA allocates on each device, as estimated. hardware: whose times they are.
    """

    loops: tuple[PipelineLoop, ...]
    memory_bytes: int
    hardware: str

    @property
    def stages(self) -> int:
        """The number of stages."""
        return self.loops[0].stages

    @property
    def microbatches(self) -> int:
        """The number of microbatches."""
        return self.loops[0].microbatches

    @property
    def bubble(self) -> float:
        """The part of the time of all loops in which a device has no microbatch."""
        total = sum(loop.seconds for loop in self.loops)
        if not total:
            return self.loops[0].bubble
        return sum(loop.bubble * loop.seconds for loop in self.loops) / total

    def __str__(self) -> str:
        head = f"Pipeline on {self.hardware}: each device allocates {bytes_text(self.memory_bytes)}"
        return "\n".join((head, *(line for loop in self.loops for line in loop.lines())))
