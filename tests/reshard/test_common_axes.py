"""Which axes win when the tensors of an op disagree."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shardy_py.reshard.common_axes import common_axes, compatible_axes
from shardy_py.sharding import Factor, FactorType, Projection, ShardingRule
from tests.propagation.notation import ADD, DOT, MESH, axes, rule, shardings


def chosen(rule_: ShardingRule, given: str, sizes: tuple[int, ...]) -> list[str]:
    projection = Projection.build(rule_, shardings(given), MESH, closed_if_missing=True)
    found = common_axes(projection, rule_, sizes, MESH)
    return [", ".join(str(axis).replace('"', "") for axis in each) for each in found]


UNARY = rule("ij -> ij, i=8, j=8")
BINARY = rule(ADD)
PRODUCT = rule(DOT, reduction="k")


def test_agreement_stays() -> None:
    assert chosen(UNARY, "[{a}, {b}]; [{a}, {b}]", (64, 64)) == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "sizes", "expected"),
    [
        ("[{a}, {}]; [{}, {b}]", (64, 32), ["a", ""]),  # the larger
        ("[{a}, {}]; [{}, {b}]", (32, 64), ["", "b"]),
        ("[{a}, {}]; [{}, {b}]", (64, 64), ["", "b"]),  # cut into more parts
        ("[{a}, {}]; [{}, {c}]", (64, 64), ["a", ""]),  # the first
    ],
)
def test_one_of_two_tensors_is_kept(given: str, sizes: tuple[int, int], expected: list[str]) -> None:
    assert chosen(UNARY, given, sizes) == expected


def test_tensor_without_moved_factors_is_kept() -> None:
    moved = replace(UNARY, factors=(Factor(8), Factor(8, FactorType.PERMUTATION)))
    assert chosen(moved, "[{a}, {b}]; [{c}, {}]", (64, 64)) == ["c", ""]


def test_majority_wins_by_size() -> None:
    assert chosen(BINARY, "[{a}, {}]; [{a}, {}]; [{b}, {}]", (64, 64, 64)) == ["a", ""]
    assert chosen(BINARY, "[{a}, {}]; [{b}, {}]; [{b}, {}]", (64, 64, 64)) == ["b", ""]


def test_prefixes_count_for_their_extensions() -> None:
    # {a} is a prefix of what all three have.
    assert chosen(BINARY, "[{a, b}, {}]; [{a}, {}]; [{a, c}, {}]", (64, 64, 64)) == ["a, b", ""]


def test_shared_prefix_outweighs_a_larger_tensor() -> None:
    assert chosen(BINARY, "[{a, b}, {}]; [{a}, {}]; [{c}, {}]", (40, 40, 64)) == ["a, b", ""]


def test_pass_through_beats_reduction() -> None:
    assert chosen(PRODUCT, "[{a}, {}]; [{a}, {}]; -", (64, 64, 64))[2] == ""


def test_picked_axes_are_removed_from_other_factors() -> None:
    # i takes a with more weight; what is left of {b, a} along j is b.
    assert chosen(BINARY, "[{a}, {}]; [{a}, {}]; [{}, {b, a}]", (64, 64, 64)) == ["a", "b"]


def test_minor_factor_waits_for_the_major_one() -> None:
    split = rule("ij -> (ij), i=2, j=8")
    # j cannot be sharded by b unless i is full.
    assert chosen(split, "[{}, {b}]; [{}]", (16, 16)) == ["", ""]
    assert chosen(split, "[{a}, {b}]; [{}]", (16, 16)) == ["a", "b"]


def test_replicated_factor_gives_its_axes_to_a_batching_one() -> None:
    sort = rule("ij -> ij, i=8, j=8", whole="j")
    assert chosen(sort, "[{}, {a}]; [{}, {a}]", (64, 64)) == ["a", ""]
    assert chosen(sort, "[{b}, {a}]; [{b}, {a}]", (64, 64)) == ["b, a", ""]
    assert chosen(sort, "[{}, {t}]; [{}, {t}]", (64, 64)) == ["", ""]  # 3 does not divide 8


def test_compatible_axes_needs_distinct_axes_per_factor() -> None:
    projection = Projection.build(PRODUCT, shardings("[{a}, {}]; [{}, {a}]; [{a}, {}]"), MESH)
    assert compatible_axes(projection, PRODUCT) is None
    projection = Projection.build(PRODUCT, shardings("[{a}, {}]; [{}, {b}]; [{a}, {b}]"), MESH)
    assert compatible_axes(projection, PRODUCT) == (axes("a"), axes("b"), ())
