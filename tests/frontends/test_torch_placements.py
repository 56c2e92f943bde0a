"""Placements against torch's own cutting of tensors, on every device."""

from __future__ import annotations

import random
from itertools import permutations, product
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shardy_py import Mesh, P, Sharding, ShardyError, dim
from shardy_py.frontends.torch.placements import from_placements, mesh_of, to_placements

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
types = pytest.importorskip("torch.distributed.tensor.placement_types")
dtensor = pytest.importorskip("torch.distributed.tensor._utils")

pytestmark = pytest.mark.torch

Shard, Replicate, Partial, Strided = types.Shard, types.Replicate, types.Partial, types._StridedShard
MESH = Mesh.of(dp=2, tp=4)


def device_mesh(ranks: Any, names: Any = None) -> Any:
    """What `mesh_of` reads of a DeviceMesh, without a process group."""
    return SimpleNamespace(mesh=torch.tensor(ranks), mesh_dim_names=names)


def held(mesh: Mesh, placements: Any, shape: tuple[int, ...]) -> list[Any]:
    """The numbers of the elements that each device holds, cut by torch's `_split_tensor`."""
    found = []
    sizes = [axis.size for axis in mesh.axes]
    for coordinate in product(*map(range, sizes)):
        part = torch.arange(prod(shape)).reshape(shape)
        for size, index, placement in zip(sizes, coordinate, placements, strict=True):
            if isinstance(placement, Shard | Strided):
                pieces, _ = placement._split_tensor(part, size, with_padding=False, contiguous=False)
                part = pieces[index]
        found.append(part.numpy())
    return found


def same_on_every_device(mesh: Mesh, placements: Any, shape: tuple[int, ...], sharding: Sharding) -> bool:
    whole = np.arange(prod(shape)).reshape(shape)
    slices = sharding.device_slices(shape)
    parts = [
        whole[tuple(slice(o, o + s) for o, s in zip(offset, size, strict=True))]
        for offset, size in zip(slices.offsets.tolist(), slices.sizes.tolist(), strict=True)
    ]
    theirs = held(mesh, placements, shape)
    return all(
        a.shape == b.shape or (a.size == b.size == 0) for a, b in zip(parts, theirs, strict=True)
    ) and all(np.array_equal(a.ravel(), b.ravel()) for a, b in zip(parts, theirs, strict=True))


def random_case(rng: random.Random, *, even: bool) -> tuple[Mesh, tuple[Any, ...], tuple[int, ...]]:
    mesh = Mesh.of({f"m{i}": rng.choice([1, 2, 2, 3, 4]) for i in range(rng.randint(1, 3))})
    rank = rng.randint(1, 3)
    placements: list[Any] = []
    later = [1] * rank
    for axis in reversed(mesh.axes):
        number = rng.randrange(rank)
        factors = [f for f in range(1, later[number] + 1) if later[number] % f == 0]
        match rng.choice(["replicate", "partial", "shard", "strided", "strided"]):
            case "shard":
                placements.append(Shard(number))
                later[number] *= axis.size
            case "strided":
                placements.append(Strided(number, split_factor=rng.choice(factors)))
                later[number] *= axis.size
            case "partial":
                placements.append(Partial())
            case _:
                placements.append(Replicate())
    shape = tuple(parts * rng.randint(1, 3) if even else rng.randint(1, 17) for parts in later)
    return mesh, tuple(reversed(placements)), shape


@pytest.mark.parametrize("seed", range(8))
def test_even_splits_are_those_of_torch_on_every_device(seed: int) -> None:
    rng = random.Random(seed)
    done = 0
    while done < 50:
        mesh, placements, shape = random_case(rng, even=True)
        try:
            sharding = from_placements(mesh, placements, shape)
        except ShardyError as error:
            if "not adjacent" not in str(error):
                raise
            continue
        done += 1
        assert same_on_every_device(mesh, placements, shape, sharding), (mesh, placements, shape)
        again = to_placements(sharding, shape)
        assert from_placements(mesh, again, shape) == sharding, (mesh, placements, again)
        assert held_equal(mesh, placements, again, shape), (mesh, placements, again)


