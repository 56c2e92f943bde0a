from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.sharding import (
    AxisRef,
    DimensionSharding,
    Mesh,
    MeshAxis,
    SubAxis,
    TensorSharding,
    device_slices,
    local_shape,
    slice_of,
)
from shardy_py.sharding.slices import MOST_LISTED, Slice
from tests.sharding.random_shardings import enumerated, random_case

MESH = Mesh((MeshAxis("x", 4), MeshAxis("y", 2)))
X, Y = AxisRef("x"), AxisRef("y")


def sharded(*dimensions: tuple[AxisRef, ...]) -> TensorSharding:
    return TensorSharding("mesh", tuple(DimensionSharding(axes) for axes in dimensions))


@pytest.mark.parametrize("seed", range(500))
def test_random_shardings_cover_the_tensor(seed: int) -> None:
    sharding, mesh, shape = random_case(seed)
    slices = device_slices(sharding, mesh, shape)
    expected = enumerated(sharding, mesh, shape)
    by_id, by_position = slices.by_device_id(), slices.by_position()
    assert by_id.holds.all()
    assert by_id.offsets.shape == by_id.sizes.shape == (mesh.device_count, len(shape))
    for position, device in enumerate(mesh.device_ids or range(mesh.device_count)):
        from_id = Slice(tuple(by_id.offsets[device].tolist()), tuple(by_id.sizes[device].tolist()))
        from_position = Slice(
            tuple(by_position.offsets[position].tolist()), tuple(by_position.sizes[position].tolist())
        )
        assert from_id == from_position == slice_of(sharding, mesh, shape, device) == expected[device]
    covered = np.zeros(shape, np.int64)
    for part in expected.values():
        covered[part.index] += 1
    assert (covered == slices.replication).all()
    assert by_id.sizes.prod(axis=1).sum() == covered.size * slices.replication
    largest = by_id.sizes.max(axis=0)
    if covered.size:
        assert local_shape(sharding, mesh, shape) == slices.local_shape == tuple(largest.tolist())


@pytest.mark.parametrize(
    ("sharding", "shape", "expected"),
    [
        (sharded((X,), (Y,)), (9, 6), (3, 3)),  # 9 over 4 devices: padded to 12
        (sharded((X, Y), ()), (9, 6), (2, 6)),
        (sharded((AxisRef("x", SubAxis(2, 2)),), ()), (9, 6), (5, 6)),
        (sharded((X,), (Y,)), (None, 6), (None, 3)),
        (sharded((X,), ()), (0, 6), (0, 6)),
        (sharded(), (), ()),
    ],
)
def test_local_shape(
    sharding: TensorSharding, shape: tuple[int | None, ...], expected: tuple[int | None, ...]
) -> None:
    assert local_shape(sharding, MESH, shape) == expected


def test_parts_smaller_and_empty() -> None:
    slices = device_slices(sharded((X, Y)), MESH, (9,))  # 8 parts of 2: four whole, one of 1, three empty
    assert slices.offsets.T.tolist() == [[0, 2, 4, 6, 8, 9, 9, 9]]
    assert slices.sizes.T.tolist() == [[2, 2, 2, 2, 1, 0, 0, 0]]
    assert (slices.parts, slices.local_shape) == ((8,), (2,))


def test_order_of_axes_and_devices() -> None:
    permuted = Mesh(MESH.axes, (7, 6, 5, 4, 3, 2, 1, 0))
    slices = device_slices(sharded((Y, X)), permuted, (8,))  # y is the major one
    assert slices.offsets.T.tolist() == [[0, 4, 1, 5, 2, 6, 3, 7]]
    assert slices.by_device_id().offsets.T.tolist() == [[7, 3, 6, 2, 5, 1, 4, 0]]
    assert slices.of(7) == slices.at(0) == Slice((0,), (1,))


def test_unreduced_axes_shard_nothing() -> None:
    sharding = TensorSharding("mesh", (DimensionSharding((X,)),), unreduced_axes=(Y,))
    slices = device_slices(sharding, MESH, (8,))
    assert (slices.local_shape, slices.replication, slices.unreduced_axes) == ((2,), 2, (Y,))


