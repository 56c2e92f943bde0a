"""Rows of ops that other packages define: quantized tensors, products of experts in transformers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# ruff: noqa: E402
from shardy_py.frontends.torch import from_exported

pytestmark = pytest.mark.torch


class Calls(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def check(function: Callable[..., Any], *inputs: Any) -> None:
    module = Calls(function)
    (found,) = from_exported(torch.export.export(module, inputs)).run([t.numpy() for t in inputs]).arrays
    np.testing.assert_allclose(found, module(*inputs).numpy(), rtol=1e-5, atol=1e-6)


def test_quantized_tensors() -> None:
    pytest.importorskip("torch.ao.quantization.fx._decomposed")
    ops = torch.ops.quantized_decomposed
    x = torch.linspace(-3, 3, 15).reshape(3, 5)
    scales, zeros = torch.tensor([0.1, 0.3, 0.02]), torch.tensor([3, 0, -5])

    def of_tensor(x: Any) -> Any:
        quanta = ops.quantize_per_tensor(x, 0.1, 3, -20, 20, torch.int8)
        return ops.dequantize_per_tensor(quanta, 0.1, 3, -20, 20, torch.int8)

    def of_channels(x: Any, scales: Any, zeros: Any) -> Any:
        quanta = ops.quantize_per_channel(x, scales, zeros, 0, -20, 20, torch.int8)
        return ops.dequantize_per_channel(quanta, scales, zeros, 0, -20, 20, torch.int8)

    check(of_tensor, x)
    check(of_channels, x, scales, zeros)


def test_products_of_experts_of_transformers() -> None:
    """The op as transformers defines it where torch's own does not run."""
    name = "transformers::grouped_mm_fallback"
    if not hasattr(torch.ops.transformers, "grouped_mm_fallback"):

        def product(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
            ends = [0, *offs.tolist()]
            parts = [input[a:b] @ w for a, b, w in zip(ends, ends[1:], weight, strict=False)]
            return torch.cat(parts)

        product.__annotations__ = dict.fromkeys(("input", "weight", "offs", "return"), torch.Tensor)
        defined = torch.library.custom_op(name, product, mutates_args=())
        defined.register_fake(lambda input, weight, offs: input.new_empty(input.shape[0], weight.shape[2]))
    ends = torch.tensor([2, 2, 7], dtype=torch.int32)
    check(torch.ops.transformers.grouped_mm_fallback, torch.randn(7, 4), torch.randn(3, 4, 5), ends)
