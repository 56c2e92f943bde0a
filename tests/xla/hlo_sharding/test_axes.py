"""Shardings by tiles to and from shardings by axes: which device holds which tile, counted in numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from math import prod
from random import Random

import numpy as np
import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, TensorSharding
from shardy_py.xla.hlo_sharding.axes import (
    from_hlo_sharding,
    manual_axes_of,
    mesh_of_hlo_shardings,
    to_hlo_sharding,
    to_named_hlo_sharding,
)
from shardy_py.xla.hlo_sharding.hlo_sharding import MANUAL, HloSharding
from shardy_py.xla.hlo_sharding.proto import hlo_sharding_from_proto, hlo_sharding_to_proto
from shardy_py.xla.hlo_sharding.text import hlo_sharding_from_text
from tests.xla.hlo_sharding.hlo_shardings import random_mesh, random_sharding

MESH = Mesh((MeshAxis("x", 4), MeshAxis("y", 2)))


def tiles_of(sharding: TensorSharding, mesh: Mesh) -> dict[int, tuple[int, ...]]:
    """By device, the index of its tile: the digits of its place in the mesh, axis by axis."""
    sizes = [axis.size for axis in mesh.axes]
    ids = mesh.device_ids or tuple(range(prod(sizes)))
    places = np.stack(np.unravel_index(np.arange(prod(sizes)), sizes), axis=1)
    found: dict[int, tuple[int, ...]] = {}
    for device, place in zip(ids, places.tolist(), strict=True):
        index: list[int] = []
        for dimension in sharding.dimensions:
            tile = 0
            for axis in dimension.axes:
                digit, size = place[mesh.order[axis.name]], mesh.sizes[axis.name]
                if axis.sub_axis:
                    digit = digit // (size // axis.sub_axis.next_pre_size) % axis.sub_axis.size
                    size = axis.sub_axis.size
                tile = tile * size + digit
            index.append(tile)
        found[device] = tuple(index)
    return found


def hlo_tiles_of(sharding: HloSharding, rank: int, count: int) -> dict[int, tuple[int, ...]]:
    """By device, the index of its tile."""
    if not sharding.is_tiled:
        return dict.fromkeys(range(count), (0,) * rank)
    array = np.array(sharding.tile_assignment_devices).reshape(sharding.tile_assignment_dimensions)
    return {int(array[index]): index[:rank] for index in np.ndindex(array.shape)}


def _cutting(axes: tuple[AxisRef, ...], mesh: Mesh) -> list[AxisRef]:
    """Axes of size one shard nothing, and tiles do not keep them."""
    return [axis for axis in axes if axis.size(mesh) > 1]


@pytest.mark.parametrize("seed", range(60))
def test_every_device_keeps_its_tile(seed: int) -> None:
    random = Random(seed)
    mesh = random_mesh(random, with_device_ids=seed % 3 == 2)
    for _ in range(10):
        sharding = random_sharding(random, mesh)
        hlo = to_hlo_sharding(sharding, mesh)
        count = mesh.device_count
        assert hlo_tiles_of(hlo, sharding.rank, count) == tiles_of(sharding, mesh), (sharding, hlo)
        back = from_hlo_sharding(hlo, mesh, sharding.rank, reference="mesh")
        assert tiles_of(back, mesh) == tiles_of(sharding, mesh), (sharding, hlo, back)
        assert _cutting(back.unreduced_axes, mesh) == _cutting(sharding.unreduced_axes, mesh)
        assert to_hlo_sharding(back, mesh) == hlo


@pytest.mark.parametrize("seed", range(30))
def test_shardings_on_the_derived_mesh_are_equivalent(seed: int) -> None:
    random = Random(seed)
    mesh = random_mesh(random)
    shardings = [random_sharding(random, mesh) for _ in range(8)]
    hlo = [to_hlo_sharding(sharding, mesh) for sharding in shardings]
    found = mesh_of_hlo_shardings(hlo)
    if found is None:
        assert not any(one.is_tiled for one in hlo)
        return
    for sharding, one in zip(shardings, hlo, strict=True):
        back = from_hlo_sharding(one, found, sharding.rank)
        assert tiles_of(back, found) == tiles_of(sharding, mesh)


def test_manual_axes() -> None:
    sharding = TensorSharding("mesh", (DimensionSharding((AxisRef("y"),), is_closed=True),))
    hlo = to_hlo_sharding(sharding, MESH, ["x"])
    assert str(hlo) == "{devices=[2,4]<=[4,2]T(1,0) last_tile_dims={manual}}"
    assert manual_axes_of(hlo, MESH) == (AxisRef("x"),)
    assert from_hlo_sharding(hlo, MESH, 1, reference="mesh") == sharding
    assert manual_axes_of(HloSharding(MANUAL), MESH) == (AxisRef("x"), AxisRef("y"))
    assert str(to_hlo_sharding(sharding, MESH, ["x", "y"])) == "{manual}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{replicated}", "<@mesh, [{}, {}]>"),
        ("{manual}", "<@mesh, [{}, {}]>"),
        ("{unknown}", "<@mesh, [{?}, {?}]>"),
        ("{unreduced}", '<@mesh, [{}, {}], unreduced={"x", "y"}>'),
        ("{devices=[8,1]<=[8]}", '<@mesh, [{"x", "y"}, {}]>'),
        ("{devices=[2,4]<=[8]}", '<@mesh, [{"x":(1)2}, {"x":(2)2, "y"}]>'),
        ("{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}", '<@mesh, [{}, {"y"}]>'),
        (
            "{devices=[1,1,4,2]<=[8] last_tile_dims={unreduced, replicated}}",
            '<@mesh, [{}, {}], unreduced={"x"}>',
        ),
        ("{devices=[2,4]0,1,2,3,4,5,6,7}", '<@mesh, [{"x":(1)2}, {"x":(2)2, "y"}]>'),
        ("{mesh['a'=8], [{'a':(1)4, ?}, {}]}", '<@mesh, [{"x", ?}, {}]>'),
        ("{mesh['x'=4,'y'=2], [{'y', ?}, {}]}", '<@mesh, [{"y", ?}, {}]>'),
        ("{maximal device=3}", "<mesh<[], device_ids=[3]>, []>"),
    ],
)
def test_forms(text: str, expected: str) -> None:
    assert str(from_hlo_sharding(hlo_sharding_from_text(text), MESH, 2, reference="mesh")) == expected


def test_a_mesh_without_axes() -> None:
    sharding = TensorSharding("mesh", ())
    assert str(to_hlo_sharding(sharding, Mesh((), (5,)))) == "{maximal device=5}"
    assert str(to_hlo_sharding(sharding, Mesh())) == "{replicated}"


def test_a_mesh_of_one_device() -> None:
    sharding = TensorSharding("mesh", (DimensionSharding((AxisRef("x"),)),))
    assert str(to_hlo_sharding(sharding, Mesh.of(x=1, y=1))) == "{replicated}"
    assert str(to_hlo_sharding(sharding, Mesh.of(x=1, y=1), ["y"])) == "{replicated}"


def test_named() -> None:
    sharding = TensorSharding("mesh", (DimensionSharding((AxisRef("y"),), priority=1),), (AxisRef("x"),))
    named = to_named_hlo_sharding(sharding, MESH)
    assert str(named) == "{mesh['x'=4,'y'=2], [{'y', ?}], replicated={'x'}}"
    plain = replace(sharding, dimensions=(DimensionSharding((AxisRef("y"),)),))
    assert from_hlo_sharding(named, MESH, 1, reference="mesh") == plain


@pytest.mark.parametrize(
    ("text", "rank", "message"),
    [
        ("{devices=[8]<=[8]}", 2, "expected rank 2 of the tensor, got rank 1"),
        ("{devices=[4]<=[4]}", 1, 'expected 8 devices of the mesh <["x"=4, "y"=2]>, got 4'),
        ("{devices=[2,4]3,1,2,0,4,5,6,7}", 2, "is not an order of axes or sub-axes of the mesh"),
        ("{{replicated}}", 1, "expected one sharding, got the tuple {{replicated}}; convert its elements"),
        ("{mesh['x'=8], [{'x'}]}", 2, "expected rank 2 of the tensor, got rank 1"),
    ],
)
def test_shardings_not_representable_along_axes(text: str, rank: int, message: str) -> None:
    with pytest.raises(ShardyError) as error:
        from_hlo_sharding(hlo_sharding_from_text(text), MESH, rank)
    assert message in str(error.value)


@pytest.mark.parametrize("reduction", ["sum", "max", "min"])
@pytest.mark.parametrize("to_hlo", [to_hlo_sharding, to_named_hlo_sharding])
def test_reductions_beside_manual_axes(reduction: str, to_hlo: Callable[..., HloSharding]) -> None:
    dimensions = (DimensionSharding(is_closed=True),)
    sharding = TensorSharding("mesh", dimensions, (), (AxisRef("x"),), reduction)
    hlo = to_hlo(sharding, MESH, ["y"])
    again = (
        hlo_sharding_from_text(hlo.text(include_metadata=True)),
        hlo_sharding_from_proto(hlo_sharding_to_proto(hlo)),
    )
    for one in (hlo, *again):
        assert one == hlo
        assert from_hlo_sharding(one, MESH, 1, reference="mesh") == sharding
        assert manual_axes_of(one, MESH) == (AxisRef("y"),)


def test_manual_axes_on_another_mesh() -> None:
    named = hlo_sharding_from_text("{mesh['a'=2,'b'=4], [{}], manual={'b'}}")
    assert manual_axes_of(named, Mesh.of(p=2, q=2, r=2)) == (AxisRef("q"), AxisRef("r"))


def test_axes_that_the_mesh_lacks() -> None:
    with pytest.raises(ShardyError, match="dimension 0: unknown axis 'z': expected one of 'x', 'y'"):
        to_hlo_sharding(TensorSharding("mesh", (DimensionSharding((AxisRef("z"),)),)), MESH)


def test_no_common_mesh() -> None:
    texts = ("{devices=[2,3]<=[6]}", "{devices=[3,2]<=[6]}")
    with pytest.raises(ShardyError, match="not representable on one mesh"):
        mesh_of_hlo_shardings(map(hlo_sharding_from_text, texts))
    texts = ("{devices=[2]<=[2]}", "{devices=[4]<=[4]}")
    with pytest.raises(ShardyError, match=r"expected 2 devices, as of .*, got 4"):
        mesh_of_hlo_shardings(map(hlo_sharding_from_text, texts))


def test_the_order_of_devices_is_recovered() -> None:
    mesh = mesh_of_hlo_shardings([hlo_sharding_from_text("{devices=[2,2]3,1,2,0}")])
    assert mesh == Mesh((MeshAxis("_axis_0", 2), MeshAxis("_axis_1", 2)), (3, 1, 2, 0))


def test_the_order_of_devices_is_recovered_among_many_lists_with_replicas() -> None:
    ids = tuple(Random(0).sample(range(16), 16))
    mesh = Mesh(Mesh.of(a=2, b=2, c=2, d=2).axes, ids)
    names = ["".join(order) for order in permutations("abcd", 3)] + ["abcd"]
    given = [TensorSharding("mesh", (DimensionSharding(tuple(map(AxisRef, axes))),)) for axes in names]
    hlo = [to_hlo_sharding(sharding, mesh) for sharding in given]
    found = mesh_of_hlo_shardings(hlo)
    assert found is not None
    for sharding, one in zip(given, hlo, strict=True):
        assert tiles_of(from_hlo_sharding(one, found, sharding.rank), found) == tiles_of(sharding, mesh)
