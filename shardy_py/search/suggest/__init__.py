"""Shardings for a program: roles of its arguments, named schemes, and a search over groups of arguments.

    roles = roles_of(tensors, links)
    schemes(roles, mesh)                        data parallel, FSDP, Megatron, ... as choices
    search(start, cost, moves, score, budget)   better ones

Start at `roles.py`, then `results.py`, `points.py`, `schemes.py`, `moves.py`, `search.py`, and
`suggestion.py` (the answer), which `code.py` writes as Python. Not here: what a choice costs
(`search/suggesting.py`).
"""

from shardy_py.search.suggest.coarse import CoarseModel, CoarseOutcome, coarse_model
from shardy_py.search.suggest.coarse_costs import Prices
from shardy_py.search.suggest.coarse_groups import Variables
from shardy_py.search.suggest.code import Code, Constraint, Row, spec_text
from shardy_py.search.suggest.moves import divides, divides_all, moves_of
from shardy_py.search.suggest.points import points_of
from shardy_py.search.suggest.results import with_results
from shardy_py.search.suggest.roles import (
    AnnotatedTensor,
    DimensionClasses,
    DimensionLink,
    Returned,
    Roles,
    links_of,
    roles_of,
)
from shardy_py.search.suggest.schemes import Choice, Spec, absent_schemes, schemes
from shardy_py.search.suggest.search import Budget, rank, search
from shardy_py.search.suggest.suggestion import Plan, Suggestion, pareto

__all__ = [
    "AnnotatedTensor",
    "Budget",
    "Choice",
    "CoarseModel",
    "CoarseOutcome",
    "Code",
    "Constraint",
    "DimensionClasses",
    "DimensionLink",
    "Plan",
    "Prices",
    "Returned",
    "Roles",
    "Row",
    "Spec",
    "Suggestion",
    "Variables",
    "absent_schemes",
    "coarse_model",
    "divides",
    "divides_all",
    "links_of",
    "moves_of",
    "pareto",
    "points_of",
    "rank",
    "roles_of",
    "schemes",
    "search",
    "spec_text",
    "with_results",
]
