"""The formulas and figures of the specification, as written there."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.base.errors import ShardyError
from shardy_py.indexing import dim
from shardy_py.indexing.layout import COMBINE, linear_index, linear_index_with_tile, parse_array
from tests.conftest import examples


def picture(text: str) -> list[list[int]]:
    """At which offset each element lies: figures 1 and 2 of the description of tiled layouts."""
    shape = parse_array(text)
    rows, columns = shape.dimensions
    return [[shape.placement.offset((i, j)) for j in range(columns)] for i in range(rows)]


def test_worked_example() -> None:
    assert linear_index_with_tile((2, 3), (3, 5), (2, 2)) == 17
    assert linear_index((1, 1, 0, 1), (2, 3, 2, 2)) == 17
    assert linear_index((1, 1), (2, 3)) * 2 * 2 + linear_index((0, 1), (2, 2)) == 17


def test_figure_of_tiles_with_padding() -> None:
    assert picture("f32[3,5]{1,0:T(2,2)}") == [
        [0, 1, 4, 5, 8],
        [2, 3, 6, 7, 10],
        [12, 13, 16, 17, 20],
    ]


def test_figure_of_repeated_tiling() -> None:
    assert picture("bf16[4,8]{1,0:T(2,4)(2,1)}") == [
        [0, 2, 4, 6, 8, 10, 12, 14],
        [1, 3, 5, 7, 9, 11, 13, 15],
        [16, 18, 20, 22, 24, 26, 28, 30],
        [17, 19, 21, 23, 25, 27, 29, 31],
    ]


def test_a_later_tile_reaches_the_dimensions_that_count_tiles() -> None:
    shape = parse_array("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}")
    assert linear_index_with_tile((3, 1, 0, 1), (4, 2, 2, 4), (2, 1, 1, 1)) == 51
    assert linear_index((1, 1, 0, 1, 1, 0, 0, 0), (2, 2, 2, 4, 2, 1, 1, 1)) == 51
    assert shape.placement.offset((6, 5)) == 51


def test_two_rows_share_a_word() -> None:
    place = parse_array("bf16[16,256]{1,0:T(8,128)(2,1)}").placement
    for row, column in product(range(0, 16, 2), range(0, 256, 37)):
        first = place.offset((row, column))
        assert first % 2 == 0
        assert place.offset((row + 1, column)) == first + 1


def test_joined_dimensions() -> None:
    place = parse_array("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}").placement
    joined = parse_array("f32[112,110]{1,0:T(2,3)}").placement
    assert place.levels[0].joined == joined.dimensions == (112, 110)
    assert place.size == joined.size == 112 * 111
    a, b, c, d, e = np.indices(place.dimensions)
    expected = joined.offset(((a * 7 + b) * 8 + c, d * 10 + e))
    assert np.array_equal(place.offset((a, b, c, d, e)), expected)


def test_joined_by_a_tile() -> None:
    tile = (COMBINE, COMBINE, 2, COMBINE, 3)
    e, d = (1, 6, 7, 10, 9), (2, 7, 8, 11, 10)
    assert linear_index_with_tile(e, d, tile) == linear_index_with_tile((111, 109), (112, 110), (2, 3))


@st.composite
def tiled_indices(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    bounds = draw(st.lists(st.integers(1, 40), max_size=5))
    index = tuple(draw(st.integers(0, bound - 1)) for bound in bounds)
    return index, tuple(bounds), tuple(draw(st.integers(1, 9)) for _ in bounds)


@given(tiled_indices())
def test_the_formulas(case: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]) -> None:
    e, d, t = case
    assert linear_index(e, d) == sum(e[i] * prod(d[i + 1 :]) for i in range(len(d)))
    quotients = tuple(x // y for x, y in zip(e, t, strict=True))
    remainders = tuple(x % y for x, y in zip(e, t, strict=True))
    counts = tuple(-(-x // y) for x, y in zip(d, t, strict=True))
    found = linear_index_with_tile(e, d, t)
    assert found == linear_index(quotients + remainders, counts + t)
    assert found == linear_index(quotients, counts) * prod(t) + linear_index(remainders, t)


@settings(max_examples=examples(50))
@given(tiled_indices(), st.sampled_from((np.int64, np.int32, np.uint8)))
def test_arrays_of_coordinates(
    case: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], dtype: type
) -> None:
    _, d, t = case
    if not d:
        return
    points = np.stack([np.arange(20, dtype=dtype) % bound for bound in d])
    for table in (linear_index(points, d), linear_index_with_tile(points, d, t)):
        assert table.dtype == np.int64
    for k, point in enumerate(points.T.tolist()):
        assert linear_index(points, d)[k] == linear_index(point, d)
        assert linear_index_with_tile(points, d, t)[k] == linear_index_with_tile(point, d, t)
        assert linear_index(tuple(points[:, k]), d) == linear_index(point, d)


def test_coordinates_broadcast() -> None:
    rows, columns = np.arange(3)[:, None], np.arange(5)[None, :]
    assert linear_index_with_tile((rows, columns), (3, 5), (2, 2)).tolist() == picture("f32[3,5]{1,0:T(2,2)}")


def test_symbols() -> None:
    assert str(linear_index((dim(0), dim(1)), (3, 5))) == "d0 * 5 + d1"
    tiled = linear_index_with_tile((dim(0), dim(1)), (3, 5), (2, 2))
    assert tiled.evaluate({dim(0): 2, dim(1): 3}) == 17


def test_lower_rank_leaves_major_dimensions() -> None:
    for i, j, k in np.ndindex(4, 3, 5):
        assert linear_index_with_tile((i, j, k), (4, 3, 5), (2, 2)) == 24 * i + linear_index_with_tile(
            (j, k), (3, 5), (2, 2)
        )


def test_tiles_of_higher_rank_add_major_dimensions_of_one() -> None:
    assert linear_index_with_tile((200,), (256,), (8, 128)) == 8 * 128 + 72
    assert linear_index_with_tile((), (), (128,)) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linear_index((1,), (2, 3)), "bounds (2, 3): expected 2 coordinates, got 1"),
        (lambda: linear_index((1.5,), (2,)), "coordinates: expected integers, got 1.5"),
        (lambda: linear_index((np.zeros(2),), (2,)), "expected integers, got an array of float64"),
        (lambda: linear_index((np.zeros(2, int),), (1 << 64,)), "exceed 64 bits"),
        (lambda: linear_index_with_tile((1,), (2,), (0,)), "expected sizes of at least 1, got 0"),
        (lambda: linear_index_with_tile((1,), (2,), (-2,)), "expected sizes of at least 1, got -2"),
        (lambda: linear_index_with_tile((1,), (2,), (COMBINE,)), "no dimension to combine with"),
    ],
)
def test_invalid_arguments(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ShardyError) as error:
        call()
    assert message in str(error.value)
