"""A part of the battery of single ops; all of it: `python -m tests.frontends.ops_battery`."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

import numpy as np
import torch

from tests.frontends.battery_gradients import gradient_rows
from tests.frontends.battery_operands import operand_of, row
from tests.frontends.ops_battery import outcomes, program_of_gradient, rows

pytestmark = pytest.mark.torch

NAMES = (
    *("einsum bsnd,btnd->bnst", "einsum bsnd,nde->bse", "tensordot", "attention, grouped heads", "stack"),
    *("roll two", "unbind", "instance_norm", "cross entropy", "max_pool2d, indices", "embedding bag", "topk"),
    *("roll along sharded", "cumsum along sharded", "gather along sharded"),
)


def test_ops_send_what_xla_sends_and_nothing_that_they_do_not_need() -> None:
    chosen = [each for each in rows() if each.name in NAMES]
    assert len(chosen) == len(NAMES)
    wrong = [found for found in outcomes(chosen) if not (found.equals_xla and found.is_whole)]
    assert not wrong


def test_the_battery_sees_communication_that_a_whole_op_does_not_need() -> None:
    merged = row("merged heads", lambda x, y: x.flatten(0, 1) @ y, "8 4:tp 32", "32 16")
    (found,) = outcomes([merged])
    assert found.equals_xla
    assert not found.is_whole
    assert found.ours


GRADIENTS = (
    *("einsum bsd,dnk->bsnk", "attention, bias", "conv2d, dilation", "conv_transpose2d", "bilinear"),
    *("max_pool2d, dilation", "avg_pool2d, pads", "adaptive_max_pool1d", "adaptive_max_pool3d"),
    *("interpolate bicubic", "interpolate bilinear, antialiased", "grid_sample bilinear"),
    *("grid_sample of volumes", "pad reflect", "pad replicate", "instance_norm", "weight_norm", "group_norm"),
    *("hardshrink", "softshrink", "cdist", "cdist of sums", "cross entropy", "logcumsumexp", "index_add"),
    *("embedding bag sum, width", "embedding bag mean, dp", "embedding bag max, dp"),
)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_ops_are_those_of_torch(name: str) -> None:
    (each,) = [each for each in gradient_rows() if each.name == f"{name} backward"]
    torch.manual_seed(0)
    pairs = [operand_of(text) for text in each.operands]
    tensors = [tensor for tensor, _ in pairs]
    specs = {f"operands_{number}": spec for number, (_, spec) in enumerate(pairs)}
    found = program_of_gradient(each, tensors, specs).run([tensor.numpy() for tensor in tensors]).arrays
    expected = [tensor.numpy() for tensor in each.gradients(*tensors)]
    assert all(np.allclose(*pair, rtol=1e-4, atol=1e-4) for pair in zip(found, expected, strict=True))
