"""Grids of devices are those of numpy, for few devices and for many."""

from __future__ import annotations

from itertools import permutations
from math import prod

import numpy as np
import pytest

from shardy_py.reshard.device_groups import shard_indices
from shardy_py.sharding import AxisRef, Mesh, SubAxis
from shardy_py.xla.spmd import device_grid
from shardy_py.xla.spmd.device_grid import DeviceGrid, devices_along

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
    assert (found.shape, [*found.devices]) == (expected.shape, expected.ravel().tolist())
    part = found.at(1, (0, found.shape[1] - 1))
    assert [*part.devices] == expected.take([0, -1], axis=1).ravel().tolist()


@pytest.mark.parametrize("rank", range(5))
def test_sorted_at_end(rank: int) -> None:
    expected = np.sort(DEVICES.reshape(*SHAPE[:rank], -1), axis=-1)
    found = grid().sorted_at_end(rank)
    assert (found.shape, [*found.devices]) == (expected.shape, expected.ravel().tolist())


def test_along() -> None:
    assert grid().along({1, 3}) == DEVICES.reshape(SHAPE)[0, :, 0, :].ravel().tolist()
    assert grid().along(()) == [DEVICES[0]]


@pytest.mark.parametrize("ids", [(), tuple(DEVICES.tolist()[::-1])], ids=["in-order", "in-other-order"])
def test_devices_along(ids: tuple[int, ...]) -> None:
    mesh = Mesh.of({"x": 6, "y": 4}, device_ids=ids)
    for axes in ((), (AxisRef("y"),), (AxisRef("y", SubAxis(1, 2)), AxisRef("x", SubAxis(2, 3)))):
        expected = np.argsort(shard_indices(mesh, axes), kind="stable")
        assert devices_along(mesh, axes) == tuple(expected.tolist())
