"""Tries proposed edits on a program, and keeps those that help.

An edit helps if less is sent in all, in less time, and no device computes more; for a collective, if less is
sent by it and those alike, too. Edits after which devices keep more come last. Not here: what is proposed
(`proposals.py`), propagating the edited program (`search/advising.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cached_property

from shardy_py.base.records import dataclass
from shardy_py.report.communication import CollectiveUse
from shardy_py.search.advice.outcome import GroupKey, Most, Outcome, group_key
from shardy_py.search.advice.program import AdvisedProgram
from shardy_py.search.advice.proposals import key_of, proposals
from shardy_py.search.advice.question import Question
from shardy_py.search.advice.remedy import Advice, Effect, Language, Proposal, Remedy, words_of

Trial = Callable[[Proposal, Most], Outcome | None]
"""Returns what the edited program costs; None if it is invalid, or costs more than the most."""
SHOWN = 3
"""The remedies of a collective."""
_MOST_TRIES = 32
"""For one group of collectives."""
_VALUES_TRIED = 40_000
"""The values of all programs that are propagated for one report; at least `_FEWEST` edits are tried."""
_FEWEST, _FEWEST_OF_A_GROUP = 6, 3
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
    the program. accepts: whether a proposal is tried at all.
    """

    before: Outcome
    program: AdvisedProgram
    trial: Trial
    language: Language
    tries: int | None = None
    accepts: Callable[[Proposal], bool] = lambda proposal: True
    _known: dict[tuple[object, ...], tuple[Proposal, Outcome | None]] = field(
        default_factory=dict[tuple[object, ...], tuple[Proposal, "Outcome | None"]]
    )
    _advice: dict[GroupKey, Advice] = field(default_factory=dict[GroupKey, Advice])

    def __post_init__(self) -> None:
        """Sets the number of tries from the size of the program."""
        if self.tries is None:
            values = max(1, len(self.program.table.entries))
            self.tries = max(_FEWEST, _VALUES_TRIED // values)

    @property
    def tried(self) -> int:
        """The number of edits that have been tried."""
        return len(self._known)

    def advice(self, use: CollectiveUse, most: int = SHOWN) -> Advice:
        """Returns the best remedies for a collective and those alike."""
        key = group_key(use)
        if key not in self._advice:
            share = max(_FEWEST_OF_A_GROUP, -(-(self.tries or 0) // _GROUPS))
            self._advice[key] = self._advise(key, min(share, _MOST_TRIES))
        found = self._advice[key]
        return Advice(found.remedies[:most], found.tried)

    def best_for(self, uses: Iterable[CollectiveUse]) -> tuple[Proposal, Outcome] | None:
        """Returns the best of all edits so far after which collectives send less together; None: none."""
        keys = dict.fromkeys(map(group_key, uses))
        before = sum(self.before.own_bytes.get(key, 0) for key in keys)

        def is_less(after: Outcome) -> bool:
            return sum(after.own_bytes.get(key, 0) for key in keys) < before

        return next((each for each in self.helpful() if is_less(each[1])), None)

    def helpful(self) -> list[tuple[Proposal, Outcome]]:
        """Returns all edits so far that help, with what the program costs after them, best first."""
        found = [(proposal, after) for proposal, after in self._known.values() if after is not None]
        kept = self.before.kept_bytes
        return sorted(found, key=lambda each: (each[1].kept_bytes > kept, each[1].bytes, len(each[0])))

    def attempt(self, proposal: Proposal) -> Outcome | None:
        """Tries an edit, unless it has been or no try is left; returns what helps."""
        key = key_of(proposal)
        if key not in self._known:
            if not self.tries:
                return None
            self.tries -= 1
            self._known[key] = proposal, self.trial(proposal, self._most)
        return self._known[key][1]

    def explore(self, use: CollectiveUse, most: int) -> int:
        """Tries at most so many new edits for a collective; returns how many proposals were looked at."""
        last = max(0, (self.tries or 0) - most)
        seen = 0
        for proposal in proposals(Question(self.program, use)):
            if not self.tries or self.tries <= last:
                break
            if self.accepts(proposal):
                seen += 1
                self.attempt(proposal)
        return seen

    def _advise(self, key: GroupKey, share: int) -> Advice:
        uses = self.before.by_group.get(key, [])
        if not uses or self.before.own_bytes[key] == 0:
            return Advice((), 0)
        seen = self.explore(uses[0], share)
        return Advice(self._best(key), max(seen, self.tried))

    def _best(self, key: GroupKey) -> tuple[Remedy, ...]:
        """All edits so far that help a group, best first."""
        found: dict[str, Remedy] = {}
        for proposal, after in self.helpful():
            if after.own_bytes.get(key, 0) < self.before.own_bytes[key]:
                words = words_of(proposal, self.language)
                effects = self._effect(self.before, key), self._effect(after, key)
                found.setdefault(words, Remedy(proposal, words, *effects))
        return tuple(found.values())[:SHOWN]

    @cached_property
    def _most(self) -> Most:
        """The costs of an edit that helps."""
        before = self.before
        return Most(before.bytes - 1, before.figures.seconds, before.work * _TOLERANCE)

    @staticmethod
    def _effect(outcome: Outcome, key: GroupKey) -> Effect:
        return Effect(outcome.total, outcome.own_bytes.get(key, 0), outcome.kept_bytes)
