"""Tile assignments against numpy."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardy_py.base.errors import ShardyError
from shardy_py.xla.hlo_sharding.tile_assignment import DEVICE_LIMIT, TileAssignment, digits_of, split_digits


@st.composite
def iotas(draw: st.DrawFn) -> tuple[TileAssignment, np.ndarray]:
    """An assignment and the array of its devices."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=4))
    perm = draw(st.permutations(range(len(sizes))))
    dimensions = _regrouped(draw, prod(sizes))
    array = np.arange(prod(sizes)).reshape(sizes).transpose(perm).reshape(dimensions)
    return TileAssignment.iota(dimensions, sizes, perm), array


def _regrouped(draw: st.DrawFn, count: int) -> list[int]:
    dimensions: list[int] = []
    while count > 1:
        size = draw(st.sampled_from([d for d in range(2, count + 1) if count % d == 0]))
        dimensions.append(size)
        count //= size
    dimensions.insert(draw(st.integers(0, len(dimensions))), 1)
    return dimensions


@given(iotas())
def test_devices_are_those_of_numpy(case: tuple[TileAssignment, np.ndarray]) -> None:
    tiles, array = case
    assert tiles.devices == tuple(array.ravel().tolist())


@given(iotas(), st.data())
def test_transpose_is_that_of_numpy(case: tuple[TileAssignment, np.ndarray], data: st.DataObject) -> None:
    tiles, array = case
    perm = data.draw(st.permutations(range(array.ndim)))
    moved = tiles.transpose(perm)
    expected = array.transpose(perm)
    assert (moved.dimensions, moved.devices) == (expected.shape, tuple(expected.ravel().tolist()))
    listed = TileAssignment(tiles.dimensions, tiles.devices).transpose(perm)
    assert listed.devices == moved.devices


@given(iotas())
def test_sorted_groups_are_those_of_numpy(case: tuple[TileAssignment, np.ndarray]) -> None:
    tiles, array = case
    size = array.shape[-1]
    expected = np.sort(array.reshape(-1, size), axis=1).ravel()
    assert tiles.with_sorted_groups(size).devices == tuple(expected.tolist())


@given(iotas())
def test_a_list_that_is_an_iota_is_recognised(case: tuple[TileAssignment, np.ndarray]) -> None:
    tiles, _ = case
    assert TileAssignment(tiles.dimensions, tiles.devices).as_iota() == tiles


@given(st.permutations(range(8)))
def test_a_list_is_recognised_only_if_it_is_one(devices: list[int]) -> None:
    digits = digits_of(devices)
    shapes = [(8,), (4, 2), (2, 4), (2, 2, 2)]
    orders = {
        tuple(np.arange(8).reshape(shape).transpose(perm).ravel().tolist())
        for shape in shapes
        for perm in {(0, 1, 2)[: len(shape)], *_permutations(len(shape))}
    }
    assert (digits is not None) == (tuple(devices) in orders)


def _permutations(count: int) -> list[tuple[int, ...]]:
    from itertools import permutations

    return list(permutations(range(count)))


def test_digits_are_not_split_unevenly() -> None:
    assert split_digits(((2, 3), (3, 1)), (3, 2)) is None
    assert split_digits(((6, 1),), (3, 2)) == (((3, 2),), ((2, 1),))


def test_text() -> None:
    assert str(TileAssignment((2, 2), (3, 1, 2, 0))) == "devices=[2,2]3,1,2,0"
    assert str(TileAssignment.iota((4, 2), (2, 2, 2), (2, 0, 1))) == "devices=[4,2]<=[4,2]T(1,0)"


def test_too_many_devices_are_not_listed() -> None:
    with pytest.raises(ShardyError, match=f"expected at most {DEVICE_LIMIT} to list them"):
        _ = TileAssignment.iota((1 << 40,)).devices