def test_maximal_sharding() -> None:
    mesh = Mesh(device_ids=(2,))
    sharding = TensorSharding("maximal_mesh_2", ())
    assert local_shape(sharding, mesh, (4, 6)) == (4, 6)
    slices = device_slices(sharding, mesh, (4, 6))
    assert slices.of(2) == Slice((0, 0), (4, 6))
    assert slices.of(0) is None
    assert slice_of(sharding, mesh, (4, 6), 5) is None
    arrays = slices.by_device_id(4)
    assert arrays.sizes.tolist() == [[0, 0], [0, 0], [4, 6], [0, 0]]
    assert arrays.holds.tolist() == [False, False, True, False]
    scalar = device_slices(sharding, mesh, ()).by_device_id(4)
    assert scalar.holds.tolist() == [False, False, True, False]
    assert slices.by_device_id(2).holds.tolist() == [False, False]


def test_empty_mesh_is_everywhere() -> None:
    slices = device_slices(sharded(()), Mesh(), (5,))
    assert slices.replication == 1
    assert slices.of(17) == Slice((0,), (5,))
    assert slices.by_device_id(3).sizes.tolist() == [[5], [5], [5]]


def test_more_devices_than_the_mesh_has() -> None:
    arrays = device_slices(sharded((X,)), MESH, (4,)).by_device_id(10)
    assert arrays.holds.tolist() == [True] * 8 + [False] * 2
    assert arrays.sizes.T.tolist() == [[1] * 8 + [0] * 2]


def test_scalar() -> None:
    slices = device_slices(sharded(), MESH, ())
    assert slices.offsets.shape == slices.sizes.shape == (8, 0)
    assert slices.by_device_id().sizes.prod(axis=1).tolist() == [1] * 8
    assert str(slices.of(3)) == "[]"


def test_slices_within_slices() -> None:
    outer = device_slices(sharded((X,)), MESH, (24,))
    inner = device_slices(sharded((Y,)), MESH, outer.local_shape).within(outer)
    assert (inner.shape, inner.local_shape, inner.parts, inner.replication) == ((24,), (3,), (8,), 1)
    assert inner.offsets[:, 0].tolist() == list(range(0, 24, 3))
    assert inner.of(5) == Slice((15,), (3,))


def test_uneven_slices_within_uneven_slices() -> None:
    outer = device_slices(sharded((X,)), MESH, (10,))  # parts of 3: 0-3, 3-6, 6-9, 9-10
    inner = device_slices(sharded((Y,)), MESH, outer.local_shape).within(outer)
    assert [str(inner.at(position)) for position in range(8)] == [
        *("[0:2]", "[2:3]", "[3:5]", "[5:6]", "[6:8]", "[8:9]", "[9:10]", "[10:10]")
    ]


def test_within_something_else() -> None:
    slices = device_slices(sharded((X,)), MESH, (24,))
    with pytest.raises(ShardyError, match=re.escape("expected a local shape of (24,), got (6,)")):
        slices.within(slices)


def test_the_whole_mesh_is_not_touched_for_one_device() -> None:
    huge = Mesh((MeshAxis("x", 1 << 40), MeshAxis("y", 1 << 10)))
    part = slice_of(sharded((AxisRef("x", SubAxis(1 << 20, 1 << 20)),), (Y,)), huge, (1 << 20, 1 << 10), 2500)
    assert part == Slice((2, 452), (1, 1))
    with pytest.raises(ShardyError, match=re.escape("listed devices: expected at most 16,777,216, got ")):
        device_slices(sharded((X,)), huge, (8,)).by_position()
    assert huge.device_count > MOST_LISTED


