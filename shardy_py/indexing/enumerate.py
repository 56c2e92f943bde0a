"""Brute-force evaluation of maps, point by point: the oracle of tests, for small domains.

>>> from shardy_py.indexing.parse import parse_map
>>> sorted(reads(parse_map("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 1], s0 in [0, 2]"))[(1,)])
[(1,), (2,), (3,)]
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from shardy_py.indexing.expr import Variable
from shardy_py.indexing.index_map import IndexMap

Element = tuple[int, ...]


def points(index_map: IndexMap) -> Iterator[dict[Variable, int]]:
    """Every point of the domain, as values of the variables."""
    variables = list(index_map.bounds)
    intervals = [range(i.low, i.high + 1) for i in index_map.bounds.values()]
    for values in product(*intervals):
        point = dict(zip(variables, values, strict=True))
        if all(interval.contains(e.evaluate(point)) for e, interval in index_map.constraints):
            yield point


def reads(index_map: IndexMap) -> dict[Element, set[Element]]:
    """For each element of the domain tensor, the elements it reads, over all runtime values."""
    dims = [v for v in index_map.bounds if v.kind == "d"]
    by_element: dict[Element, set[Element]] = {}
    for point in points(index_map):
        element = tuple(point[v] for v in dims)
        by_element.setdefault(element, set()).add(tuple(r.evaluate(point) for r in index_map.results))
    return by_element
