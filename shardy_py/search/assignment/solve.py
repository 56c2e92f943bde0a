"""Solves a problem: by descent, and as an integer program if that is small enough.

Not here: the parts (`descent.py`, `integer_program.py`).
"""

from __future__ import annotations

from time import monotonic

from shardy_py.search.assignment.descent import descend
from shardy_py.search.assignment.integer_program import prove
from shardy_py.search.assignment.problem import AssignmentOutcome, AssignmentProblem, Solution
from shardy_py.search.assignment.tables import tables_of

_MOST_PAIRS = 1_000_000
"""Pairs of strategies of all edges up to which an integer program is solved."""
_TOLERANCE = 1e-7
"""The part of a cost by which floating-point bounds may be too high."""


def solve(problem: AssignmentProblem, seconds: float = 60, seed: int = 0) -> AssignmentOutcome:
    """Returns the best solution found in this time, and a bound.

    Raises:
        ShardyError: HiGHS is not installed.
    """
    start = monotonic()
    tables = tables_of(problem)
    is_small = tables.pairs <= _MOST_PAIRS
    first = descend(tables, seconds * (0.1 if is_small else 1.0), seed)
    if not is_small:
        return _outcome(problem, first, tables.least, start, is_optimal=False)
    left = seconds - (monotonic() - start)
    proved = prove(tables, left, first)
    best = min(
        (each for each in (first, proved.solution) if each is not None), key=problem.cost, default=None
    )
    return _outcome(problem, best, proved.bound, start, is_optimal=proved.is_optimal)


def _outcome(
    problem: AssignmentProblem, solution: Solution | None, bound: float, start: float, *, is_optimal: bool
) -> AssignmentOutcome:
    seconds = monotonic() - start
    if solution is None or not problem.is_feasible(solution):
        return AssignmentOutcome(None, None, bound, seconds, is_optimal=False)
    cost = problem.cost(solution)
    is_optimal = is_optimal or bound >= cost - abs(cost) * _TOLERANCE
    return AssignmentOutcome(solution, cost, cost if is_optimal else min(bound, cost), seconds, is_optimal)
