"""Control flow, numbers read from tensors, checks and flex attention of exported graphs: torch's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# ruff: noqa: E402
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops.map import map as mapped
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.utils.checkpoint import checkpoint

from shardy_py import Mesh, P, Program, ShardyError, propagate
from shardy_py.frontends.torch import from_exported

pytestmark = pytest.mark.torch


class Model(torch.nn.Module):
    """A function of the model's layer and the inputs."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function, self.layer = function, torch.nn.Linear(4, 4)

    def forward(self, *inputs: Any) -> Any:
        return self.function(self.layer, *inputs)


def program_and_arrays(function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Program, Any, Any]:
    """The program, the arrays of its arguments, and what torch computes."""
    torch.manual_seed(0)
    torch._dynamo.reset()  # else sizes that differ from those of an earlier test are dynamic
    model = Model(function).requires_grad_(False)
    exported = torch.export.export(model, inputs)
    program, state, left = from_exported(exported), exported.state_dict, iter(inputs)
    tensors = [state[v.label] if v.label in state else next(left) for v in program.values.arguments()]
    found = [t for t in torch.utils._pytree.tree_leaves(model(*inputs)) if isinstance(t, torch.Tensor)]
    return program, [t.detach().numpy() for t in tensors], [t.detach().float().numpy() for t in found]


def check(function: Callable[..., Any], *inputs: Any, tolerance: float = 1e-5) -> Program:
    program, arrays, expected = program_and_arrays(function, inputs)
    found = program.run(arrays).arrays
    assert len(found) == len(expected)
    for array, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(array, np.float32), wanted, rtol=tolerance, atol=tolerance)
    return program


X = torch.arange(12.0).reshape(3, 4) / 6 - 1
Q = torch.sin(torch.arange(2 * 4 * 8 * 8.0)).reshape(2, 4, 8, 8)


def test_branches() -> None:
    def function(layer: Any, x: Any, pred: Any, other: Any) -> Any:
        def chosen(taken: Any) -> Any:
            return torch.cond(taken, lambda x: (layer(x), x + 1), lambda x: (x.cos(), x - 1), (x,))

        return chosen(pred), chosen(other)

    program = check(function, X, torch.tensor(True), torch.tensor(False))
    assert len(program.values.of_op("if")) == 4


def test_branches_that_depend_on_values() -> None:
    check(lambda layer, x: torch.cond(x.sum() > 0, lambda x: layer(x), lambda x: x - 1, (x,)), X)


def test_loops() -> None:
    def function(layer: Any, x: Any) -> Any:
        return [
            while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, layer(y)), (start, x))[1]
            for start in (0, torch.tensor(0))
        ]

    check(function, X)


def test_scans_collect_what_each_step_gives() -> None:
    def function(layer: Any, x: Any) -> Any:
        def combine(a: Any, b: Any) -> Any:
            return a[0] * b[0], a[1] * b[0] + b[1]

        sums = scan(lambda c, a: (c + layer(a), (c * a).sum()), x[0], x)
        return sums, associative_scan(combine, (x, x + 1), 1, combine_mode="generic")

    check(function, X)


def test_maps_run_on_each_slice() -> None:
    check(lambda layer, x: mapped(lambda a, y: a.sin() * y, x, x[0] * 2), X)


def test_regions_of_modes() -> None:
    def function(layer: Any, x: Any) -> Any:
        with torch.no_grad():
            y = layer(x)
        with torch.autocast("cpu", torch.bfloat16):
            y = y + layer(x)
        return y.float() + checkpoint(lambda a: layer(a).relu(), x, use_reentrant=False)

    check(function, X, tolerance=3e-2)


def test_numbers_read_from_tensors_stay_tensors() -> None:
    def function(layer: Any, x: Any, n: Any) -> Any:
        k = n.item()
        torch._check(k > 0)
        return x * k + (k + 1) // 2 - torch.full((), k / 2)

    check(function, X, torch.tensor(3))


def test_checks_are_dropped() -> None:
    def function(layer: Any, x: Any) -> Any:
        torch._assert_async(torch.all(x < 100))
        return torch.linalg.inv(x[:, :3] + 9 * torch.eye(3))

    program = check(function, X)
    assert [value.label for value in program.values.results()] == ["output"]


def test_lines_in_branches_are_those_of_the_model() -> None:
    exported = torch.export.export(
        Model(lambda layer, x: torch.cond(x.sum() > 0, lambda x: layer(x), lambda x: x - 1, (x,))), (X,)
    )
    (product,) = from_exported(exported).values.of_op("dot_general")
    assert "linear" in str(product.location)


BIAS = torch.tensor([0.5, -0.5, 1.0, 0.0])
CAUSAL = create_block_mask(lambda b, h, q, k: q >= k, None, None, 8, 8, device="cpu", BLOCK_SIZE=8)


def test_flex_attention() -> None:
    """Plain, by positions, of groups with a mask, with a tensor of the model, in one export."""

    def by_positions(s: Any, b: Any, h: Any, m: Any, n: Any) -> Any:
        return torch.where(m >= n, s + 0.1 * (m - n) * h, -1e9)

    def function(layer: Any, q: Any, t: Any) -> Any:
        return (
            flex_attention(q, q, q),
            flex_attention(q, q, q, by_positions, scale=0.3),
            flex_attention(q, q[:, :2], q[:, 2:], block_mask=CAUSAL, enable_gqa=True),
            flex_attention(q, q, q, lambda s, b, h, m, n: s + t[h]),
        )

    check(function, Q, BIAS)


def test_flex_attention_keeps_batch_and_heads_apart() -> None:
    def function(layer: Any, q: Any) -> Any:
        return flex_attention(q, q, q, lambda s, b, h, m, n: s + h * (m - n), block_mask=CAUSAL)

    exported = torch.export.export(Model(function), (Q,))
    program = from_exported(exported, Mesh.of(dp=2, tp=4), {"inputs_0": P("dp", "tp", None, None)})
    result = propagate(program)
    assert result["output"].sharding is not None
    assert result["output"].sharding.spec == P("dp", "tp", None, None)
    assert not result.communication().collectives


def test_sizes_that_depend_on_values_are_refused() -> None:
    def function(layer: Any, x: Any, n: Any) -> Any:
        k = n.item()
        torch._check(k >= 0)
        torch._check(k < 3)
        return x.new_zeros(k).sum() + x

    exported = torch.export.export(Model(function), (X, torch.tensor(2)))
    with pytest.raises(ShardyError, match="the size of its result depends on values"):
        from_exported(exported)
