"""The best solutions of the coarse model of a program, as choices to score.

Not here: the model (`suggest/coarse.py`), how it is solved (`assignment/`).
"""

from __future__ import annotations

from time import monotonic

from shardy_py.assignment import Solution, prove, tables_of
from shardy_py.assignment.descent import descend
from shardy_py.assignment.integer_program import has_highs
from shardy_py.suggest import Choice, CoarseModel, CoarseOutcome

_SOLUTIONS = 4
_RESTARTS = 200
_FURTHER_GAP = 0.01
"""The gap of solutions after the first one, which are starts of the search only."""


def solved(model: CoarseModel, seconds: float, seed: int) -> tuple[CoarseOutcome, list[Choice]]:
    """Returns how well the model was solved, and the choices of its best solutions.

    Without HiGHS there is one solution, by descent, without a proof.
    """
    end = monotonic() + seconds
    tables = tables_of(model.problem)
    first = descend(tables, seconds, seed, restarts=_RESTARTS)
    found: list[Solution] = []
    bound, is_optimal, has_proof = tables.least, False, has_highs()
    excluded: list[dict[int, int]] = []
    while has_proof and len(found) < _SOLUTIONS and (left := end - monotonic()) > 0:
        gap = _FURTHER_GAP if found else 0.0
        proved = prove(tables, left, None if found else first, excluded, gap=gap)
        if not found:
            bound, is_optimal = proved.bound, proved.is_optimal
        if proved.solution is None:
            break
        found.append(proved.solution)
        excluded.append(model.of_arguments(proved.solution))
    if not found and first is not None:
        found.append(first)
    cost = model.problem.cost(found[0]) if found else None
    size = len(model.problem.nodes), len(model.problem.edges)
    outcome = CoarseOutcome(*size, cost, bound, is_optimal, has_proof)
    return outcome, list(dict.fromkeys(choice for each in found for choice in model.choices(each)))
