"""Rows of attention kernels, which torch has on GPUs only, against autograd of the written-out attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# ruff: noqa: E402
from shardy_py import ShardyError
from shardy_py.frontends.aten import find_row
from shardy_py.frontends.builder import RankedTensorType, build

pytestmark = pytest.mark.torch

SHAPES = ((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 4))
Q, K, V = (torch.randn(shape, generator=torch.Generator().manual_seed(0)) for shape in SHAPES)
GRAD, LENGTHS = torch.ones(2, 3, 5, 4).cumsum(2), torch.zeros(2, 3, 5)
BIAS = torch.arange(30.0).view(1, 1, 5, 6).cos()


def called(name: str, out: Any, tensors: list[Any], *behind: Any, **keywords: Any) -> list[Any]:
    row = find_row(f"aten.{name}.default")
    assert row is not None

    def function(*given: Any) -> Any:
        parts = iter(given)
        filled = [None if tensor is None else next(parts) for tensor in tensors]
        return [part for part in row(out, *filled, *behind, **keywords) if part is not None]

    held = [tensor for tensor in tensors if tensor is not None]
    program = build(function, *(RankedTensorType(tuple(tensor.shape)) for tensor in held))
    return list(program.run([tensor.numpy() for tensor in held]).values())


def expected(bias: Any, is_causal: bool, scale: float | None) -> list[Any]:
    """The output, and the gradients of query, key, value and bias."""
    inputs = [tensor.clone().requires_grad_() for tensor in (Q, K, V, *(() if bias is None else (bias,)))]
    q, k, v, *more = inputs
    scores = q @ k.mT * (0.5 if scale is None else scale) + (more[0] if more else 0.0)
    if is_causal:
        scores = scores.masked_fill(~torch.ones(5, 6, dtype=torch.bool).tril(), -torch.inf)
    out = scores.softmax(-1) @ v
    return [out, *torch.autograd.grad(out, inputs, GRAD)]


def types(*tensors: Any) -> tuple[Any, ...]:
    return tuple(None if tensor is None else RankedTensorType(tuple(tensor.shape)) for tensor in tensors)


@pytest.mark.parametrize("is_causal", [False, True])
def test_flash_attention(is_causal: bool) -> None:
    name, rest = "_scaled_dot_product_flash_attention", (None,) * 7
    wanted = expected(None, is_causal, 0.3)
    out = types(Q, LENGTHS, *rest)
    found = called(name, out, [Q, K, V], 0.0, is_causal, False, scale=0.3)
    assert np.allclose(found[0], wanted[0].detach(), atol=1e-6)
    inputs = [GRAD, Q, K, V, Q, LENGTHS, None, None]
    found = called(f"{name}_backward", types(Q, K, V), inputs, 5, 6, 0.0, is_causal, None, None, scale=0.3)
    assert all(np.allclose(*pair, atol=1e-5) for pair in zip(found, wanted[1:], strict=True))


@pytest.mark.parametrize("bias", [None, BIAS])
def test_efficient_attention(bias: Any) -> None:
    name = "_scaled_dot_product_efficient_attention"
    wanted = expected(bias, False, None)
    padded = torch.zeros(2, 3, 32)
    found = called(name, types(Q, padded, None, None), [Q, K, V, bias], True)
    assert np.allclose(found[0], wanted[0].detach(), atol=1e-6)
    mask = [True, True, True, bias is not None]
    inputs = [GRAD, Q, K, V, bias, Q, padded, None, None]
    found = called(f"{name}_backward", types(Q, K, V, bias), inputs, 0.0, mask, False)
    assert all(np.allclose(*pair, atol=1e-5) for pair in zip(found, wanted[1:], strict=True))


@pytest.mark.parametrize("bias", [None, BIAS])
def test_cudnn_attention(bias: Any) -> None:
    name, rest = "_scaled_dot_product_cudnn_attention", (None,) * 7
    wanted = expected(bias, False, 0.3)
    found = called(name, types(Q, LENGTHS, *rest), [Q, K, V, bias], True, scale=0.3)
    assert np.allclose(found[0], wanted[0].detach(), atol=1e-6)
    inputs = [GRAD, Q, K, V, Q, LENGTHS, None, None, bias, None, None]
    found = called(f"{name}_backward", types(Q, K, V), inputs, 5, 6, 0.0, False, scale=0.3)
    assert all(np.allclose(*pair, atol=1e-5) for pair in zip(found, wanted[1:4], strict=True))


def test_more_arguments_than_the_kernel_has() -> None:
    with pytest.raises(TypeError, match="expected at most 6 arguments, got 7"):
        called("_scaled_dot_product_flash_attention", types(Q, LENGTHS), [Q, K, V], 0.0, False, False, 1)


def test_dropout_is_unsupported() -> None:
    with pytest.raises(ShardyError, match=r"attention with dropout is unsupported; call model.eval\(\)"):
        called("_scaled_dot_product_flash_attention", types(Q, LENGTHS), [Q, K, V], 0.1)
