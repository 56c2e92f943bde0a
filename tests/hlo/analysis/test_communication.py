"""What shards need of each other, against sets of elements device by device."""

from __future__ import annotations

import random
from itertools import product

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.analysis import communication, rule_communication, rule_maps
from shardy_py.indexing import IndexMap, parse_map, reads
from shardy_py.sharding import (
    AxisRef,
    DimensionSharding,
    Factor,
    FactorType,
    Mesh,
    MeshAxis,
    ShardingRule,
    SubAxis,
    TensorSharding,
)

MESH = Mesh((MeshAxis("x", 4), MeshAxis("y", 2)))


def sharding(*dimensions: str) -> TensorSharding:
    """`"x"`, `"xy"`, `""`: the axes of each dimension."""
    return TensorSharding("mesh", tuple(DimensionSharding(tuple(map(AxisRef, d))) for d in dimensions))


def test_elementwise_is_local() -> None:
    m = parse_map("(d0, d1) -> (d0, d1), domain: d0 in [0, 15], d1 in [0, 7]")
    found = communication([m], MESH, result=sharding("x", "y"), operand=sharding("x", "y"), sizes=(16, 8))
    assert found.is_local
    assert found.halo == ((0, 0), (0, 0))


def test_shift_needs_one_side() -> None:
    m = parse_map("(d0) -> (d0 - 2), domain: d0 in [2, 15]")
    found = communication([m], MESH, result=sharding("x"), operand=sharding("x"), sizes=(16,))
    assert (found.halo, found.most_elements, found.is_neighbourly) == (((2, 0),), 2, True)
    assert found.partners == {((1,), (0,)), ((2,), (1,)), ((3,), (2,))}


def test_window_needs_both_sides() -> None:
    m = parse_map("(d0)[s0] -> (d0 + s0 - 2), domain: d0 in [0, 15], s0 in [0, 4], d0 + s0 in [2, 17]")
    found = communication([m], MESH, result=sharding("x"), operand=sharding("x"), sizes=(16,))
    assert (found.halo, found.most_elements, found.is_neighbourly) == (((2, 2),), 4, True)


def test_reversal_is_a_permutation() -> None:
    m = parse_map("(d0) -> (-d0 + 15), domain: d0 in [0, 15]")
    found = communication([m], MESH, result=sharding("x"), operand=sharding("x"), sizes=(16,))
    assert found.is_permutation
    assert not found.is_neighbourly
    assert found.partners == {((i,), (3 - i,)) for i in range(4)}
    assert (found.halo, found.most_elements) == (((12, 12),), 4)


def test_splitting_a_dimension_is_local() -> None:
    m = parse_map("(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]")
    assert communication([m], MESH, result=sharding("x", ""), operand=sharding("x"), sizes=(32,)).is_local
    across = communication([m], MESH, result=sharding("", "x"), operand=sharding("x"), sizes=(32,))
    assert (across.is_local, across.most_elements) == (False, 6)


def test_sub_axes() -> None:
    half = AxisRef("x", SubAxis(1, 2))
    major = TensorSharding("mesh", (DimensionSharding((half,)),))
    m = parse_map("(d0) -> (d0), domain: d0 in [0, 15]")
    assert communication([m], MESH, result=sharding("x"), operand=major, sizes=(16,)).is_local
    minor = TensorSharding("mesh", (DimensionSharding((AxisRef("x", SubAxis(2, 2)),)),))
    assert not communication([m], MESH, result=sharding("x"), operand=minor, sizes=(16,)).is_local


def test_large_tensors_are_not_marked() -> None:
    m = parse_map("(d0, d1) -> (d0 - 1, d1), domain: d0 in [1, 65535], d1 in [0, 65535]")
    found = communication(
        [m], MESH, result=sharding("x", "y"), operand=sharding("x", "y"), sizes=(65536, 65536)
    )
    assert (found.halo, found.most_elements, found.is_exact) == (((1, 0), (0, 0)), 32768, True)
    assert found.is_neighbourly


