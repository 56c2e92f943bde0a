"""Remedies for a tensor that is not sharded: annotations after which it is, with what then is sent.

Not here: which annotations are proposed (`proposals.py`), remedies for collectives (`remedy.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from shardy_py.base.records import dataclass
from shardy_py.base.terminal import lines_text
from shardy_py.report.tables import bytes_text
from shardy_py.search.advice.remedy import Edit, Language, words_of

_SHOWN = 2
MOST_TRIES = 6
"""For one tensor."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The bytes of the tensor on each device, and those that all collectives send to a device."""

    held_bytes: int
    sent_bytes: int


@dataclass(frozen=True)
class Placement:
    """Edits after which a tensor is sharded.

    words: the edits as an instruction. before, after: the costs without and with them.
    """

    edits: tuple[Edit, ...]
    words: str
    before: Holding
    after: Holding

    @property
    def pays(self) -> bool:
        """True unless more is sent than is no longer held, of all tensors that the edits annotate."""
        tensors = sum(len(edit.values) for edit in self.edits)
        saved = self.before.held_bytes - self.after.held_bytes
        return self.after.sent_bytes - self.before.sent_bytes <= tensors * saved

    def __str__(self) -> str:
        old, new = self.before, self.after
        held = f"{bytes_text(old.held_bytes)} -> {bytes_text(new.held_bytes)} on each device"
        sent = f"communication {bytes_text(old.sent_bytes)} -> {bytes_text(new.sent_bytes)}"
        return lines_text((f"{self.words}  ({held}; {sent})",))


@dataclass(frozen=True)
class PlacementRemedies:
    """Remedies for a tensor, those that send least first, and how many edits were tried."""

    remedies: tuple[Placement, ...]
    tried: int

    @property
    def lines(self) -> tuple[str, ...]:
        """The remedies, a line each, or that none was found."""
        if self.remedies:
            return tuple(map(str, self.remedies[:_SHOWN]))
        return (f"no single annotation helps ({self.tried} tried)",) if self.tried else ()


NO_PLACEMENTS = PlacementRemedies((), 0)


def placements(
    proposals: Iterable[tuple[Edit, ...]],
    before: Holding,
    trial: Callable[[tuple[Edit, ...]], Holding | None],
    language: Language,
) -> PlacementRemedies:
    """Tries proposals, and returns those after which devices hold less of the tensor.

    trial: what the edited program costs; None if it is invalid, or the tensor is not sharded as wanted.
    """
    found: list[Placement] = []
    tried = 0
    for proposal in islice(proposals, MOST_TRIES):
        tried += 1
        after = trial(proposal)
        if after is not None and after.held_bytes < before.held_bytes:
            found.append(Placement(proposal, words_of(proposal, language), before, after))
    found.sort(key=lambda each: (each.after.sent_bytes, each.after.held_bytes))
    return PlacementRemedies(tuple({each.words: each for each in reversed(found)}.values())[::-1], tried)
