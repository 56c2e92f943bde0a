"""Maps turned round hold the same pairs; inverses undo."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import HealthCheck, assume, given, settings

from shardy_py.indexing import IndexMap, inverse, parse_map, reads, reverse
from tests.conftest import examples
from tests.indexing.test_simplify import maps

FAST = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def pairs(index_map: IndexMap) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    return {(d, x) for d, sources in reads(index_map).items() for x in sources}


@FAST
@given(maps())
def test_the_same_pairs(index_map: IndexMap) -> None:
    turned = reverse(index_map)
    # The oracle visits every point of the box of variables, which turning round can make large.
    assume(prod(i.high - i.low + 1 for i in turned.bounds.values()) <= 20_000)
    assert {(d, x) for x, d in pairs(turned)} == pairs(index_map)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]",
            "(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]",
        ),
        ("(d0) -> (-d0 + 9), domain: d0 in [0, 9]", "(d0) -> (-d0 + 9), domain: d0 in [0, 9]"),
        (
            "(d0, d1, d2) -> (d0 * 2 + d1 floordiv 2, d2 + (d1 mod 2) * 4), domain: d0 in [0, 1],"
            "d1 in [0, 3], d2 in [0, 3]",
            "(d0, d1) -> (d0 floordiv 2, d1 floordiv 4 + (d0 mod 2) * 2, d1 mod 4), domain: d0 in [0, 3],"
            "d1 in [0, 7]",
        ),
        ("(d0, d1) -> (d0), domain: d0 in [0, 3], d1 in [0, 1]", None),
        ("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 3], s0 in [0, 1]", None),
    ],
)
def test_inverse(text: str, expected: str | None) -> None:
    found = inverse(parse_map(text))
    assert (found and str(found)) == (expected and str(parse_map(expected)))
    if found:
        identity = parse_map(text) * found
        assert all(sources == {d} for d, sources in reads(identity).items())