def test_uneven_operands_are_refused() -> None:
    m = parse_map("(d0) -> (d0), domain: d0 in [0, 14]")
    with pytest.raises(ShardyError, match="dimension 0 of size 15 in 4 uneven parts"):
        communication([m], MESH, result=sharding("x"), operand=sharding("x"), sizes=(15,))


def test_rule_of_a_product() -> None:
    factors = (Factor(8), Factor(4), Factor(16, FactorType.REDUCTION))
    rule = ShardingRule(factors, (((0,), (2,)), ((2,), (1,))), (((0,), (1,)),))
    assert str(rule_maps(rule, 0)).splitlines()[0] == "(d0, d1)[s0] -> (d0, s0),"
    local = rule_communication(
        rule,
        MESH,
        {"operands": [sharding("x", ""), sharding("", "y")], "results": [sharding("x", "y")]},
    )
    assert [c.is_local for c in local] == [True, True]
    summed = rule_communication(
        rule, MESH, {"operands": [sharding("", "x"), sharding("x", "")], "results": [sharding("", "")]}
    )
    assert [c.is_local for c in summed] == [False, False]


MAPS = [
    "(d0, d1) -> (d1, d0), domain: d0 in [0, 7], d1 in [0, 7]",
    "(d0, d1)[s0] -> (d0, s0), domain: d0 in [0, 7], d1 in [0, 7], s0 in [0, 7]",
    "(d0, d1) -> (-d0 + 7, d1), domain: d0 in [0, 7], d1 in [0, 7]",
    "(d0, d1)[s0] -> (d0 + s0 - 1, d1), domain: d0 in [0, 7], d1 in [0, 7], s0 in [0, 2], d0 + s0 in [1, 8]",
    "(d0, d1) -> (d0, d1 - 3), domain: d0 in [0, 7], d1 in [3, 7]",
    "(d0, d1) -> ((d0 + d1) mod 8, d1), domain: d0 in [0, 7], d1 in [0, 7]",
]


@pytest.mark.parametrize("seed", range(60))
def test_random_shardings(seed: int) -> None:
    chance = random.Random(seed)
    maps = [parse_map(t) for t in chance.sample(MAPS, chance.choice((1, 2)))]
    result, operand = (sharding(*chance.choice(SPREADS)) for _ in range(2))
    found = communication(maps, MESH, result=result, operand=operand, sizes=(8, 8))
    most, partners = 0, set()
    for device in product(range(4), range(2)):
        held = part(operand, device)
        needed = set().union(*(read_of(m, result, device) for m in maps))
        lacking = {e for e in needed if shard_of(operand, e) != held}
        most = max(most, len(lacking))
        partners |= {(held, shard_of(operand, e)) for e in lacking}
    assert found.is_exact
    assert (found.most_elements, found.partners) == (most, partners)


SPREADS = (("x", "y"), ("y", "x"), ("xy", ""), ("", "yx"), ("x", ""), ("", ""))


def counts(of: TensorSharding) -> list[int]:
    return [_size([a.name for a in d.axes]) for d in of.dimensions]


def _size(axes: list[str]) -> int:
    total = 1
    for axis in axes:
        total *= MESH.sizes[axis]
    return total


def part(of: TensorSharding, device: tuple[int, int]) -> tuple[int, ...]:
    place = dict(zip("xy", device, strict=True))
    found = []
    for dimension in of.dimensions:
        index = 0
        for axis in dimension.axes:
            index = index * MESH.sizes[axis.name] + place[axis.name]
        found.append(index)
    return tuple(found)


def shard_of(of: TensorSharding, element: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(e // (8 // count) for e, count in zip(element, counts(of), strict=True))


def read_of(m: IndexMap, result: TensorSharding, device: tuple[int, int]) -> set[tuple[int, ...]]:
    own = part(result, device)
    return set().union(*(there for e, there in reads(m).items() if shard_of(result, e) == own))
