"""Uneven shards of plans against those that `fully_shard` gives each rank of a fake process group."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
distributed = pytest.importorskip("torch.distributed")
fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
tensors = pytest.importorskip("torch.distributed.tensor")
parallel = pytest.importorskip("torch.distributed.tensor.parallel")
fsdp = pytest.importorskip("torch.distributed.fsdp")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, Options, ShardyError, propagate
from shardy_py.frontends.torch import FullyShard, TensorParallel, from_exported, placements_of
from tests.frontends.planned_models import column
from tests.frontends.torch_models import exported

pytestmark = pytest.mark.torch

Shard, Strided = tensors.Shard, tensors.placement_types._StridedShard


def shards_of_fsdp(rows: int, rank: int, *, is_column: bool) -> tuple[int, ...]:
    """The sizes of the shard that FSDP2 gives a rank of 4: the whole mesh, or 2 x 2 behind columns."""
    distributed.init_process_group("fake", store=fake.FakeStore(), rank=rank, world_size=4)
    try:
        sizes = (2, 2) if is_column else (4, 1)
        mesh = distributed.init_device_mesh("cpu", sizes, mesh_dim_names=("dp", "tp"))
        model = torch.nn.Linear(4, rows, bias=False)
        if is_column:
            parallel.parallelize_module(model, mesh["tp"], column())
        fsdp.fully_shard(model, mesh=mesh["dp"])
        return tuple(model.weight.to_local().shape)
    finally:
        distributed.destroy_process_group()


@pytest.mark.parametrize("rows", [1, 3, 5, 8, 10, 17])
def test_each_rank_has_the_rows_that_fully_shard_gives_it(rows: int) -> None:
    graph = exported(torch.nn.Linear(4, rows, bias=False), (torch.randn(2, 4),))
    uneven = Options(update_non_divisible_input_output_shardings=False)
    weight = propagate(from_exported(graph, Mesh.of(dp=4), plan=FullyShard("dp")), uneven)["weight"]
    assert weight.sharding is not None
    sizes = weight.sharding.device_slices((rows, 4)).sizes.tolist()
    theirs = [shards_of_fsdp(rows, rank, is_column=False) for rank in range(4)]
    assert [size[0] for size in sizes] == [shard[0] if shard else 0 for shard in theirs]


@pytest.mark.parametrize("rows", [5, 6, 7, 8, 10])
def test_uneven_rows_of_two_dimensions_are_padded_to_the_size_of_torch(rows: int) -> None:
    graph = exported(torch.nn.Linear(4, rows, bias=False), (torch.randn(2, 4),))
    plan = [TensorParallel("tp", {"": column()}, uneven=True), FullyShard("dp")]
    uneven = Options(update_non_divisible_input_output_shardings=False)
    result = propagate(from_exported(graph, Mesh.of(dp=2, tp=2), plan=plan), uneven)
    theirs = [shards_of_fsdp(rows, rank, is_column=True)[0] for rank in range(4)]
    weight = result["weight"]
    assert weight.sharding is not None
    assert weight.local_shape == (max(theirs), 4)
    if weight.sharding.device_slices((rows, 4)).sizes[:, 0].tolist() == theirs:
        assert placements_of(result)["weight"] == (Strided(0, split_factor=2), Shard(0))
    else:
        with pytest.raises(ShardyError, match=f"weight: dimension 0 of size {rows} is split unevenly by 2"):
            placements_of(result)["weight"]
