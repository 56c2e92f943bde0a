"""The simplifier against the examples it must reach, and against enumeration on random maps."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardy_py.base.session import SESSION
from shardy_py.indexing import (
    Expr,
    IndexMap,
    Interval,
    bounds_of,
    constant,
    dim,
    parse_map,
    points,
    range_var,
    reads,
    simplify_expr,
)
from tests.conftest import examples

NINES = "d0 in [0, 9], d1 in [0, 9], d2 in [0, 9]"
EXAMPLES = {
    "(d0, d1) -> (d0 + d1 floordiv 16, d1 mod 16), domain: d0 in [0, 6], d1 in [0, 14]": "d0, d1",
    "(d0, d1, d2) -> ((d0 * 100 + d1 * 10 + d2) floordiv 100,"
    f" ((d0 * 100 + d1 * 10 + d2) mod 100) floordiv 10, d2 mod 10), domain: {NINES}": "d0, d1, d2",
    f"(d0, d1, d2) -> ((d0 * 16 + d1 * 4 + d2) floordiv 8, (d0 * 16 + d1 * 4 + d2) mod 8), domain: {NINES}": (
        "d0 * 2 + (d1 * 4 + d2) floordiv 8, (d1 * 4 + d2) mod 8"
    ),
    "(d0, d1) -> (-((d0 * -11 - d1 + 109) floordiv 11) + 9), domain: d0 in [0, 9], d1 in [0, 10]": "d0",
    "(d0, d1) -> (d0 floordiv 3 * 3 + d0 mod 3), domain: d0 in [0, 9], d1 in [0, 1]": "d0",
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples(text: str) -> None:
    simple = parse_map(text).simplified
    assert ", ".join(map(str, simple.results)) == EXAMPLES[text]


def test_constraints_become_bounds_or_are_dropped() -> None:
    text = (
        "(d0)[s0] -> (d0 + s0), domain: d0 in [0, 5], s0 in [1, 3], d0 + s0 in [0, 20],"
        "(d0 + 4) floordiv 2 in [2, 3], d0 * -3 - s0 * 3 in [-9, 3]"
    )
    assert str(parse_map(text).simplified) == str(
        parse_map("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 3], s0 in [1, 3], d0 + s0 in [1, 3]")
    )


@st.composite
def expressions(draw: Any, depth: int = 2) -> Expr:
    variables: list[Expr] = [dim(0), dim(1), range_var(0)]
    total = constant(draw(st.integers(-6, 6)))
    for _ in range(draw(st.integers(1, 3))):
        atom = draw(st.sampled_from(variables))
        if depth and draw(st.booleans()):
            inner = draw(expressions(depth - 1))
            divisor = draw(st.integers(1, 6))
            how = draw(st.sampled_from(["floordiv", "mod", "ceildiv"]))
            atom = {"floordiv": inner // divisor, "mod": inner % divisor}.get(how, inner.ceildiv(divisor))
        total = total + atom * draw(st.integers(-4, 8))
    return total


@st.composite
def maps(draw: Any) -> IndexMap:
    def interval() -> Interval:
        low = draw(st.integers(-2, 2))
        return Interval(low, low + draw(st.integers(0, 4)))

    results = tuple(draw(st.lists(expressions(), min_size=1, max_size=2)))
    constraints: list[tuple[Expr, Interval]] = []
    if draw(st.booleans()):
        low = draw(st.integers(-8, 4))
        constraints.append((draw(expressions(1)), Interval(low, low + draw(st.integers(0, 12)))))
    return IndexMap(results, (interval(), interval()), (interval(),), (), tuple(constraints))


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(maps())
def test_the_simple_map_reads_the_same(index_map: IndexMap) -> None:
    simple = index_map.simplified
    assert reads(simple) == reads(index_map)
    assert str(parse_map(str(simple))) == str(simple)
    SESSION.clear()
    assert str(parse_map(str(simple)).simplified) == str(simple)
    assert reads(index_map.tidied) == reads(index_map)


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(maps())
def test_bounds_hold_every_value(index_map: IndexMap) -> None:
    for result in index_map.results:
        interval = bounds_of(result, index_map.bounds)
        assert all(interval.contains(result.evaluate(point)) for point in points(index_map))


@pytest.mark.parametrize("divisor", [2, 4, 6, 8])
@pytest.mark.parametrize(
    "intervals", [((0, 2), (0, 1)), ((-1, 1), (0, 3)), ((1, 2), (0, 2)), ((0, 0), (0, 4))]
)
def test_divisions_of_small_sums(divisor: int, intervals: tuple[tuple[int, int], tuple[int, int]]) -> None:
    index_map = IndexMap((), tuple(Interval(*ends) for ends in intervals))
    all_points = list(points(index_map))
    for major, minor, shift in product((-4, -1, 1, 2, 4, 6), (-1, 1, 2, 3), (-3, 0, 1)):
        dividend = dim(0) * major + dim(1) * minor + shift
        for division in (dividend // divisor, dividend % divisor, dividend.ceildiv(divisor)):
            simple = simplify_expr(division, index_map.bounds)
            assert all(simple.evaluate(p) == division.evaluate(p) for p in all_points), division


def test_nested_divisions() -> None:
    index_map = IndexMap((), (Interval(-9, 30),))
    all_points = list(points(index_map))
    d0 = dim(0)
    for inner, outer, factor in product((2, 3, 4, 6), (2, 3, 4), (1, 2, 3, 4)):
        for expression in (
            (d0 % (inner * outer)) // inner,
            (d0 % inner * factor + 1) % outer,
            (d0 // inner) * inner * factor + d0 % inner * factor,
            (d0 // inner) % outer,
        ):
            simple = simplify_expr(expression, index_map.bounds)
            assert all(simple.evaluate(p) == expression.evaluate(p) for p in all_points), expression
