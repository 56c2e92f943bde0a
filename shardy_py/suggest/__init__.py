"""Shardings for the arguments of a program: their roles, named schemes, and a search over groups.

    roles = roles_of(tensors, links)
    schemes(roles, mesh)                        data parallel, FSDP, Megatron, ... as choices
    search(start, moves, score, budget)         better ones

Start at `roles.py`, then `schemes.py`, `search.py`, and `suggestion.py` (the answer). Not here: what a choice
costs (`api/suggesting.py`).
"""

from shardy_py.suggest.roles import Link, Roles, Tensor, links_of, roles_of
from shardy_py.suggest.schemes import Choice, moves_of, schemes
from shardy_py.suggest.search import Budget, Cost, search
from shardy_py.suggest.suggestion import Plan, Suggestion, pareto

__all__ = [
    "Budget",
    "Choice",
    "Cost",
    "Link",
    "Plan",
    "Roles",
    "Suggestion",
    "Tensor",
    "links_of",
    "moves_of",
    "pareto",
    "roles_of",
    "schemes",
    "search",
]
