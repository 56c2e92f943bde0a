"""The lives of values among the ops of a program, in program order.

Not here: liveness with the arrays that XLA reuses (`report/memory/`).
"""

from __future__ import annotations

from collections.abc import Mapping

from shardy_py.base.records import dataclass
from shardy_py.viewer.explorer.items import Items


@dataclass(frozen=True, eq=False)
class Lives:
    """The items of ops in program order; for each value its first and last op among them, -1 if not drawn."""

    order: list[int]
    first: list[int]
    last: list[int]


def lives(items: Items) -> Lives:
    """Returns when each value is alive: from the op that makes it to its last use.

    Arguments are alive from the start of their function or region, results of functions to the end.
    """
    found, made = items.found, items.maker
    order = [*items.of_op.values()]
    rank = {item: at for at, item in enumerate(order)}
    around = {
        number: rank[items.of_op[id(item.op)]]
        for number, item in enumerate(found)
        if item.kind == "region" and item.op is not None
    }
    first = [
        -1 if item < 0 or not order or found[item].kind == "result" else _rank(items, item, rank, around)
        for item in made
    ]
    last = [*first]
    for edge in items.edges:
        if edge.item in rank:
            last[edge.value] = max(last[edge.value], rank[edge.item])
        elif first[edge.value] >= 0 and found[edge.item].values:  # a result of a function
            last[edge.value] = len(order) - 1
    return Lives(order, first, last)


def _rank(items: Items, item: int, rank: Mapping[int, int], around: Mapping[int, int]) -> int:
    """The op at which an item begins: of an argument that around which it is, or the first."""
    while item > 0 and item not in rank and item not in around:
        item = items.found[item].parent
    return rank.get(item, around.get(item, 0))
