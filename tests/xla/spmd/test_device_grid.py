"""Grids of devices are those of numpy, for few devices and for many."""

from __future__ import annotations

import random
from itertools import permutations
from math import prod

import numpy as np
import pytest

from shardy_py.reshard.device_groups import shard_indices
from shardy_py.sharding import AxisRef, Mesh, SubAxis
from shardy_py.xla.spmd import device_grid
from shardy_py.xla.spmd.device_grid import DeviceGrid, devices_along
from shardy_py.xla.spmd.matching import lies_within
from shardy_py.xla.spmd.tiling import Tiling

SHAPE = (2, 3, 1, 4)
DEVICES = np.random.default_rng(0).permutation(prod(SHAPE))


@pytest.fixture(params=[1, 4096], ids=["many", "few"], autouse=True)
def _many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore
    monkeypatch.setattr(device_grid, "_MANY", request.param)


def grid() -> DeviceGrid:
    return DeviceGrid(SHAPE, tuple(DEVICES.tolist()))


@pytest.mark.parametrize("order", [*permutations(range(4))], ids=str)
def test_transposed(order: tuple[int, ...]) -> None:
    expected = DEVICES.reshape(SHAPE).transpose(order)
    found = grid().transposed(order)
    assert (found.shape, [*found.listed]) == (expected.shape, expected.ravel().tolist())
    part = found.at(1, (0, found.shape[1] - 1))
    assert [*part.listed] == expected.take([0, -1], axis=1).ravel().tolist()


@pytest.mark.parametrize("rank", range(5))
def test_sorted_at_end(rank: int) -> None:
    expected = np.sort(DEVICES.reshape(*SHAPE[:rank], -1), axis=-1)
    found = grid().sorted_at_end(rank)
    assert (found.shape, [*found.listed]) == (expected.shape, expected.ravel().tolist())


def test_along() -> None:
    assert grid().along({1, 3}) == DEVICES.reshape(SHAPE)[0, :, 0, :].ravel().tolist()
    assert grid().along(()) == [DEVICES[0]]


@pytest.mark.parametrize("ids", [(), tuple(DEVICES.tolist()[::-1])], ids=["in-order", "in-other-order"])
def test_devices_along(ids: tuple[int, ...]) -> None:
    mesh = Mesh.of({"x": 6, "y": 4}, device_ids=ids)
    for axes in ((), (AxisRef("y"),), (AxisRef("y", SubAxis(1, 2)), AxisRef("x", SubAxis(2, 3)))):
        expected = np.argsort(shard_indices(mesh, axes), kind="stable")
        assert devices_along(mesh, axes) == tuple(expected.tolist())


def _places(tiling: Tiling) -> np.ndarray:
    """[devices, dimensions]: by device, the place of its tile."""
    found = np.empty((tiling.device_count, tiling.rank), np.int64)
    each = np.arange(tiling.tile_count).repeat(tiling.replicas)
    found[np.array(tiling.devices)] = np.stack(np.unravel_index(each, tiling.dimensions), axis=-1)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_tiles_that_lie_in_others(seed: int) -> None:
    draw = random.Random(seed)
    devices = [*range(24)]
    tilings: list[Tiling] = []
    for sizes in (
        draw.choice([(4, 3), (4, 6), (2, 6), (12, 2)]),
        draw.choice([(2, 3), (4, 1), (1, 3), (2, 2)]),
    ):
        if draw.random() < 0.3:
            draw.shuffle(devices)
        replicas = 24 // prod(sizes)
        rows = [sorted(devices[i : i + replicas]) for i in range(0, 24, replicas)]
        tilings.append(Tiling(sizes, replicas, tuple(device for row in rows for device in row)))
    fine, coarse = tilings
    shape = draw.choice([(24, 24), (5, 7), (9, 4)])
    small, large = np.array(fine.local_shape(shape)), np.array(coarse.local_shape(shape))
    starts, bounds = _places(fine) * small, _places(coarse) * large
    inside = (starts + small <= bounds + large) | (starts + small >= np.array(shape))
    expected = bool((small <= large).all() and ((starts >= bounds) & inside).all())
    assert lies_within(fine, coarse, shape) == expected
    if all(own % given == 0 for own, given in zip(fine.dimensions, coarse.dimensions, strict=True)):
        factors = np.array(fine.dimensions) // np.array(coarse.dimensions)
        assert fine.refines(coarse) == bool((_places(fine) // factors == _places(coarse)).all())
