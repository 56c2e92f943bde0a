"""Shardings for a program: roles of its arguments, named schemes, and a search over groups of arguments.

    roles = roles_of(tensors, links)
    schemes(roles, mesh)                        data parallel, FSDP, Megatron, ... as choices
    search(start, cost, moves, score, budget)   better ones

Start at `roles.py`, then `schemes.py`, `points.py`, `moves.py`, `search.py`, and
`suggestion.py` (the answer). Not here: what a choice costs (`api/suggesting.py`).
"""

from shardy_py.suggest.coarse import CoarseModel, CoarseOutcome, Prices, Variables, coarse_model
from shardy_py.suggest.moves import divides, moves_of
from shardy_py.suggest.points import points_of
from shardy_py.suggest.roles import Link, Numbering, Roles, Tensor, links_of, roles_of
from shardy_py.suggest.schemes import Choice, Spec, schemes
from shardy_py.suggest.search import Budget, rank, search
from shardy_py.suggest.suggestion import Plan, Suggestion, pareto, spec_text

__all__ = [
    "Budget",
    "Choice",
    "CoarseModel",
    "CoarseOutcome",
    "Link",
    "Numbering",
    "Plan",
    "Prices",
    "Roles",
    "Spec",
    "Suggestion",
    "Tensor",
    "Variables",
    "coarse_model",
    "divides",
    "links_of",
    "moves_of",
    "pareto",
    "points_of",
    "rank",
    "roles_of",
    "schemes",
    "search",
    "spec_text",
]
