"""The verdict on a result: its causes of communication, and changes that were tried one on top of the other.

    result.verdict().changes[0].words

The first change is the best one that was tried alone; each further one the best on top of those before:
others that helped alone are tried again, and changes for what then costs most. Not here: what is tried
(`shardy_py.search.advice`), the values and texts of a verdict (`shardy_py.report.verdict`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import without_collection
from shardy_py.report.communication import CollectiveUse, CommunicationReport
from shardy_py.report.difference import Figures
from shardy_py.report.training_step import passes_of_program
from shardy_py.report.verdict import (
    CostCause,
    CostGroup,
    TriedChange,
    Verdict,
    cost_groups,
    effects_between,
)
from shardy_py.search.advice import (
    MOST_VALUES,
    Adviser,
    GroupKey,
    Most,
    Outcome,
    Proposal,
    annotations_of,
    code_of_edits,
    fixes_of,
    group_key,
    key_of,
    words_of,
)
from shardy_py.search.advice.kinds.sequence import between_products
from shardy_py.search.advising import ResultAdvice
from shardy_py.search.edited_sources import Sources, language_of
from shardy_py.search.trials import Trials, figures_of, outcome_of, report_like

if TYPE_CHECKING:
    from shardy_py.api.result import Result

CAUSES = 5
"""Causes of a verdict for which changes are tried, and that it describes."""
_MOST_CHANGES = 4
"""Changes of a verdict: a user makes them by hand, and a screen shows them with the causes."""
_LEAST_SAVING = 0.01
"""The part of all bytes that a change saves at least: less is not worth a change of the program."""
_MEMORY = 1.05
"""Memory with the changes, in parts of that without: it is an estimate."""
_FOR_MEMORY = "to save memory, as sums become reduce-scatters: "
_LESS_MEMORY, _SAME = 0.9, 1.01
"""A change for memory alone saves a tenth of it, as it is an estimate; and what else does not count."""
_LEAST_SHARE = 0.03
"""Causes of a smaller part of the time get no tries."""
_VALUES_TRIED, _FEWEST_TRIES, _MOST_TRIES = 40_000, 12, 32
"""The values of all programs that are propagated for the first change, within so many tries: 4 s of a CPU."""
_ASK = "; sdy-check --tries N, result.verdict(tries=N) try N"
_VALUES_OF_A_TRY = 500
"""The passes of a try take as long as so many values, however small the program is."""
_PARTS = 3
"""The largest cause gets a third of the tries, the second half of those that are left, others the rest."""
_LATER, _FEWEST_LATER = 2, 3
"""A further change gets half of the tries of the first, as what helped alone is tried first."""


@releases.following
class ResultVerdicts:
    """The verdicts on one result, by report: get it by `result.kept(ResultVerdicts)`."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self.release = result.release
        self._known: dict[tuple[int, int | None], tuple[CommunicationReport, Verdict]] = {}
        self._tried: dict[int, frozenset[GroupKey]] = {}
        self._asked: dict[int, int | None] = {}

    def ask(self, report: CommunicationReport, tries: int | None) -> None:
        """Sets the number of changes that are tried for a report; None: by the size of the program."""
        self._asked[id(self._result.forecasts.bare(report))] = tries

    def of(self, report: CommunicationReport) -> Verdict:
        """Returns the verdict on the collectives of a report; the same one for the same report and tries."""
        tries = self._asked.get(id(report))
        key = id(report), tries
        if key not in self._known:
            self._known[key] = report, verdict_of(self._result, report, tries=tries)
        return self._known[key][1]

    def change_for(self, use: CollectiveUse) -> TriedChange | None:
        """Returns the best change for a collective of a report, and those alike, of all that were tried.

        None if none helps, or if it is of a report on which nothing is tried.
        """
        report = self._result.forecasts.report_of(use)
        if report is None or not self._tries(report):
            return None
        adviser = self._result.kept(ResultAdvice).adviser(report, self._asked.get(id(report)))
        found = None if adviser is None else adviser.best_for((use,))
        if adviser is None or found is None:
            return None
        return change_of(self._result, found[0], adviser.before, found[1])

    def is_tried(self, use: CollectiveUse) -> bool:
        """Returns whether changes for a collective were tried."""
        report = self._result.forecasts.report_of(use)
        if report is None or not self._tries(report):
            return False
        if id(report) not in self._tried:
            alike = (each for group in tried_groups(report) for each in group.uses)
            self._tried[id(report)] = frozenset(map(group_key, alike))
        return group_key(use) in self._tried[id(report)]

    def _tries(self, report: CommunicationReport) -> bool:
        """True if changes are tried for a report, once they were; where none is, no verdict is made."""
        advice = self._result.kept(ResultAdvice)
        reason = _not_tried(self._result, report, advice, self._asked.get(id(report)))
        return not reason and not self.of(report).not_tried


