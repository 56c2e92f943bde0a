"""The values of a verdict: causes of communication, largest first, and changes that were tried.

    verdict = result.verdict()
    verdict.changes[0].words                    what to change first
    verdict.changes[0].after.bytes              what each device receives then

Not here: how causes are found (`causes.py`), text (`text.py`), JSON (`json.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from shardy_py.base.errors import Position
from shardy_py.base.records import dataclass
from shardy_py.hardware.cost import Cost
from shardy_py.report.difference import Figures
from shardy_py.report.verdict import text
from shardy_py.report.verdict.effects import CollectiveEffect


@dataclass(frozen=True, slots=True)
class SourceFix:
    """A replacement of text in a source file that makes a change.

    start, end: of the text, columns counted from 0; end is behind it. new: the text instead.
    """

    start: Position
    end: Position
    new: str


@dataclass(frozen=True, slots=True)
class SuggestedSharding:
    """An annotation of a value to be written in a program of MLIR.

    function: around the value. role: "argument", "result" or "intermediate", which gets a constraint.
    name: of the value in the file. index: of an argument or result. sharding: None: it is to be removed.
    """

    function: str
    role: str
    name: str
    index: int
    sharding: str | None


@dataclass(frozen=True, slots=True)
class TriedChange:
    """A change of the program, which was propagated and planned with it.

    words: the change as an instruction. before, after: the costs of the program without and with it.
    kept: the bytes of arguments and results on each device, without and with it.
    fixes: of the source, if all of the change is expressions of files. code: lines to paste; "" if the words
    say it all. annotations: the change in a program of MLIR, if annotations are all of it. effects: the
    collectives that it removes, makes cheaper or adds. is_for_memory: it saves memory and no more time: what
    it adds is gone, or hidden, once XLA has made reduce-scatters of the sums that it partitions.
    """

    words: str
    before: Figures
    after: Figures
    kept: tuple[int, int]
    fixes: tuple[SourceFix, ...] = ()
    code: str = ""
    annotations: tuple[SuggestedSharding, ...] = ()
    effects: tuple[CollectiveEffect, ...] = ()
    is_for_memory: bool = False

    @property
    def saved_bytes(self) -> int:
        """The bytes that each device receives less."""
        return self.before.bytes - self.after.bytes

    @property
    def saving(self) -> str:
        """The instruction with the bytes that all collectives send before and after."""
        return text.saving_text(self)

    @property
    def keeps_more(self) -> bool:
        """True if devices keep more of the arguments and results."""
        return self.kept[1] > self.kept[0]


@dataclass(frozen=True)
class CostCause:
    """Collectives with one cause: those of one source line in all layers; without lines, of ops alike.

    location: of the largest. position: the same in a file. code: the text of the line, or the op with its
    types. ops: their names. kinds: how many collectives of each kind, with its axes.
    count, layers, phases: how many collectives, in how many layers, and in which passes of the model.
    cost: of all their runs. share: of the time of all collectives. reason: of the largest, in words.
    origins: the annotations that axes of the largest come from, a phrase each.
    best: the best change that was tried for them alone. step: the number, from 1, of the change of the
    verdict that it is; 0: none.
    """

    location: str
    position: Position | None
    code: str
    ops: tuple[str, ...]
    kinds: Mapping[str, int]
    count: int
    layers: int
    phases: Mapping[str, int]
    cost: Cost
    share: float
    reason: str
    origins: tuple[str, ...] = ()
    best: TriedChange | None = None
    step: int = 0


@dataclass(frozen=True)
class Verdict:
    """The costs of a program in communication, their causes, and changes that help.

    figures: of the program. model: the name of the links that seconds are computed for.
    causes: most expensive first; others: how many more there are.
    changes: to apply in this order; each was tried on top of those before. tried: how many were.
    not_tried: why no change was tried; "" otherwise. notes: warnings that the program gives rise to.
    """

    figures: Figures
    model: str
    causes: tuple[CostCause, ...] = ()
    others: int = 0
    changes: tuple[TriedChange, ...] = ()
    tried: int = 0
    not_tried: str = ""
    notes: tuple[str, ...] = ()

    @property
    def after(self) -> Figures:
        """The figures with all changes."""
        return self.changes[-1].after if self.changes else self.figures

    @property
    def headline(self) -> str:
        """The costs, and what all changes save, in a line."""
        return text.headline(self)

    def __str__(self) -> str:
        return text.verdict_text(self)

    def __repr__(self) -> str:
        return text.short(self)

    def _repr_html_(self) -> str:
        return text.html(self)
