from __future__ import annotations

import numpy as np
import pytest

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
from shardy_py.sharding.slices import Slice
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
    assert by_id.element_counts.sum() == covered.size * slices.replication
    largest = by_id.sizes.max(axis=0)
    if covered.size:
        assert local_shape(sharding, mesh, shape) == slices.local_shape == tuple(largest.tolist())
    assert slices.is_even == (len({part.size for part in expected.values()}) == 1 and covered.size > 0) or (
        not covered.size
    )


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
