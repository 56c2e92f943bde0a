"""One strategy for each node of a graph, of least cost: exactly by an integer program, or by descent.

    outcome = solve(problem_of(text), seconds=60)
    outcome.cost, outcome.bound, outcome.gap

Start at `problem.py`. Not here: what nodes and strategies stand for (`search/suggest/coarse.py`).
"""

from shardy_py.search.assignment.elimination import best_by_elimination
from shardy_py.search.assignment.integer_program import prove
from shardy_py.search.assignment.iopddl import problem_of, results_table, solution_of, solution_text
from shardy_py.search.assignment.problem import (
    FORBIDDEN,
    AssignmentOutcome,
    AssignmentProblem,
    Edge,
    Solution,
    StrategyNode,
)
from shardy_py.search.assignment.pruning import Pruned, pruned
from shardy_py.search.assignment.solve import solve
from shardy_py.search.assignment.tables import tables_of

__all__ = [
    "FORBIDDEN",
    "AssignmentOutcome",
    "AssignmentProblem",
    "Edge",
    "Pruned",
    "Solution",
    "StrategyNode",
    "best_by_elimination",
    "problem_of",
    "prove",
    "pruned",
    "results_table",
    "solution_of",
    "solution_text",
    "solve",
    "tables_of",
]
