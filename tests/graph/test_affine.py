"""Indexing maps and xDSL's affine maps: there and back, and the same values."""

from __future__ import annotations

from itertools import product

import pytest
from xdsl.ir.affine import AffineMap

from shardy_py.graph.affine import from_affine, to_affine
from shardy_py.indexing import Interval, parse_map

TEXTS = [
    "(d0)[s0]{rt0} -> (d0, d0 + rt0, s0), domain: d0 in [0, 2], s0 in [0, 2], rt0 in [0, 1]",
    "(d0) -> (-d0 + 5, d0 floordiv 2, (d0 * 3 + 1) mod 4), domain: d0 in [0, 9]",
    "(d0) -> ((d0 + 3) ceildiv 4 - 2, 7), domain: d0 in [0, 9]",
    "() -> ()",
]


@pytest.mark.parametrize("text", TEXTS)
def test_there_and_back(text: str) -> None:
    index_map = parse_map(text)
    attribute = to_affine(index_map)
    assert from_affine(attribute, index_map.dims, index_map.ranges, index_map.runtimes) == index_map
    symbols = (*index_map.ranges, *index_map.runtimes)
    for point in product(*(range(i.low, i.high + 1) for i in (*index_map.dims, *symbols))):
        dims, rest = point[: len(index_map.dims)], point[len(index_map.dims) :]
        values = index_map.evaluate(dims, rest[: len(index_map.ranges)], rest[len(index_map.ranges) :])
        assert values == tuple(attribute.data.eval(list(dims), list(rest)))


def test_intervals_must_be_as_many_as_variables() -> None:
    with pytest.raises(
        ValueError, match=r"intervals of \(2, 0\) dimensions and symbols expected, got \(1, 0\)"
    ):
        from_affine(AffineMap.identity(2), (Interval(0, 1),))