def held_equal(mesh: Mesh, one: Any, other: Any, shape: tuple[int, ...]) -> bool:
    pairs = zip(held(mesh, one, shape), held(mesh, other, shape), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("seed", range(4))
def test_uneven_splits_are_equal_or_errors_and_errors_only_if_they_differ(seed: int) -> None:
    rng = random.Random(100 + seed)
    refused = 0
    for _ in range(150):
        mesh, placements, shape = random_case(rng, even=False)
        try:
            sharding = from_placements(mesh, placements, shape)
        except ShardyError as error:
            if "split unevenly" in str(error):
                refused += 1
                even = tuple(size * 64 * 27 for size in shape)
                same = from_placements(mesh, placements, even)
                assert not same_on_every_device(mesh, placements, shape, same), (mesh, placements, shape)
            continue
        assert same_on_every_device(mesh, placements, shape, sharding), (mesh, placements, shape)
    assert refused > 5


def test_local_shapes_and_offsets_of_dtensor() -> None:
    rng = random.Random(7)
    for _ in range(200):
        mesh, placements, shape = random_case(rng, even=True)
        try:
            slices = from_placements(mesh, placements, shape).device_slices(shape)
        except ShardyError:
            continue
        sizes = [axis.size for axis in mesh.axes]
        for device, coordinate in enumerate(product(*map(range, sizes))):
            local, offset = dtensor._compute_local_shape_and_global_offset(
                shape, sizes, list(coordinate), placements
            )
            assert tuple(local) == tuple(slices.sizes[device].tolist())
            assert tuple(offset) == tuple(slices.offsets[device].tolist())


def test_mesh_order_makes_axes_major_to_minor_and_strides_turn_them_around() -> None:
    sharding = from_placements(MESH, (Shard(0), Shard(0)), (16, 3))
    assert str(sharding) == '<@mesh, [{"dp", "tp"}, {}]>'
    fsdp = from_placements(MESH, (Strided(-2, split_factor=4), Shard(0)), (16, 3))
    assert str(fsdp) == '<@mesh, [{"tp", "dp"}, {}]>'
    assert to_placements(fsdp) == (Strided(0, split_factor=4), Shard(0))


def test_a_split_factor_inside_a_mesh_dimension_makes_parts_of_its_axis() -> None:
    placements = (Strided(0, split_factor=2), Shard(0))
    sharding = from_placements(MESH, placements, (16,))
    assert str(sharding) == '<@mesh, [{"tp":(1)2, "dp", "tp":(2)2}]>'
    assert to_placements(sharding) == placements


def test_uneven_splits_of_long_dimensions_are_compared_without_enumeration() -> None:
    size = 7 * 10**12 + 1
    with pytest.raises(ShardyError, match=r"at dp=0, tp=3, DTensor holds \[2625000000003:3500000000001\]"):
        from_placements(MESH, (Shard(0), Shard(0)), (size,))
    assert from_placements(MESH, (Shard(0), Replicate()), (size,)).local_shape((size,)) == (size // 2 + 1,)


def test_partial_values_are_unreduced_axes() -> None:
    sharding = from_placements(MESH, (Partial("max"), Shard(1)), (3, 8))
    assert str(sharding) == '<@mesh, [{}, {"tp"}], unreduced=max{"dp"}>'
    assert to_placements(sharding) == (Partial("max"), Shard(1))


def test_what_placements_cannot_express_is_left_out() -> None:
    assert to_placements(Sharding(MESH, P(dim("dp", open=True, priority=2), replicated={"tp"}))) == (
        Shard(0),
        Replicate(),
    )


def test_meshes() -> None:
    assert mesh_of(device_mesh([[0, 1], [2, 3]], ("a", "b"))) == Mesh.of(a=2, b=2)
    assert mesh_of(device_mesh([[0, 2], [1, 3]])) == Mesh.of(
        mesh_dim_0=2, mesh_dim_1=2, device_ids=[0, 2, 1, 3]
    )
    with pytest.raises(ShardyError, match=r"expected a Mesh such as .*, or a DeviceMesh of torch, got 8"):
        mesh_of(8)


def test_slices_of_meshes_are_meshes_of_their_own() -> None:
    assert (
        mesh_of(device_mesh([4, 5, 6, 7], ("tp",)))
        == mesh_of(device_mesh([0, 2, 4, 6], ("tp",)))
        == Mesh.of(tp=4)
    )
    assert mesh_of(device_mesh([[3, 7], [1, 5]], ("a", "b"))) == Mesh.of(a=2, b=2, device_ids=[1, 3, 0, 2])


class Masked(Partial):
    """A partial value of more than a reduction."""


REFUSED = [
    (Shard(0), (8,), r"expected a list of placements, got Shard\(dim=0\)"),
    ((Shard(0), Replicate()), 8, "expected the shape of the tensor, got 8"),
    ((Shard(0),), (8,), "expected one for each of the 2 dimensions of the mesh"),
    ((Shard(2), Replicate()), (8, 8), "a tensor of rank 2: expected -2 to 1"),
    ((Shard(0), "x"), (8,), "expected a placement .* got 'x'"),
    ((Partial("avg"), Replicate()), (8,), "expected a reduction by sum, max or min, got avg; redistribute"),
    ((Masked(), Replicate()), (8,), "Partial with a mask or a norm"),
    ((Partial("sum"), Partial("max")), (8,), "expected one reduction for all unreduced axes, got max, sum"),
    ((Shard(0), Strided(0, split_factor=2)), (8,), "'tp' splits each of 2 parts, but later .* make 1 of"),
    ((Strided(0, split_factor=8), Shard(0)), (8,), "'dp' splits each of 8 parts, but later .* make 4 of"),
    ((Shard(0), Shard(0)), (9,), r"at dp=0, tp=2, DTensor holds \[4:5\], sdy \[4:6\]; make .* multiple of 8"),
]


@pytest.mark.parametrize(("placements", "shape", "message"), REFUSED)
def test_placements_that_sdy_cannot_express(placements: Any, shape: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        from_placements(MESH, placements, shape)


@pytest.mark.parametrize(
    ("mesh", "spec", "message"),
    [
        (Mesh(device_ids=(3,)), P(), "on a maximal mesh"),
        (MESH, P("tp:(1)2"), "dimension 0 of .* uses a sub-axis of 'tp', which DTensor cannot express"),
        (MESH, P("tp:(1)2", "tp:(2)2"), "has the sub-axes of 'tp' as dimensions"),
        (MESH, P(None, unreduced={"tp:(1)2"}), "unreduced of .* uses a sub-axis of 'tp'"),
    ],
)
def test_shardings_that_dtensor_cannot_express(mesh: Mesh, spec: P, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        to_placements(Sharding(mesh, spec))


def test_placements_need_a_sharding() -> None:
    with pytest.raises(ShardyError, match=r"expected a Sharding, got P\('tp'\); of a P\(\.\.\.\): Sharding"):
        to_placements(P("tp"))  # pyright: ignore[reportArgumentType]


def test_orders_of_mesh_dimensions_have_the_placements_of_torch() -> None:
    spec = pytest.importorskip("torch.distributed.tensor._dtensor_spec")
    if not hasattr(spec.DTensorSpec, "_convert_shard_order_to_StridedShard"):
        pytest.skip("this release of torch has no orders of mesh dimensions")
    names, sizes = ("a", "b", "c"), (2, 3, 4)
    mesh, theirs = Mesh.of(dict(zip(names, sizes, strict=True))), SimpleNamespace(size=lambda d: sizes[d])
    for count in (1, 2, 3):
        for order in permutations(range(3), count):
            plain = tuple(Shard(0) if d in order else Replicate() for d in range(3))
            entry = spec.ShardOrderEntry(0, order)
            placements = spec.DTensorSpec._convert_shard_order_to_StridedShard((entry,), plain, theirs)
            sharding = Sharding(mesh, P(tuple(names[d] for d in order)))
            assert to_placements(sharding) == tuple(placements)
            assert from_placements(mesh, placements, (24,)) == sharding


def test_uneven_splits_to_placements_are_errors() -> None:
    sharding = Sharding(MESH, P(("dp", "tp")))
    assert to_placements(sharding, (16,)) == (Shard(0), Shard(0))
    with pytest.raises(ShardyError, match="split unevenly by 2 mesh dimensions"):
        to_placements(sharding, (9,))


def test_device_meshes_and_dtensors_of_torch() -> None:
    """With a process group that talks to nobody: DTensor's own local shapes, and offsets, of every rank."""
    distributed = pytest.importorskip("torch.distributed")
    fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    tensors = pytest.importorskip("torch.distributed.tensor")
    for rank in range(8):
        distributed.init_process_group("fake", store=fake.FakeStore(), rank=rank, world_size=8)
        try:
            device_mesh = distributed.init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
            assert mesh_of(device_mesh) == MESH
            for placements in (
                (Shard(0), Shard(0)),
                (Shard(1), Replicate()),
                (Strided(0, split_factor=4), Shard(0)),
            ):
                tensor = tensors.DTensor.from_local(
                    torch.zeros(2, 3), device_mesh, placements, run_check=False
                )
                shape = tuple(tensor.shape)
                sharding = from_placements(device_mesh, tensor.placements, shape)
                local, offset = dtensor.compute_local_shape_and_global_offset(shape, device_mesh, placements)
                part = sharding.device_slices(shape).of(rank)
                assert part is not None
                assert (part.size, part.offset) == (tuple(local), tuple(offset))
                assert to_placements(sharding, shape) == tensor.placements
            assert mesh_of(device_mesh["tp"]) == Mesh.of(tp=4)
            assert mesh_of(device_mesh["dp"]) == Mesh.of(dp=2)
        finally:
            distributed.destroy_process_group()
