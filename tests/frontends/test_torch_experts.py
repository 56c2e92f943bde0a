"""Mixture-of-experts models under expert parallelism: what grouped products and products by batch send."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
tensors = pytest.importorskip("torch.distributed.tensor")
parallel = pytest.importorskip("torch.distributed.tensor.parallel")

# Models are made with torch, so their imports come behind that line.
# ruff: noqa: E402
from shardy_py import Mesh, P, Program, ShardyError, propagate
from shardy_py.frontends.torch import TensorParallel, from_exported, from_module, placements_of
from tests.frontends.torch_models import exported

pytestmark = pytest.mark.torch

nn, F = torch.nn, torch.nn.functional
Shard, Replicate = tensors.Shard, tensors.Replicate
MESH = Mesh.of(dp=2, ep=4)
TOKENS, EXPERTS, SIZE, WIDTH = 64, 8, 32, 128


class Experts(nn.Module):
    """Weights of experts; `forward` gets tokens in the order of their experts, and where each one ends."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Parameter(torch.randn(EXPERTS, SIZE, WIDTH, dtype=torch.bfloat16))
        self.down = nn.Parameter(torch.randn(EXPERTS, WIDTH, SIZE, dtype=torch.bfloat16))

    def forward(self, x: Any, ends: Any) -> Any:
        return torch._grouped_mm(F.silu(torch._grouped_mm(x, self.up, offs=ends)), self.down, offs=ends)


class Capacity(nn.Module):
    """Each expert has as many tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = Experts()

    def forward(self, x: Any) -> Any:
        return torch.bmm(F.silu(torch.bmm(x, self.experts.up)), self.experts.down)


def grouped(**dimensions: int) -> Program:
    """The grouped products with weights sharded along `ep` on these dimensions, tokens along `dp`."""
    x = torch.randn(TOKENS, SIZE, dtype=torch.bfloat16)
    ends = torch.arange(TOKENS // EXPERTS, TOKENS + 1, TOKENS // EXPERTS, dtype=torch.int32)
    shardings = {name: [Replicate(), Shard(d)] for name, d in dimensions.items()}
    return from_exported(exported(Experts(), (x, ends)), MESH, shardings)


def sent(program: Program) -> list[tuple[str, tuple[Any, ...], int]]:
    report = propagate(program).communication(partitioner="shardy")
    return [(use.kind, use.axes, use.cost.bytes) for use in report.sending]


def test_grouped_products_gather_the_weights_of_experts() -> None:
    weights = 2 * EXPERTS * SIZE * WIDTH
    gathers = [bytes for kind, axes, bytes in sent(grouped(up=0, down=0)) if bytes > 1000]
    assert gathers == [weights * 3 // 4] * 2


def test_grouped_products_keep_columns_and_add_up_contracted_dimensions() -> None:
    program = grouped(up=2)
    result = propagate(program)
    assert placements_of(result)["down"] == (Replicate(), Shard(1))
    assert sent(program) == [("all_reduce", (("ep", 4),), 2 * 2 * TOKENS * SIZE * 3 // 4)]


def test_products_by_batch_keep_experts() -> None:
    x = torch.randn(EXPERTS, TOKENS // EXPERTS, SIZE, dtype=torch.bfloat16)
    program = from_exported(exported(Capacity(), (x,)), MESH, {"experts.up": [Replicate(), Shard(0)]})
    assert placements_of(propagate(program))["experts.down"] == (Replicate(), Shard(0))
    assert sent(program) == []


class ExpertParallel(parallel.ParallelStyle):
    """Stands for torchtitan's style of that name."""

    def _partition_fn(self, name: str, module: Any, mesh: Any) -> None: ...

    def _apply(self, module: Any, mesh: Any) -> Any:
        return module


class OnEightBits(ExpertParallel):
    """A subclass that shards parameters as its base."""


class ByColumns(ExpertParallel):
    """A subclass that shards them in another way."""

    def _partition_fn(self, name: str, module: Any, mesh: Any) -> None: ...