def test_a_million_devices() -> None:
    mesh = Mesh((MeshAxis("x", 1024), MeshAxis("y", 1024)))
    slices = device_slices(sharded((X, Y), ()), mesh, ((1 << 20) + 1, 3))  # parts of 2
    arrays = slices.by_device_id()
    assert arrays.sizes.prod(axis=1).sum() == ((1 << 20) + 1) * 3
    assert Counter(arrays.sizes[:, 0].tolist()) == {2: 1 << 19, 1: 1, 0: (1 << 19) - 1}


def test_along_takes_no_memory_a_device() -> None:
    offsets, sizes = device_slices(sharded((X,), ()), MESH, (8, 3)).along(1)
    assert offsets.shape == sizes.shape == (4, 2)
    assert offsets.strides == (0, 0)
    assert device_slices(sharded((X,), ()), MESH, (8, 3)).along(0)[0].strides[1] == 0


@pytest.mark.parametrize(
    ("sharding", "shape", "message"),
    [
        (
            sharded((X,)),
            (4, 4),
            'sharding <@mesh, [{"x", ?}]>: expected rank 2 of the tensor, got rank 1',
        ),
        (
            sharded((X,), (AxisRef("z"),)),
            (4, 4),
            "dimension 1: unknown axis 'z': expected one of 'x', 'y'",
        ),
        (
            sharded((AxisRef("x", SubAxis(2, 4)),)),
            (4,),
            'dimension 0: sub-axis "x":(2)4: expected a divisor of the size 4 of the axis, got 2 * 4',
        ),
        (
            sharded((X,), (AxisRef("x", SubAxis(1, 2)),)),
            (4, 4),
            'dimension 1: "x":(1)2 overlaps "x" of dimension 0',
        ),
        (
            sharded((X,)),
            (None,),
            "dimension 0: expected a static size of at least 0, got a dynamic size",
        ),
        (
            sharded((X,)),
            (-2,),
            "dimension 0: expected a static size of at least 0, got -2",
        ),
    ],
)
def test_invalid_shardings(sharding: TensorSharding, shape: tuple[int | None, ...], message: str) -> None:
    with pytest.raises(ShardyError) as error:
        device_slices(sharding, MESH, shape)
    assert error.value.diagnostics[0].message == message


def test_local_shape_of_invalid_shardings() -> None:
    with pytest.raises(ShardyError, match="dimension 0: unknown axis 'z'"):
        local_shape(sharded((AxisRef("z"),)), MESH, (4,))
    with pytest.raises(ShardyError, match="expected rank 2 of the tensor, got rank 1"):
        local_shape(sharded((X,)), MESH, (4, 4))


@pytest.mark.parametrize("device", [-1, 8])
def test_no_such_device(device: int) -> None:
    with pytest.raises(ShardyError, match=f"expected a device from 0 to 7, got {device}"):
        slice_of(sharded((X,)), MESH, (4,), device)


@pytest.mark.parametrize("seed", range(0, 500, 10))
def test_parts_and_their_holders(seed: int) -> None:
    sharding, mesh, shape = random_case(seed)
    slices = device_slices(sharding, mesh, shape)
    found: dict[int, tuple[int, ...]] = {}
    for part in np.ndindex(*slices.parts):
        holders = slices.holders(part).tolist()
        assert len(holders) == slices.replication
        assert holders == sorted(holders)
        assert {slices.of(device) for device in holders} == {slices.part(part)}
        found |= dict.fromkeys(holders, part)
    ids = mesh.device_ids or range(mesh.device_count)
    assert found == {device: slices.part_at(position) for position, device in enumerate(ids)}


def test_parts_within_parts() -> None:
    outer = device_slices(sharded((X,)), MESH, (24,))
    inner = device_slices(sharded((Y,)), MESH, outer.local_shape).within(outer)
    assert inner.part((5,)) == inner.at(5)
    assert (inner.part_at(5), inner.holders((5,)).tolist()) == ((5,), [5])


def test_the_vocabulary_is_light() -> None:
    loaded = "print('shardy_py.sharding.slices' in sys.modules, 'numpy' in sys.modules)"
    code = f"import sys, shardy_py.sharding as s; {loaded}; s.device_slices; {loaded}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False", "True", "False"]
