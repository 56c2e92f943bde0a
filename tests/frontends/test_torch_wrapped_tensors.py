"""Weights that are tensors around others, as torchao's quantized ones: the others are arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
parallel = pytest.importorskip("torch.distributed.tensor.parallel")

# ruff: noqa: E402
from shardy_py import Mesh, P, Program, ShardyError, propagate
from shardy_py.frontends.torch import FullyShard, TensorParallel, from_exported, from_module, launches

pytestmark = pytest.mark.torch
nn, F, aten = torch.nn, torch.nn.functional, torch.ops.aten
X = torch.randn(4, 3, 8)
MESH = Mesh.of(dp=2, tp=4)


class Rows(torch.Tensor):
    """Rows of 8 bits, with a scale for each."""

    @staticmethod
    def __new__(cls, rows: Any, scale: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, rows.shape, dtype=scale.dtype)

    def __init__(self, rows: Any, scale: Any) -> None:
        self.rows, self.scale = rows, scale

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["rows", "scale"], None

    @staticmethod
    def __tensor_unflatten__(inner: Any, metadata: Any, size: Any, stride: Any) -> Any:
        return Rows(inner["rows"], inner["scale"])

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.linear:
            x, weight, bias = args
            return x @ weight.rows.t().to(x.dtype) * weight.scale[:, 0] + bias
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert func in (aten.detach.default, aten.alias.default, aten.clone.default)
        return Rows(args[0].rows, args[0].scale)


class Quantized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)
        for layer in (self.up, self.down):
            scale = layer.weight.detach().abs().amax(1, keepdim=True) / 127
            rows = (layer.weight.detach() / scale).round().to(torch.int8)
            layer.weight = nn.Parameter(Rows(rows, scale), requires_grad=False)

    def forward(self, x: Any) -> Any:
        return self.down(self.up(x).relu())


def test_the_tensors_in_weights_are_arguments() -> None:
    model = Quantized()
    exported = torch.export.export(model, (X,))
    names, before = [*exported.state_dict], str(exported.graph)
    program = from_exported(exported)
    given = {
        "x": X,
        **{f"{n}.bias": getattr(model, n).bias for n in ("up", "down")},
        **{f"{n}.weight.rows": getattr(model, n).weight.rows for n in ("up", "down")},
        **{f"{n}.weight.scale": getattr(model, n).weight.scale for n in ("up", "down")},
    }
    arguments = program.values.arguments()
    assert {value.label for value in arguments} == {*given}
    assert program["up.weight.rows"].element_type == "i8"
    found = program.run([given[value.label].detach().numpy() for value in arguments])
    np.testing.assert_allclose(found["output"], model(X).detach(), rtol=1e-5, atol=1e-6)
    assert ([*exported.state_dict], str(exported.graph)) == (names, before)


def test_plans_shard_the_tensors_in_weights() -> None:
    styles = {"up": parallel.ColwiseParallel(), "down": parallel.RowwiseParallel()}
    plan = [TensorParallel("tp", styles), FullyShard("dp", ("up", "down", ""))]
    result = propagate(from_module(Quantized(), (X,), mesh=MESH, plan=plan, shardings={"x": P("dp")}))
    expected = {
        "up.weight.rows": '[{"tp", "dp"}, {}]',
        "up.weight.scale": '[{"tp", "dp"}, {}]',
        "down.weight.rows": '[{"dp"}, {"tp"}]',
        "down.weight.scale": '[{"dp"}, {}]',
    }
    assert {name: str(result[name].sharding) for name in expected} == {
        name: f"<@mesh, {spec}>" for name, spec in expected.items()
    }
    assert launches(result.communication(), plan) == {"all_gather": 2, "all_reduce": 1}


def test_training_steps_take_plain_weights_only() -> None:
    message = r"up.weight: expected a plain tensor, got Rows; .* parametrizations"
    with pytest.raises(ShardyError, match=message):
        Program.from_torch_training(Quantized(), lambda y: y.sum(), None, (X,))
