"""Tiles against the elements that a tile's elements read."""

from __future__ import annotations

import random

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.analysis import StridedTile, propagate_tile, symbolic_tile
from shardy_py.hlo.analysis.fusion import function_maps
from shardy_py.indexing import parse_map, points
from shardy_py.ops import OpRecord, TensorType
from tests.hlo.analysis.oracle import elements, random_function, read_by


def inside(tile: StridedTile) -> set[tuple[int, ...]]:
    found: set[tuple[int, ...]] = {()}
    for line in tile.box.dimensions:
        found = {(*e, line.start + line.step * i) for e in found for i in range(line.count)}
    return found


def random_tile(chance: random.Random, sizes: tuple[int | None, ...]) -> StridedTile:
    offsets = tuple(chance.randrange(size or 1) for size in sizes)
    strides = tuple(chance.choice((1, 2)) for _ in sizes)
    rest = [(-(-((n or 1) - o) // s)) for n, o, s in zip(sizes, offsets, strides, strict=True)]
    return StridedTile(offsets, tuple(chance.randint(1, r) for r in rest), strides)


@pytest.mark.parametrize("seed", range(80))
def test_random_functions(seed: int) -> None:
    chance = random.Random(seed)
    function = random_function(chance, 3)
    (result,) = function.results
    tensor = function.types[result]
    if tensor is None or any(len(elements(t)) > 300 for t in function.types):
        return
    tile = random_tile(chance, tensor.shape)
    read = read_by(function, result)
    wanted = set().union(*(read[e] for e in inside(tile)))
    for parameter, found in enumerate(propagate_tile(tile, function)):
        expected = {e for p, e in wanted if p == parameter}
        assert (found is None) == (not expected)
        if found is not None:
            assert expected <= inside(found)
            assert found.is_exact == (expected == inside(found))


def test_both_ways() -> None:
    record = OpRecord(
        "stablehlo.slice",
        (TensorType((100,)),),
        (TensorType((30,)),),
        {"start_indices": (10,), "limit_indices": (100,), "strides": (3,)},
    )
    (there,) = propagate_tile(StridedTile((4,), (5,)), record)
    assert there == StridedTile((22,), (5,), (3,))
    assert there
    (back,) = propagate_tile(there, record, direction="input-to-output")
    assert back == StridedTile((4,), (5,), (1,))
    (reached,) = propagate_tile(StridedTile((0,), (12,)), record, direction="input-to-output")
    assert reached == StridedTile((0,), (1,), (1,))


def test_over_approximation_is_flagged() -> None:
    record = OpRecord("stablehlo.reshape", (TensorType((6, 4)),), (TensorType((24,)),))
    (tile,) = propagate_tile(StridedTile((2,), (4,)), record)
    assert tile == StridedTile((0, 0), (2, 4), (1, 1), is_exact=False)
    assert str(tile).endswith("(over-approximated)")


def test_a_tile_outside_is_refused() -> None:
    record = OpRecord("stablehlo.negate", (TensorType((4,)),), (TensorType((4,)),))
    with pytest.raises(ShardyError, match="outside a tensor of sizes"):
        propagate_tile(StridedTile((2,), (4,)), record)


SYMBOLIC = [
    ("(d0, d1)[s0] -> (d1 * 2, s0), domain: d0 in [0, 15], d1 in [0, 7], s0 in [0, 3]", (4, 4), True),
    ("(d0) -> (-d0 + 15), domain: d0 in [0, 15]", (4,), True),
    ("(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]", (4,), True),
    ("(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]", (16,), True),
    ("(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]", (2, 4), False),
    ("(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]", (2, 8), True),
    ("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 11], s0 in [0, 2]", (4,), True),
    ("(d0) -> ((d0 + 1) floordiv 3), domain: d0 in [0, 11]", (4,), False),
]


@pytest.mark.parametrize(("text", "sizes", "is_exact"), SYMBOLIC)
def test_symbolic_tiles(text: str, sizes: tuple[int, ...], is_exact: bool) -> None:
    index_map = parse_map(text)
    made = symbolic_tile(index_map, sizes)
    tiles: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for point in points(index_map):
        values = {str(v): value for v, value in point.items()}
        number = tuple(values[f"d{i}"] // size for i, size in enumerate(sizes))
        tiles.setdefault(number, set()).add(tuple(r.evaluate(point) for r in index_map.results))
    for number, expected in tiles.items():
        offsets = made.offsets.evaluate(number)
        assert offsets is not None
        found = inside(StridedTile(offsets, made.sizes, made.strides))
        assert expected <= found
        if is_exact:
            assert expected == found
    if is_exact:
        assert made.is_exact
    else:
        assert not made.is_exact


def test_symbolic_offsets_of_run_time() -> None:
    maps = function_maps(
        OpRecord("stablehlo.dynamic_slice", (TensorType((64,)), TensorType((), "i32")), (TensorType((32,)),))
    )
    made = symbolic_tile(maps[0][0][0], (8,))
    assert str(made.offsets).splitlines()[0] == "(d0){rt0} -> (d0 * 8 + rt0),"
    assert (made.sizes, made.is_exact) == ((8,), True)
