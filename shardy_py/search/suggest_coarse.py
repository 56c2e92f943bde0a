"""The best solutions of the coarse model of a program, as choices to score.

Not here: the model (`search/suggest/coarse.py`), how it is solved (`search/assignment/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import monotonic

import numpy as np

from shardy_py.base.records import dataclass
from shardy_py.search.assignment import Pruned, Solution, best_by_elimination, prove, pruned, tables_of
from shardy_py.search.assignment.descent import descend
from shardy_py.search.assignment.integer_program import has_highs
from shardy_py.search.suggest import Choice, CoarseModel, CoarseOutcome

_SOLUTIONS = 4
_RESTARTS = 200
_FURTHER_GAP = 0.01
"""The gap of solutions after the first one, which are starts of the search only."""
_MOST_PAIRS = 400_000
"""Pairs of strategies, beyond which strategies that no best solution needs are dropped."""
_MOST_PROVED = 400_000
"""Pairs of strategies up to which an integer program is solved."""
_DESCENT_PART = 0.3
"""The part of the time for a descent if many pairs are left."""


Solved = tuple[CoarseOutcome, list[Choice]]
"""How well a coarse model was solved, and the choices of its best solutions."""


def solved(model: CoarseModel, seconds: float, seed: int) -> Solved:
    """Returns how well the model was solved, and the choices of its best solutions.

    Models that are like trees are solved exactly, others and those with a limit of memory by HiGHS; without
    it there is one solution, by descent, without a proof.
    """
    end = monotonic() + seconds
    problem, tables = model.problem, tables_of(model.problem)
    first = descend(tables, _DESCENT_PART * seconds, seed, restarts=_RESTARTS)
    left = Pruned(tables, tuple(np.arange(len(costs)) for costs in tables.costs))
    if tables.pairs > _MOST_PAIRS:
        left = pruned(tables, np.inf if first is None else problem.cost(first))
    found = _by_elimination(model, left, end)
    if not found.is_optimal and has_highs() and left.tables.pairs <= _MOST_PROVED:
        found = _by_highs(model, left, None if first is None else left.reduced(first), found.bound, end)
    solutions = [left.original(each) for each in found.solutions]
    if first is not None and (not solutions or problem.cost(first) < problem.cost(solutions[0])):
        solutions.insert(0, first)
    cost = float(problem.cost(solutions[0])) if solutions else None
    bound = None if model.left_out else float(found.bound if cost is None else min(found.bound, cost))
    size = len(problem.nodes), len(problem.edges)
    is_optimal = found.is_optimal and not model.left_out
    outcome = CoarseOutcome(*size, cost, bound, is_optimal, has_highs(), model.left_out)
    return outcome, list(dict.fromkeys(choice for each in solutions for choice in model.choices(each)))


def solved_alike(model: CoarseModel, seconds: float, seed: int, with_highs: bool) -> Solved:
    """Returns what another process would find, which has HiGHS or has not.

    Raises:
        RuntimeError: this one differs in that.
    """
    if has_highs() != with_highs:
        raise RuntimeError(f"highspy is {'not ' * with_highs}installed here")
    return solved(model, seconds, seed)


@dataclass(frozen=True)
class _Found:
    """Solutions in numbers of what is left, the best first; bound: none costs less."""

    solutions: list[Solution]
    bound: float
    is_optimal: bool


def _by_elimination(model: CoarseModel, left: Pruned, end: float) -> _Found:
    """No solution if the best one without a limit of memory is unknown, or exceeds the limit."""
    problem = model.problem
    best = best_by_elimination(left.tables)
    if best is None:
        return _Found([], left.tables.least, is_optimal=False)
    bound = problem.cost(left.original(best))
    if not problem.is_feasible(left.original(best)):
        return _Found([], bound, is_optimal=False)
    others = _others(left, model.of_arguments(best), end)
    feasible = [each for each in others if problem.is_feasible(left.original(each))]
    return _Found([best, *feasible[: _SOLUTIONS - 1]], bound, is_optimal=True)


def _by_highs(model: CoarseModel, left: Pruned, start: Solution | None, bound: float, end: float) -> _Found:
    found: list[Solution] = []
    is_optimal = False
    while len(found) < _SOLUTIONS and (time_left := end - monotonic()) > 0:
        gap = _FURTHER_GAP if found else 0.0
        excluded = [model.of_arguments(each) for each in found]
        proved = prove(left.tables, time_left, None if found else start, excluded, gap=gap)
        if not found:
            bound, is_optimal = max(bound, proved.bound), proved.is_optimal
        if proved.solution is None:
            break
        found.append(proved.solution)
    return _Found(found, bound, is_optimal)


def _others(left: Pruned, chosen: Mapping[int, int], end: float) -> list[Solution]:
    """The best solutions without one of the chosen strategies each, as far as there is time."""
    found: dict[Solution, float] = {}
    for node, strategy in chosen.items():
        costs = [*left.tables.costs]
        costs[node] = costs[node].copy()
        costs[node][strategy] = np.inf
        solution = best_by_elimination(replace(left.tables, costs=costs)) if monotonic() < end else None
        if solution is not None and np.isfinite(costs[node][solution[node]]):
            found[solution] = left.tables.problem.cost(left.original(solution))
    return sorted(found, key=found.__getitem__)
