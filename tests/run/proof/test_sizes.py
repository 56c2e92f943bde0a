"""Smaller sizes keep relations, and how dimensions are sharded."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardy_py.run.proof.size_relations import (
    AtMost,
    PaddedSize,
    ProductOfSizes,
    SizeRelation,
    SlicedSize,
    SumOfSizes,
    Windows,
    position,
)
from shardy_py.run.proof.sizes import KEPT, Problem, same_split


def parts_of(size: int, parts: int) -> list[int]:
    """The number of elements of each part: an oracle by enumeration."""
    part = -(-size // parts)
    return [max(0, min(part, size - index * part)) for index in range(parts)]


def kinds(size: int, parts: int) -> list[str]:
    largest = -(-size // parts)
    named = {largest: "full", 0: "empty"}
    return [named.get(elements, "partial") for elements in parts_of(size, parts)]


@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 16))
def test_the_same_split_has_the_same_kinds_of_parts(old: int, new: int, parts: int) -> None:
    if same_split(old, new, parts):
        assert kinds(old, parts) == kinds(new, parts)
        assert (old % parts == 0) == (new % parts == 0)


@given(st.integers(2, 400), st.integers(1, 400), st.data())
def test_positions_stay_in_order_and_inside(old: int, new: int, data: st.DataObject) -> None:
    assert position(0, old, new) == 0
    assert position(old, old, new) == new
    place = data.draw(st.integers(0, old))
    found = position(place, old, new)
    assert found is None or 0 <= found <= new
    assert position(place, old, old) == place


RELATIONS: list[tuple[SizeRelation, tuple[int, ...]]] = [
    (ProductOfSizes(0, (1, 2)), (4096, 32, 128)),
    (ProductOfSizes(0, (1,), 4), (4096, 1024)),
    (SumOfSizes(0, (1, 2)), (192, 64, 128)),
    (SumOfSizes(0, (1, 1)), (128, 64)),
    (AtMost(1, 0), (1024, 128)),
    (SlicedSize(0, 1, 1, 64), (64, 63)),
    (SlicedSize(0, 1, 32, 64), (64, 32)),
    (SlicedSize(0, 1, 0, 64, 2), (64, 32)),
    (PaddedSize(0, 1, 1, 1), (62, 64)),
    (PaddedSize(0, 1, 0, 32), (32, 64)),
    (PaddedSize(0, 1, 0, 0, 1), (64, 127)),
    (PaddedSize(0, 1, -1, 3), (62, 64)),
    (Windows(0, None, 1, 3, 2, 1, 1, 1), (224, 112)),
    (Windows(0, 1, 2, 0, 1, 2, 1, 2), (226, 112, 6)),
    (Windows(0, None, 1, 3, 1, 3, 2, 1), (112, 224)),
]


@pytest.mark.parametrize(("relation", "sizes"), RELATIONS)
def test_relations_hold_with_smaller_sizes(relation: SizeRelation, sizes: tuple[int, ...]) -> None:
    problem = Problem()
    for size in sizes:
        problem.variable(size)
    problem.relate(relation)
    solution = problem.solution()
    assert relation.holds(sizes.__getitem__, solution.__getitem__)
    assert sum(solution) < sum(sizes)
    assert all(min(old, KEPT) <= new <= old for old, new in zip(sizes, solution, strict=True))


@given(
    st.lists(st.integers(9, 600), min_size=3, max_size=5, unique=True),
    st.sampled_from((2, 3, 4, 8)),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=3),
)
def test_products_of_any_dimensions_stay_products(
    sizes: list[int], parts: int, pairs: list[tuple[int, int]]
) -> None:
    problem = Problem()
    variables = [problem.variable(size) for size in sizes]
    relations = [
        ProductOfSizes(problem.variable(sizes[a] * sizes[b]), (variables[a], variables[b])) for a, b in pairs
    ]
    for relation in relations:
        problem.relate(relation)
        problem.split(relation.whole, parts)
    solution = problem.solution()
    for relation in relations:
        assert relation.holds(problem.sizes.__getitem__, solution.__getitem__)
        assert same_split(problem.sizes[relation.whole], solution[relation.whole], parts)


def test_equal_sizes_stay_equal_unless_one_is_pinned() -> None:
    problem = Problem()
    rows, columns, pinned = (problem.variable(64) for _ in range(3))
    problem.pin(pinned)
    solution = problem.solution()
    assert solution[rows] == solution[columns] < 64
    assert solution[pinned] == 64


def test_tied_dimensions_follow() -> None:
    problem = Problem()
    chain = [problem.variable(64) for _ in range(4)]
    for pair in pairwise(chain):
        problem.tie(*pair)
    half = problem.variable(32)
    problem.tie(half, chain[0])
    problem.pin(chain[-1])
    assert set(problem.solution()) == {64, 32}


def test_a_relation_that_the_sizes_do_not_satisfy_pins_them() -> None:
    problem = Problem()
    for size in (65, 32):
        problem.variable(size)
    problem.relate(ProductOfSizes(0, (1,), 2))
    assert problem.solution() == (65, 32)


def test_a_slice_that_may_be_elsewhere_still_may() -> None:
    """A slice as large as the whole is at offset 0, whatever a program computes."""
    problem = Problem()
    whole, half = problem.variable(1024), problem.variable(512)
    problem.relate(AtMost(half, whole))
    for least in (8, 4, 2):
        sizes = problem.solution(least)
        assert least <= sizes[half] < sizes[whole] <= 2 * least


def test_a_reach_keeps_parts_as_large() -> None:
    problem = Problem()
    rows = problem.variable(1024)
    problem.split(rows, 16)
    assert problem.solution() == (32,)
    problem.reach(rows, 5)
    assert problem.solution() == (80,)


def test_dimensions_that_are_sharded_nowhere_may_be_smaller_than_others() -> None:
    problem = Problem()
    whole, sharded = problem.variable(512), problem.variable(1024)
    problem.split(sharded, 2)
    problem.reach(whole, 7)
    assert problem.solution(whole=4) == (4, 8)
    problem.at_least(whole, 6)
    assert problem.solution(whole=4) == (6, 8)
    assert problem.solution() == (9, 8)
