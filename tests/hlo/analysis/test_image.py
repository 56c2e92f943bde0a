"""Images against the elements themselves."""

from __future__ import annotations

import random

import numpy as np
import pytest

from shardy_py.hlo.analysis import Progression, StridedBox, image_of
from shardy_py.hlo.analysis.strided import merged, union_count
from shardy_py.indexing import IndexMap, Interval, bounds_of, constant, dim, parse_map, range_var, reads

MAPS = [
    "(d0, d1) -> ((d0 - 1) floordiv 2, d1 - 4), domain: d0 in [1, 7], d1 in [4, 7], (d0 - 1) mod 2 in [0, 0]",
    "(d0, d1, d2) -> (d0 * 2 + d1 floordiv 2, d2 + (d1 mod 2) * 4),"
    " domain: d0 in [0, 1], d1 in [0, 3], d2 in [0, 3]",
    "(d0)[s0] -> (d0 * 2 + s0 - 1), domain: d0 in [0, 9], s0 in [0, 2], d0 * 2 + s0 - 1 in [0, 18]",
    "(d0, d1)[s0] -> (-d0 + 16, s0 * 7 + 3), domain: d0 in [0, 16], d1 in [0, 2], s0 in [0, 3]",
]


@pytest.mark.parametrize("text", MAPS)
def test_boxes(text: str) -> None:
    index_map = parse_map(text)
    image = image_of(index_map)
    assert image.is_box
    assert image.count == len(set[tuple[int, ...]]().union(*reads(index_map).values()))


def test_large_reshapes_are_boxes() -> None:
    m = parse_map("(d0) -> (d0 floordiv 1000000, d0 mod 1000000), domain: d0 in [0, 99999999999]")
    assert str(image_of(m).box) == "[0:99999:1, 0:999999:1]"
    assert image_of(m).is_box


def test_what_is_too_large_is_a_bound() -> None:
    m = parse_map("(d0, d1) -> (d0, d0 + d1), domain: d0 in [0, 9999], d1 in [0, 9999]")
    image = image_of(m)
    assert image.is_bound
    assert str(image.box) == "[0:9999:1, 0:19998:1]"


def test_empty() -> None:
    m = parse_map("(d0, d1) -> (d0), domain: d0 in [0, 3], d1 in [0, 3], d1 * 4 + d0 * 0 in [13, 15]")
    assert image_of(m).count == 0
    assert image_of(parse_map("(d0) -> (d0), domain: d0 in [0, -1]")).count == 0


@pytest.mark.parametrize("seed", range(150))
def test_random_maps(seed: int) -> None:
    chance = random.Random(seed)
    variables = [dim(0), dim(1), range_var(0)]
    results = []
    for _ in range(chance.choice((1, 2, 3))):
        total = constant(chance.randrange(-3, 4))
        for variable in variables:
            term = variable * chance.choice((0, 0, 1, -1, 2, 4))
            by = chance.choice((0, 0, 2, 3))
            total = total + (term if not by else chance.choice((term // by, term % by)))
        results.append(total)
    sizes = [chance.choice((1, 2, 3, 4, 6)) for _ in variables]
    constraints = ()
    if chance.random() < 0.5:
        expression = chance.choice(results)
        low = chance.randrange(-2, 2)
        constraints = (
            (chance.choice((expression, expression % 2)), Interval(low, low + chance.randrange(3))),
        )
    intervals = tuple(Interval(0, size - 1) for size in sizes)
    m = IndexMap(tuple(results), intervals[:2], intervals[2:], constraints=constraints)
    image = image_of(m)
    expected = set[tuple[int, ...]]().union(*reads(m).values())
    assert not image.is_bound
    assert image.count == len(expected)
    lows = [bounds_of(r, m.bounds).low for r in results]
    shape = [bounds_of(r, m.bounds).high - low + 1 for r, low in zip(results, lows, strict=True)]
    shifted = IndexMap(
        tuple(r - low for r, low in zip(results, lows, strict=True)), m.dims, m.ranges, (), constraints
    )
    mask = np.zeros(shape, dtype=np.bool_)
    image_of(shifted).mark(mask)
    marked = {tuple(int(i) + low for i, low in zip(place, lows, strict=True)) for place in np.argwhere(mask)}
    assert marked == expected


def members(box: StridedBox) -> set[tuple[int, ...]]:
    a, b = ([p.start + p.step * i for i in range(p.count)] for p in box.dimensions)
    return {(x, y) for x in a for y in b}


@pytest.mark.parametrize("seed", range(60))
def test_boxes_against_sets(seed: int) -> None:
    chance = random.Random(seed)

    def line() -> Progression:
        count = chance.choice((0, 1, 2, 5))
        return Progression(chance.randrange(8), chance.choice((1, 2, 3, 4)) if count > 1 else 1, count)

    boxes = [StridedBox((line(), line())) for _ in range(3)]
    a, b, _ = boxes
    assert members(a.intersect(b)) == members(a) & members(b)
    assert a.covers(b) == (members(b) <= members(a))
    assert union_count(boxes) == len(set().union(*map(members, boxes)))
    full = [box for box in boxes if box.count]
    if full:
        assert all(members(box) <= members(merged(full)) for box in full)
