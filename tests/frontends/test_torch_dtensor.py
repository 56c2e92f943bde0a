"""Propagated models against DTensor itself, which decides op by op, on 8 ranks that talk to nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import propagate
from shardy_py.frontends.torch import from_exported, placements_of
from tests.frontends.test_torch_nodes import Call
from tests.frontends.torch_models import MLP, Transformer, exported

distributed = pytest.importorskip("torch.distributed")
fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
tensors = pytest.importorskip("torch.distributed.tensor")
parallel = pytest.importorskip("torch.distributed.tensor.parallel")
debug = pytest.importorskip("torch.distributed.tensor.debug")

pytestmark = pytest.mark.torch

Shard, Replicate = tensors.Shard, tensors.Replicate
column, row = parallel.ColwiseParallel, parallel.RowwiseParallel
F = torch.nn.functional


@pytest.fixture
def device_mesh() -> Iterator[Any]:
    distributed.init_process_group("fake", store=fake.FakeStore(), rank=0, world_size=8)
    try:
        yield distributed.init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
    finally:
        distributed.destroy_process_group()


def parallelized(model: Any, device_mesh: Any, plan: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The placements that torch gives the parameters of a plan, on both dimensions of the mesh."""
    parallel.parallelize_module(model, device_mesh["tp"], plan)
    return {
        name: (Replicate(), *parameter.placements)
        for name, parameter in model.named_parameters()
        if isinstance(parameter, tensors.DTensor)
    }


def columns_of(placements: dict[str, Any]) -> dict[str, Any]:
    return {name: p for name, p in placements.items() if p[1] == Shard(0) and name.endswith("weight")}


def test_weights_come_out_as_parallelize_module_shards_them(device_mesh: Any) -> None:
    plan = {f"layers.*.attention.{name}": column() for name in ("q", "k", "v")}
    plan |= {"layers.*.attention.o": row(), "layers.*.mlp.up": column(), "layers.*.mlp.down": row()}
    theirs = parallelized(Transformer(layers=1), device_mesh, plan)
    graph = exported(Transformer(layers=1), (torch.randint(0, 32, (4, 6)),))
    ours = placements_of(propagate(from_exported(graph, device_mesh, columns_of(theirs))))
    assert {name: ours[name] for name in theirs} == theirs
    assert len(theirs) == 6 + 6


def test_as_many_all_reduces_follow_as_torch_makes(device_mesh: Any) -> None:
    x, model = torch.randn(8, 12, 16), MLP()
    graph = exported(model, (x,))
    theirs = parallelized(model, device_mesh, {"up": column(), "down": row()})
    with debug.CommDebugMode() as made:
        model(x).sum()  # waits for what is under way
    result = propagate(from_exported(graph, device_mesh, columns_of(theirs)))
    uses = result.communication().collectives
    assert [(use.kind, use.axes) for use in uses] == [("all_reduce", (("tp", 4),))] * made.get_total_counts()


OPS: list[tuple[Callable[[Any], Any], tuple[int, ...], tuple[Any, Any]]] = [
    (lambda x: x.softmax(-1), (16, 32), (Shard(0), Replicate())),
    (lambda x: x + x[0], (16, 32), (Replicate(), Shard(1))),
    (lambda x: x.transpose(0, 1), (16, 32), (Shard(0), Shard(1))),
    (lambda x: x.view(16, 8, 4), (16, 32), (Shard(0), Shard(1))),
    (lambda x: F.layer_norm(x, (32,)), (16, 8, 32), (Shard(0), Shard(1))),
    (lambda x: torch.cat([x, 2 * x], 1), (16, 8), (Shard(0), Replicate())),
    (lambda x: x @ x.mT, (8, 16, 4), (Shard(0), Replicate())),
    (lambda x: x * 2, (16, 32), (Shard(0), Shard(0))),
    (lambda x: F.gelu(x).mean(2), (8, 4, 6), (Shard(1), Shard(0))),
]


@pytest.mark.parametrize(("function", "shape", "placements"), OPS)
def test_results_lie_as_those_of_dtensor(
    device_mesh: Any, function: Any, shape: tuple[int, ...], placements: Any
) -> None:
    x = torch.randn(shape)
    theirs = function(tensors.distribute_tensor(x, device_mesh, placements))
    result = propagate(from_exported(exported(Call(function), (x,)), device_mesh, {"x": placements}))
    assert placements_of(result)["output"] == theirs.placements
    assert result["output"].local_shape == tuple(theirs.to_local().shape)
