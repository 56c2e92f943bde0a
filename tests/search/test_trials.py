"""Tries that are given up early would not have helped: verdicts are the same without that."""

from __future__ import annotations

import pytest

from shardy_py import Program, Result, propagate
from shardy_py.report.verdict import verdict_json
from shardy_py.search import trials
from shardy_py.search.advice import Most, Outcome, Proposal
from shardy_py.search.boundary_study import BoundaryStudy
from shardy_py.search.edited_sources import Sources
from shardy_py.search.trials import Trials, outcome_of, report_like
from tests.conftest import corpus_params, corpus_text
from tests.search.test_verdicts import TWO

TARGETS = [None, "h100", "tpu-v5e"]


def whole(self: Trials, proposal: Proposal, most: Most, before: Proposal = ()) -> Outcome | None:
    """Every edited program propagated and planned to the end."""
    from shardy_py import ShardyError

    try:
        after = self.sources.after((*before, *proposal), record=False)
        outcome = outcome_of(after, report_like(self.report, after))
    except ShardyError:
        return None
    return outcome if most.allows(outcome) else None


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small programs are studied, too."""
    monkeypatch.setattr(trials, "FEWEST_VALUES", 0)


def verdict_of(text: str, target: str | None) -> object:
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    return verdict_json(result.verdict(target=target, partitioner="xla"))


def check_equals_whole_tries(text: str, target: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict_of(text, target)
    monkeypatch.setattr(Trials, "of", whole)
    assert found == verdict_of(text, target)


@pytest.mark.parametrize("target", TARGETS)
def test_verdicts_are_those_of_whole_tries(target: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    check_equals_whole_tries(TWO, target, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", corpus_params())
def test_verdicts_on_the_corpus(name: str, target: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    check_equals_whole_tries(corpus_text(name), target, monkeypatch)


@pytest.mark.parametrize("target", ["h100", "tpu-v5e"])
def test_what_surely_sends_more_is_not_propagated(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    propagated, after, studied = 0, Sources.after, list[bool]()
    costs_more = BoundaryStudy.costs_more

    def counted(self: Sources, *given: object, **named: bool) -> Result:
        nonlocal propagated
        propagated += 1
        return after(self, *given, **named)  # type: ignore[arg-type]

    def noted(self: BoundaryStudy, proposal: Proposal, most: Most, unchanged: Outcome | None) -> bool:
        studied.append(costs_more(self, proposal, most, unchanged))
        return studied[-1]

    monkeypatch.setattr(Sources, "after", counted)
    monkeypatch.setattr(BoundaryStudy, "costs_more", noted)
    result = propagate(Program.parse(TWO, as_compiled=True), progress=False)
    verdict = result.verdict(target=target)
    assert sum(studied) > 0
    assert propagated == verdict.tried - sum(studied)
