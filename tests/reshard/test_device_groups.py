"""Replica groups and shard indices against one device at a time; digits of ids against both."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.reshard.device_groups import (
    digits,
    replica_groups,
    shard_indices,
    source_target_pairs,
)
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, TensorSharding
from shardy_py.sharding.axes import SubAxis
from shardy_py.sharding.axis_lists import Axes
from tests.conftest import examples


@st.composite
def axes_of_meshes(draw: st.DrawFn) -> tuple[Mesh, Axes]:
    """A mesh of up to three axes, in iota order, transposed and reversed, or shuffled; some axes of it."""
    factors = draw(st.lists(st.lists(st.sampled_from([1, 2, 3]), max_size=3), min_size=1, max_size=3))
    sizes = {f"a{number}": int(np.prod(parts, dtype=int)) for number, parts in enumerate(factors)}
    count = int(np.prod(list(sizes.values())))
    ids = np.arange(count)
    match draw(st.sampled_from(["iota", "transposed", "shuffled"])):
        case "transposed":
            order = draw(st.permutations(range(len(sizes))))
            grid = ids.reshape([list(sizes.values())[axis] for axis in order])
            grid = grid.transpose(np.argsort(order))
            flipped = draw(st.sets(st.integers(0, len(sizes) - 1)))
            ids = np.flip(grid, tuple(flipped)).ravel()
        case "shuffled":
            ids = np.array(draw(st.permutations(range(count))))
        case _:
            pass
    mesh = Mesh.of(sizes, device_ids=() if np.array_equal(ids, np.arange(count)) else ids.tolist())
    refs: list[AxisRef] = []
    for number, parts in enumerate(factors):
        before = 1
        for part in parts:
            if part > 1:
                whole = part == sizes[f"a{number}"]
                refs.append(AxisRef(f"a{number}", None if whole else SubAxis(before, part)))
            before *= part
    chosen = draw(st.permutations(refs)) if refs else []
    return mesh, tuple(chosen[: draw(st.integers(0, len(chosen)))])


def coordinates(mesh: Mesh) -> dict[int, dict[str, int]]:
    """The coordinates of each device along the axes of the mesh."""
    grid = product(*(range(axis.size) for axis in mesh.axes))
    names = [axis.name for axis in mesh.axes]
    ids = mesh.device_ids or range(mesh.device_count)
    return {device: dict(zip(names, point, strict=True)) for device, point in zip(ids, grid, strict=True)}


def index_along(mesh: Mesh, axes: Axes, point: dict[str, int]) -> int:
    """The position along `axes` of the device at a point."""
    index = 0
    for axis in axes:
        minor = mesh.sizes[axis.name] // axis.next_pre_size(mesh)
        index = index * axis.size(mesh) + point[axis.name] // minor % axis.size(mesh)
    return index


@given(axes_of_meshes())
@settings(max_examples=examples(120), deadline=None)
def test_each_device(case: tuple[Mesh, Axes]) -> None:
    mesh, axes = case
    expected = {device: index_along(mesh, axes, point) for device, point in coordinates(mesh).items()}
    indices = shard_indices(mesh, axes)
    assert dict(enumerate(indices.tolist())) == expected

    groups = replica_groups(mesh, axes)
    assert sorted(groups.ravel().tolist()) == list(range(mesh.device_count))
    assert (indices[groups] == np.arange(groups.shape[1])).all()
    for group in groups.tolist():
        points = [coordinates(mesh)[device] for device in group]
        rest = {
            tuple(
                point[name]
                - sum(
                    (point[name] // minor % axis.size(mesh)) * minor
                    for axis in axes
                    if axis.name == name
                    for minor in [size // axis.next_pre_size(mesh)]
                )
                for name, size in mesh.sizes.items()
            )
            for point in points
        }
        assert len(rest) == 1, "devices of a group differ along these axes only"

    parts = digits(mesh, axes)
    assert parts is not None or mesh.device_ids
    if parts is not None:
        ids = np.arange(mesh.device_count)
        found = np.zeros_like(ids)
        for part in parts:
            digit = ids // part.stride
            digit = digit if part.is_leading else digit % part.size
            found = found * part.size + (part.size - 1 - digit if part.reversed else digit)
        assert found.tolist() == indices.tolist()


def test_transposed_and_reversed_meshes_need_no_table() -> None:
    transposed = Mesh.of(x=2, y=3, device_ids=[0, 2, 4, 1, 3, 5])
    reversed_ = Mesh.of(x=2, y=3, device_ids=[2, 1, 0, 5, 4, 3])
    for mesh in (transposed, reversed_):
        assert digits(mesh, (AxisRef("y"), AxisRef("x"))) is not None
    assert digits(Mesh.of(x=2, y=3, device_ids=[0, 2, 4, 1, 5, 3]), (AxisRef("y"),)) is None


def test_maximal_mesh() -> None:
    mesh = Mesh(device_ids=(3,))
    assert replica_groups(mesh, ()).tolist() == [[3]]
    assert shard_indices(mesh, ()).tolist() == [0]


def test_pairs_keep_coordinates_along_other_axes() -> None:
    """Such as the manual axes of a computation, along which each device has a tensor of its own."""
    mesh = Mesh.of(b=2, c=2, d=2)
    source, target = (TensorSharding("mesh", (DimensionSharding((AxisRef(name),)),)) for name in ("d", "b"))
    pairs = source_target_pairs(source, mesh, target, mesh)
    grid = coordinates(mesh)
    for giver, taker in pairs.tolist():
        assert grid[giver]["c"] == grid[taker]["c"]
        assert grid[giver]["d"] == grid[taker]["b"]


def test_pairs_of_shardy_are_in_the_order_of_devices() -> None:
    mesh = Mesh.of(b=2, c=2, d=2)
    source, target = (TensorSharding("mesh", (DimensionSharding((AxisRef(name),)),)) for name in ("d", "b"))
    pairs = source_target_pairs(source, mesh, target, mesh, as_shardy=True)
    assert pairs.tolist() == [[0, 0], [1, 4], [2, 1], [3, 5], [4, 2], [5, 6], [6, 3], [7, 7]]
