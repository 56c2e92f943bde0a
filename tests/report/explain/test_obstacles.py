"""Answers to why not are tested on random programs by taking the obstacle away.

`WHY_NOT_QUESTIONS=9000` asks as many.
"""

from __future__ import annotations

import os
import random
from collections import Counter, deque

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.propagation.flat import UNSHARDABLE
from shardy_py.propagation.graph.run_record import Propagation
from shardy_py.propagation.journal import FUNCTION_RESULT
from shardy_py.report.explain.states import overlapping
from tests.differential.programs import Width, wide_program
from tests.propagation.random_programs import random_program
from tests.report.explain.obstacles import Question, Study, questions
from tests.report.explain.removing import explained

QUESTIONS = int(os.environ.get("WHY_NOT_QUESTIONS", "1500"))
MOST_EDITS = 12


def programs() -> list[str]:
    small = [random_program(seed) for seed in range(QUESTIONS // 60)]
    return small + [
        wide_program(random.Random(seed), Width(unreduced=0.05)) for seed in range(QUESTIONS // 60)
    ]


def test_the_obstacle_taken_away() -> None:
    """The axis comes then, or another obstacle is named, until there is none that an edit takes away."""
    found: Counter[str] = Counter()
    for seed, text in enumerate(programs()):
        try:
            study = Study(explained(parse_module(text)))
        except ShardyError:
            continue
        asked = questions(study.propagation)
        for question in random.Random(seed).sample(asked, min(30, len(asked))):
            found.update(followed(study, question))
    print(dict(found))
    assert min(found[kind] for kind in ("arrived", "closed", "replicated", "barrier", "blocked")) > 0, found


def followed(study: Study, question: Question) -> list[str]:
    """The kinds of the obstacles one after the other; "arrived" at the end, if the axis did."""
    propagation, kinds, named = study.propagation, list[str](), set[tuple[str, str]]()
    while len(kinds) < MOST_EDITS:
        answer = study.first_reason(question, propagation)
        if answer is None:
            return [*kinds, "arrived"] if kinds else []
        reason, obstacle = answer
        assert reason.kind != "unknown", (question, reason)
        assert (reason.kind, reason.message) not in named, (question, reason)
        named.add((reason.kind, reason.message))
        if reason.kind == "not sent":
            assert not holders(propagation, question), (question, reason)
        edited = None if obstacle is None else study.without(obstacle, reason, propagation)
        if edited is None:
            return kinds
        kinds.append(reason.kind)
        propagation = edited
    return kinds


def holders(propagation: Propagation, question: Question) -> list[tuple[int, int]]:
    """Where the axis is among all dimensions that factors and groups connect with that of a question."""
    arrivals, flat = propagation.arrivals, propagation.program.flat
    steps = (*range(len(flat.step_slots)), *(FUNCTION_RESULT - i for i in range(len(flat.returned))))
    connected: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for step in steps:
        rule, slots = arrivals.rule_of(step), arrivals.slots_of(step)
        by_factor: dict[int, list[tuple[int, int]]] = {}
        for position, mapping in enumerate(rule.tensors if rule is not None else ()):
            for at, factors in enumerate(mapping):
                for factor in factors if slots[position] != UNSHARDABLE else ():
                    by_factor.setdefault(factor, []).append((slots[position], at))
        for places in by_factor.values():
            for place in places:
                connected.setdefault(place, []).extend(places)
    reached = {(question.slot, question.dimension)}
    waiting = deque(reached)
    while waiting:
        slot, at = waiting.popleft()
        members = ((other.slot, at) for other in flat.other_members(slot))
        for place in (*connected.get((slot, at), ()), *members):
            if place not in reached:
                reached.add(place)
                waiting.append(place)
    journal = propagation.journal
    return [place for place in reached if overlapping(journal.sharding(place[0]), place[1], question.axis)]
