"""Tries proposed edits on a program, and keeps those that help.

A remedy helps if less is sent in all and by the collectives concerned, and no device computes more. Those
after which devices keep more come last. Not here: what is proposed (`proposals.py`), propagating the edited
program (`search/advising.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from shardy_py.report.communication import CollectiveUse
from shardy_py.search.advice.outcome import GroupKey, Outcome, group_key
from shardy_py.search.advice.program import AdvisedProgram
from shardy_py.search.advice.proposals import key_of, proposals
from shardy_py.search.advice.question import Question
from shardy_py.search.advice.remedy import Advice, Effect, Language, Proposal, Remedy, words_of

Trial = Callable[[Proposal], Outcome | None]
"""Returns what the edited program costs; None if it is invalid."""
SHOWN = 3
"""The remedies of a collective."""
_MOST_TRIES = 32
"""For one group of collectives."""
_VALUES_TRIED = 40_000
"""The values of all programs that are propagated for one report; at least `_FEWEST` edits are tried."""
_FEWEST = 3
MOST_VALUES = 20_000
"""Values of a program for which no edits are tried unless a number is asked for: a try takes seconds."""
_GROUPS = 3
"""Each group gets so large a part of the tries that are left."""
_TOLERANCE = 1.01
"""Growth of work that does not count."""


@dataclass
class Adviser:
    """Finds remedies for the collectives of one program.

    trial: what an edited program costs. tries: how many more edits are tried in all; None: by the size of
    the program.
    """

    before: Outcome
    program: AdvisedProgram
    trial: Trial
    language: Language
    tries: int | None = None
    _known: dict[tuple[object, ...], tuple[Proposal, Outcome | None]] = field(
        default_factory=dict[tuple[object, ...], tuple[Proposal, "Outcome | None"]]
    )
    _advice: dict[GroupKey, Advice] = field(default_factory=dict[GroupKey, Advice])

    def __post_init__(self) -> None:
        """Sets the number of tries from the size of the program."""
        if self.tries is None:
            values = max(1, len(self.program.table.entries))
            self.tries = 0 if values > MOST_VALUES else max(_FEWEST, _VALUES_TRIED // values)

    def advice(self, use: CollectiveUse, most: int = SHOWN) -> Advice:
        """Returns the best remedies for a collective and those alike."""
        key = group_key(use)
        if key not in self._advice:
            share = max(_FEWEST, -(-(self.tries or 0) // _GROUPS))
            self._advice[key] = self._advise(key, min(share, _MOST_TRIES))
        found = self._advice[key]
        return Advice(found.remedies[:most], found.tried)

    def _advise(self, key: GroupKey, share: int) -> Advice:
        uses = self.before.by_group.get(key, [])
        if not uses or self.before.own_bytes[key] == 0:
            return Advice((), 0)
        left = min(share, self.tries or 0)
        tried = 0
        for proposal in proposals(Question(self.program, uses[0])) if left > 0 else ():
            if left <= 0:
                break
            tried += 1
            if key_of(proposal) not in self._known:
                left -= 1
                self.tries = (self.tries or 0) - 1
                self._known[key_of(proposal)] = proposal, self.trial(proposal)
        return Advice(self._best(key), max(tried, len(self._known)))

    def _best(self, key: GroupKey) -> tuple[Remedy, ...]:
        """All edits so far that help a group, best first."""
        found: list[Remedy] = []
        for proposal, after in self._known.values():
            if after is not None and self._helps(after, key):
                words = words_of(proposal, self.language)
                found.append(
                    Remedy(proposal, words, self._effect(self.before, key), self._effect(after, key))
                )
        kept = self.before.kept_bytes
        found.sort(key=lambda r: (r.after.kept_bytes > kept, r.after.total.bytes, len(r.edits)))
        distinct = dict.fromkeys(remedy.words for remedy in found)
        return tuple(next(r for r in found if r.words == words) for words in [*distinct][:SHOWN])

    def _helps(self, after: Outcome, key: GroupKey) -> bool:
        before = self.before
        is_less = after.total.bytes < before.total.bytes and after.work <= before.work * _TOLERANCE
        return is_less and after.own_bytes.get(key, 0) < before.own_bytes[key]

    @staticmethod
    def _effect(outcome: Outcome, key: GroupKey) -> Effect:
        return Effect(outcome.total, outcome.own_bytes.get(key, 0), outcome.kept_bytes)
