"""Tilings against XLA's tile assignments, and their operations against each other."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from shardy_py.sharding import Mesh
from shardy_py.xla.hlo_sharding.axes import to_hlo_sharding
from shardy_py.xla.spmd.grouping import aligned, group_except, group_on, ungrouped
from shardy_py.xla.spmd.tiling import Tiling
from tests.xla.hlo_sharding.hlo_shardings import random_mesh, random_sharding

SEEDS = range(60)


def random_tiling(seed: int) -> Tiling:
    """A tiling of a tensor of rank 1 to 4 on a mesh that may have device ids."""
    random = Random(seed)
    mesh = random_mesh(random, with_device_ids=seed % 2 == 0)
    return Tiling.of_sharding(random_sharding(random, mesh), mesh)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_devices_are_those_of_the_hlo_sharding(seed: int) -> None:
    random = Random(seed)
    mesh = random_mesh(random, with_device_ids=seed % 2 == 0)
    sharding = random_sharding(random, mesh)
    tiling, tiles = Tiling.of_sharding(sharding, mesh), to_hlo_sharding(sharding, mesh)
    if tiles.tile_assignment is None or not tiles.is_tiled:
        assert tiling.is_replicated
        return
    if tiles.subgroup_types:
        return
    assert tiling.grid_dimensions == tiles.tile_assignment_dimensions
    assert tiling.devices == tiles.tile_assignment_devices


@pytest.mark.parametrize("seed", SEEDS)
def test_grouping_is_undone(seed: int) -> None:
    tiling = random_tiling(seed)
    dimensions = [i for i in range(tiling.rank) if Random(seed + i).random() < 0.5]
    grouped = group_on(tiling, dimensions)
    assert ungrouped(grouped) == tiling
    assert ungrouped(aligned(grouped, grouped)) == tiling
    assert sorted(device for group in grouped.groups for device in group) == sorted(tiling.devices)


def test_minor_tiles_stay_in_a_group() -> None:
    tiling = Tiling.of(Mesh.of(x=4, y=2), [("x",), ("y",)])
    grouped = group_on(tiling, [0], [2])
    assert grouped.groups == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert grouped.tiling.dimensions == (2, 2)
    assert ungrouped(grouped) == tiling


def test_groups_without_a_dimension_hold_the_rest() -> None:
    tiling = Tiling.of(Mesh.of(x=2, y=2, z=2), [("x",), ("y",)])
    grouped = group_except(tiling, [1])
    assert grouped.groups == ((0, 2), (1, 3), (4, 6), (5, 7))
    assert grouped.tiling.dimensions == (1, 2)


def test_aligned_devices_are_renumbered() -> None:
    mesh = Mesh.of(x=2, y=2)
    reference = group_on(Tiling.of(mesh, [("x",), ("y",)]), [0])
    turned = group_on(Tiling((2, 2), 1, (1, 0, 3, 2)), [0])
    assert aligned(turned, reference).tiling.devices == (1, 0)
    swapped = group_on(Tiling((2, 2), 1, (2, 3, 0, 1)), [0])
    assert aligned(swapped, reference, ignore_order=True).groups == reference.groups


@pytest.mark.parametrize("seed", SEEDS)
def test_replicating_dimensions_one_by_one_or_together_is_the_same(seed: int) -> None:
    tiling = random_tiling(seed)
    one_by_one = tiling
    for i in range(tiling.rank):
        one_by_one = one_by_one.replicated_on([i])
    assert one_by_one == tiling.replicated_on(range(tiling.rank))
    assert one_by_one.is_replicated
    assert tiling.replicated_except(range(tiling.rank)) == tiling


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tiling_refines_the_tilings_that_replicate_it(seed: int) -> None:
    tiling = random_tiling(seed)
    for i in range(tiling.rank):
        assert tiling.refines(tiling.replicated_on([i]))
        assert tiling.split(i, tiling.dimensions[i]).merged(i) == tiling


def test_neither_of_two_orders_of_axes_refines_the_other() -> None:
    mesh = Mesh.of(x=2, y=2)
    fine, coarse = Tiling.of(mesh, [("x", "y")]), Tiling.of(mesh, [("y",)])
    assert not fine.refines(coarse)
    assert fine.refines(Tiling.of(mesh, [("x",)]))
    assert not Tiling.replicated(1, 4).refines(coarse)


def test_an_all_to_all_moves_the_minor_tiles() -> None:
    tiling = Tiling.of(Mesh.of(x=4, y=2), [("x",), ("y",)])
    moved = tiling.exchanged(0, 1)
    assert moved.dimensions == (2, 4)
    expected = np.arange(8).reshape(2, 2, 2).transpose(0, 2, 1).reshape(2, 4)
    assert moved.devices == tuple(expected.reshape(-1).tolist())


def test_a_transposition_may_move_the_replicas() -> None:
    tiling = Tiling.of(Mesh.of(x=4, y=2), [("y",), ()])
    turned = tiling.transposed([0, 2, 1])
    assert (turned.dimensions, turned.replicas) == ((2, 4), 1)
    assert tiling.transposed([1, 0]).dimensions == (1, 2)


def test_tiles_are_padded() -> None:
    tiling = Tiling.of(Mesh.of(x=4), [("x",), ()])
    assert tiling.local_shape((6, 5)) == (2, 5)
    assert tiling.padded_shape((6, 5)) == (8, 5)
    assert not tiling.is_even((6, 5))
    assert tiling.is_even((8, 5))
