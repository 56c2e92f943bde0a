"""Counts of domains, and arrays of points, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from shardy_py.indexing import (
    IndexMap,
    cardinality,
    evaluate_points,
    is_empty,
    parse_map,
    points,
    points_array,
)
from tests.conftest import examples
from tests.indexing.test_simplify import maps

FAST = settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@FAST
@given(maps())
def test_counts_and_arrays_are_those_of_enumeration(index_map: IndexMap) -> None:
    expected = [tuple(point.values()) for point in points(index_map)]
    assert cardinality(index_map) == len(expected)
    assert is_empty(index_map) == (not expected)
    assert list(map(tuple, points_array(index_map).tolist())) == expected
    elements, is_inside = evaluate_points(index_map, points_array(index_map))
    assert is_inside.all()
    values = [tuple(r.evaluate(p) for r in index_map.results) for p in points(index_map)]
    assert list(map(tuple, elements.tolist())) == values


@pytest.mark.parametrize(
    ("domain", "count"),
    [
        ("d0 in [0, 999999999], d1 in [0, 999999999]", 10**18),
        ("d0 in [0, 999999999], d1 in [0, 6], (d0 - 3) mod 7 in [0, 1]", 7 * 285714286),
        ("d0 in [0, 999999], d1 in [0, 999999], (d0 * 3 + d1) mod 10 in [0, 0]", 10**11),
        ("d0 in [0, 9999], d1 in [0, 9999], d0 + d1 in [0, 9]", 55),
        ("d0 in [0, 9999], d1 in [0, 9999], d0 - d1 in [1, 20000]", 49995000),
        ("d0 in [0, 9], d1 in [0, 9], d0 + d1 in [30, 40]", 0),
    ],
)
def test_large_domains_are_counted_without_visiting_them(domain: str, count: int) -> None:
    assert cardinality(parse_map(f"(d0, d1) -> (d0), domain: {domain}")) == count


def test_points_outside_the_domain() -> None:
    index_map = parse_map("(d0) -> (d0 * 2), domain: d0 in [0, 4], d0 mod 2 in [0, 0]")
    elements, is_inside = evaluate_points(index_map, np.array([[[0], [1]], [[4], [6]]]))
    assert elements.shape == (2, 2, 1)
    assert is_inside.tolist() == [[True, False], [True, False]]
    with pytest.raises(ValueError, match="expected points of 1 variables"):
        evaluate_points(index_map, [[0, 1]])