@without_collection()
def verdict_of(
    result: Result, report: CommunicationReport, not_tried: str = "", *, tries: int | None = None
) -> Verdict:
    """Returns the verdict on the collectives of a report on a result.

    not_tried: why no changes are tried, if the caller wants none. tries: the changes that are tried alone;
    None: by the size of the program.
    """
    figures, groups = figures_of(result, report), cost_groups(report)
    passes = passes_of_program(result.program.module)
    described = tuple(_described(result, report, group, passes) for group in groups[:CAUSES])
    bare = Verdict(figures, report.model.name, described, len(groups) - len(described))
    advice = result.kept(ResultAdvice)
    reason = not_tried or _not_tried(result, report, advice, tries)
    adviser = None if reason else advice.adviser(report, tries)
    if adviser is None or advice.sources is None:
        return replace(bare, not_tried=reason)
    if tries is None:
        by_size = _VALUES_TRIED // (len(result.values) + _VALUES_OF_A_TRY)
        tries = min(_MOST_TRIES, max(_FEWEST_TRIES, by_size))
    for number, group in enumerate(tried_groups(report)):
        adviser.explore(group.first, -(-(tries - adviser.tried) // max(1, _PARTS - number)))
    planner = _Planner(result, report, advice.sources, figures, Trials(advice.sources, report))
    changes, more, last = planner.changes(adviser, max(_FEWEST_LATER, tries // _LATER))
    kept, tried_for_memory = planner.saving_memory(last)
    changes, more = [*changes, *kept], more + tried_for_memory
    advice.forget_trials()
    causes = tuple(
        _with_change(cause, planner, adviser, group, changes)
        for cause, group in zip(described, groups, strict=False)
    )
    return replace(bare, causes=causes, changes=tuple(c for c, _ in changes), tried=adviser.tried + more)


def tried_groups(report: CommunicationReport) -> tuple[CostGroup, ...]:
    """Returns the causes for which changes are tried: the largest ones."""
    least = _LEAST_SHARE * report.total.bytes, _LEAST_SHARE * report.total.seconds
    largest = cost_groups(report)[:CAUSES]
    return tuple(g for g in largest if g.cost.bytes >= least[0] or g.cost.seconds >= least[1])


def change_of(result: Result, proposal: Proposal, before: Outcome, after: Outcome) -> TriedChange:
    """Returns a change of the source of a result in words, with the costs without and with it."""
    source = result.source
    language = language_of(source)
    figures, kept = (before.figures, after.figures), (before.kept_bytes, after.kept_bytes)
    fixes = fixes_of(proposal, source.sources, language)
    sources = result.kept(ResultAdvice).sources
    is_jax = language.startswith("jax")
    rewritten = [(e.rewrite, e.values[0].op) for e in proposal if e.rewrite] if is_jax else []
    codes = [rewrite.pasted(sources.advised.sites.text_of(op)) for rewrite, op in rewritten if sources]
    codes += code_of_edits(proposal, sources.advised.torch_layers) if language == "torch" and sources else []
    words, code = words_of(proposal, language), "\n".join(filter(None, codes))
    effects = effects_between(before.uses, after.uses)
    return TriedChange(words, *figures, kept, fixes, code, annotations_of(proposal), effects)


def _not_tried(result: Result, report: CommunicationReport, advice: ResultAdvice, tries: int | None) -> str:
    """The reason why changes are not tried; "" if they are."""
    if report.partitioner != "xla" and not result.source.is_by_torch:
        return "they are for collectives of XLA's partitioner (--partitioner=xla)"
    if advice.sources is None:
        return "they are for programs with one mesh"
    if tries is not None:
        return "" if tries else "none were asked for"
    values = len(result.values)
    is_large = values > MOST_VALUES
    return f"the program has {values:,} values, more than {MOST_VALUES:,}{_ASK}" if is_large else ""


def _described(
    result: Result, report: CommunicationReport, group: CostGroup, passes: Mapping[Operation, str]
) -> CostCause:
    sides = () if result.record is None else result.sides(group.first, most_chains=1)
    return group.described(report.total, sides, result.source.sources, passes)


def _with_change(
    cause: CostCause,
    planner: _Planner,
    adviser: Adviser,
    group: CostGroup,
    changes: Iterable[tuple[TriedChange, Proposal]],
) -> CostCause:
    """The cause with the best change for it alone, and which change of the verdict that is."""
    found = adviser.best_for(group.uses)
    if found is None:
        return cause
    proposal, after = found
    key = key_of(proposal)
    step = next((n for n, (_, each) in enumerate(changes, 1) if key_of(each) == key), 0)
    return replace(cause, best=change_of(planner.result, proposal, adviser.before, after), step=step)


def _saves_memory(before: Outcome, after: Outcome) -> bool:
    """Returns whether devices need less memory, of programs that cost no more than `_most_for_memory`."""
    return after.figures.memory_bytes <= before.figures.memory_bytes * _LESS_MEMORY


def _most_for_memory(before: Outcome) -> Most:
    """The costs of a change that saves memory: neither more time for collectives nor more work."""
    return Most(inf, before.figures.seconds * _SAME, before.work * _SAME)


@dataclass(frozen=True, eq=False)
class _Planner:
    """Finds changes of one program to make one after the other."""

    result: Result
    report: CommunicationReport
    sources: Sources
    figures: Figures
    trials: Trials

    def changes(
        self, first: Adviser, tries: int
    ) -> tuple[list[tuple[TriedChange, Proposal]], int, Adviser | None]:
        """Returns the changes, each with its edits, and how many more edits were tried than by `first`.

        And the adviser on the program with all of them; None if it is invalid. tries: for each change but
        the first.
        """
        adviser, made, more = first, list[tuple[TriedChange, Proposal]](), 0
        while (best := self._best(adviser)) is not None:
            proposal, after = best
            made.append((change_of(self.result, proposal, adviser.before, after), proposal))
            following = self._after(made, tries)
            if following is None or len(made) == _MOST_CHANGES:
                return made, more, following
            adviser = following
            self._try(adviser, first)
            more += adviser.tried
        return made, more, adviser

    def saving_memory(self, adviser: Adviser | None) -> tuple[list[tuple[TriedChange, Proposal]], int]:
        """Returns the change after the others that saves memory and no more time, and how many were tried.

        adviser: on the program with the others.
        """
        if adviser is None:
            return [], 0
        before = adviser.before
        find = between_products
        if self.result.source.is_by_torch:
            from shardy_py.search.advice.kinds.modules import between_modules

            find = between_modules
        proposals, most = [*find(adviser.program, before.uses)], _most_for_memory(before)
        tried = ((proposal, adviser.trial(proposal, most)) for proposal in proposals)
        good = [(p, after) for p, after in tried if after is not None and _saves_memory(before, after)]
        if not good:
            return [], len(proposals)
        proposal, after = min(good, key=lambda each: each[1].figures.memory_bytes)
        change = change_of(self.result, proposal, before, after)
        made_for = replace(change, words=f"{_FOR_MEMORY}{change.words}", is_for_memory=True)
        return [(made_for, proposal)], len(proposals)

    def _best(self, adviser: Adviser) -> tuple[Proposal, Outcome] | None:
        """The best edit that saves enough, and does not buy it with memory; None if there is none."""
        before = adviser.before
        most = _MEMORY * self.figures.memory_bytes
        worth = (
            e for e in adviser.helpful() if before.bytes - e[1].bytes >= _LEAST_SAVING * self.figures.bytes
        )
        return next((each for each in worth if each[1].figures.memory_bytes <= most), None)

    def _after(self, made: Sequence[tuple[TriedChange, Proposal]], tries: int) -> Adviser | None:
        """The adviser on the program with changes, of whose values no further edits are proposed."""
        edits: Proposal = tuple(edit for _, proposal in made for edit in proposal)
        changed = {id(entry) for edit in edits for entry in edit.values}
        try:
            edited = self.sources.edited(edits)
            after = self.result.again(edited.program)
            outcome = outcome_of(after, report_like(self.report, after))
        except ShardyError:
            return None
        self.trials.know(after, outcome, edits)

        def is_of_others(proposal: Proposal) -> bool:
            return not any(id(entry) in changed for edit in proposal for entry in edit.values)

        advised = self.sources.advised_after(edited, after)
        trial = partial(self.trials.of, before=edits)
        language = language_of(self.result.source)
        return Adviser(outcome, advised, trial, language, tries, is_of_others)

    def _try(self, adviser: Adviser, first: Adviser) -> None:
        """Tries what helped alone, as long as it may save more than the best so far; then what costs most."""
        saved, left = 0, -(-(adviser.tries or 0) // 2)
        for proposal, alone in first.helpful():
            if not left or first.before.bytes - alone.bytes <= saved:
                break
            if adviser.accepts(proposal):
                left -= 1
                after = adviser.attempt(proposal)
                saved = saved if after is None else max(saved, adviser.before.bytes - after.bytes)
        report = replace(self.report, collectives=adviser.before.uses)
        for group in cost_groups(report)[:1]:
            adviser.explore(group.first, adviser.tries or 0)