class Batched(Experts):
    """Experts of which each gets as many tokens."""

    def forward(self, x: Any, ends: Any = None) -> Any:
        return torch.bmm(F.silu(torch.bmm(x, self.up)), self.down)


class Mixture(nn.Module):
    """All experts on all tokens, weighted."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.router = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, EXPERTS, bias=False)
        self.experts = Batched().float()

    def forward(self, x: Any) -> Any:
        x = self.inner(x)
        out = self.experts(x.expand(EXPERTS, -1, -1))
        return torch.einsum("te,etd->td", self.router(x).softmax(-1), out)


def placed(style: Any, mesh: Mesh = MESH) -> Program:
    plan, shardings = TensorParallel("ep", {"experts": style}), {"x": P(("dp", "ep"))}
    return from_module(Mixture(), (torch.randn(TOKENS, SIZE),), mesh=mesh, plan=plan, shardings=shardings)


@pytest.mark.parametrize("style", [ExpertParallel(), OnEightBits()])
def test_a_style_keeps_experts_on_their_devices(style: Any) -> None:
    program = placed(style)
    found = placements_of(propagate(program))
    assert found["experts.up"] == found["experts.down"] == (Replicate(), Shard(0))
    kinds = [(kind, axes) for kind, axes, _ in sent(program)]
    assert ("all_to_all", (("ep", 4),)) in kinds


def test_styles_of_experts_that_are_others_are_errors() -> None:
    with pytest.raises(ShardyError, match=r"ByColumns of .* unsupported; use one of .*torchtitan's ExpertP"):
        placed(ByColumns())
    with pytest.raises(
        ShardyError, match=r"ExpertParallel along .* 5 devices divide, got dimension 0 of size"
    ):
        placed(ExpertParallel(), Mesh.of(dp=2, ep=5))


def test_suggestions_name_experts_that_stay() -> None:
    net = Mixture()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(8 * TOKENS, SIZE)
    step = Program.from_torch_training(net, lambda y: y.square().mean(), optimizer, (x,), mesh=MESH)
    found = {plan.name: plan.code("torch") for plan in step.suggest(tries=8).schemes}
    assert 'along ep: {"experts": ExpertParallel()}' in found["expert parallel"]
    assert "router" not in found["expert parallel"].partition("# weights")[0]
    assert "ExpertParallel" not in found["FSDP"] + found["data parallel"]


class Gradients(nn.Module):
    """The gradients of a grouped product, by the op of transformers."""

    def forward(self, x: Any, weight: Any, ends: Any, gradient: Any) -> Any:
        return torch.ops.transformers.grouped_mm_fallback_backward(x, weight, ends, gradient)


@pytest.fixture
def gradients_op() -> Any:
    """The op as transformers defines it, without the package."""
    if hasattr(torch.ops.transformers, "grouped_mm_fallback_backward"):
        return None
    library = torch.library.Library("transformers", "FRAGMENT")
    name = "grouped_mm_fallback_backward"
    library.define(
        f"{name}(Tensor input, Tensor weight, Tensor offs, Tensor grad_output) -> (Tensor, Tensor)"
    )
    library.impl(name, lambda x, w, ends, g: (torch.empty_like(x), torch.empty_like(w)), "Meta")
    return library


@pytest.mark.usefixtures("gradients_op")
def test_gradients_of_grouped_products_are_those_of_each_group() -> None:
    x, weight, gradient = torch.randn(10, 3), torch.randn(4, 3, 5), torch.randn(10, 5)
    ends = torch.tensor([4, 4, 7, 10], dtype=torch.int32)
    program = from_exported(torch.export.export(Gradients(), (x, weight, ends, gradient)))
    of_x, of_weight = program.run([each.numpy() for each in (x, weight, ends, gradient)]).arrays
    rows = [slice(start, end) for start, end in zip([0, 4, 4, 7], ends.tolist(), strict=True)]
    expected = torch.cat([gradient[part] @ w.T for part, w in zip(rows, weight, strict=True)])
    assert np.allclose(of_x, expected.numpy(), atol=1e-5)
    expected = torch.stack([x[part].T @ gradient[part] for part in rows])
    assert np.allclose(of_weight, expected.numpy(), atol=1e-5)
