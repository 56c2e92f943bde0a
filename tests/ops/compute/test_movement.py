"""Ops that move elements: padding by lists of Python, dynamic shapes, XLA for the rest."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.indexing.layout import element_type
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.compute import compute_of
from shardy_py.ops.compute.movement import padded
from tests.ops.compute.against_jax import compare, run_text


def test_padding() -> None:
    x = np.arange(1, 6)[None]
    for size, low, high, interior in product(range(5), range(-9, 5), range(-9, 5), range(3)):
        spaced = [value for number in x[0, :size].tolist() for value in (number, *[0] * interior)]
        spaced = spaced[: len(spaced) - interior] if size else []
        if low + len(spaced) + high < 0:
            continue
        wide = [*[0] * 20, *spaced, *[0] * 20]
        got = padded(x[:, :size], np.zeros(1, int), [low], [high], [interior])
        assert got.tolist() == [wide[20 - low : 20 + len(spaced) + high]]


@pytest.mark.parametrize("element", ["i4", "ui2", "i8", "bf16", "f8E4M3FN", "complex<f32>", "f64"])
def test_iota_wraps_and_rounds(element: str) -> None:
    row = OpRecord("stablehlo.iota", (), (TensorType((2, 300), element),), {"iota_dimension": 1})
    got = compute_of(row)(row)
    assert got.shape == (1, 2, 300)
    assert got.dtype == element_type(element).dtype
    expected = np.arange(300).astype(got.dtype)
    np.testing.assert_array_equal(got[0, 1].astype(complex), expected.astype(complex))


def test_against_xla() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jnp, lax = jax.numpy, jax.lax
    rng = np.random.default_rng(0)

    def several(x: Any) -> Any:
        return (
            lax.pad(x, jnp.float32(7), ((-1, 2, 1), (3, -4, 0), (0, 0, 2))),
            lax.slice(x, (1, 0, 2), (4, 5, 3), (2, 3, 1)),
            lax.transpose(x, (2, 0, 1)),
            lax.rev(x, (0, 2)),
            lax.broadcast_in_dim(x, (5, 2, 6, 5, 3), (0, 3, 4)),
            jnp.concatenate([x, x[:2], x * 2]),
            x.reshape(3, 25).T.reshape(5, 15),
        )

    compare(several, rng.normal(size=(2, 5, 5, 3)).astype(np.float32), rtol=0, atol=0)


def dynamic(op: str, result: str) -> str:
    return f"""func.func @main(%x: tensor<2x3xf32>, %shape: tensor<3xi32>, %size: tensor<i32>) -> {result} {{
        %result = stablehlo.{op} -> {result}
        return %result : {result}
    }}"""


SPREAD = dynamic(
    "dynamic_broadcast_in_dim %x, %shape, dims = [0, 2] : (tensor<2x3xf32>, tensor<3xi32>)",
    "tensor<?x?x?xf32>",
)
RESHAPE = dynamic("dynamic_reshape %x, %shape : (tensor<2x3xf32>, tensor<3xi32>)", "tensor<?x?x?xf32>")
RESIZE = dynamic(
    "set_dimension_size %x, %size, dim = 1 : (tensor<2x3xf32>, tensor<i32>)",
    "tensor<2x?xf32, #stablehlo.bounds<?, 3>>",
)
SLICE = dynamic(
    "real_dynamic_slice %x, %two, %two, %two"
    " : (tensor<2x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)",
    "tensor<?x?xf32>",
).replace("%result =", "%two = stablehlo.slice %shape [0:2] : (tensor<3xi32>) -> tensor<2xi32>\n%result =")
DECLARED = RESHAPE.replace("tensor<?x?x?xf32>", "tensor<?x1x?xf32>")
X = np.arange(6, dtype=np.float32).reshape(1, 2, 3)


def test_sizes_from_operands() -> None:
    size = np.int32([2])
    (got,) = run_text(SPREAD, X, np.int32([[2, 4, 3]]), size)
    np.testing.assert_array_equal(got, np.broadcast_to(X[:, :, None], (1, 2, 4, 3)))
    (got,) = run_text(RESHAPE, X, np.int32([[3, 1, 2]]), size)
    np.testing.assert_array_equal(got, X.reshape(1, 3, 1, 2))
    (got,) = run_text(RESIZE, X, np.int32([[0, 0, 0]]), size)
    np.testing.assert_array_equal(got, X[:, :, :2])


@pytest.mark.parametrize(
    ("text", "shape", "size", "message"),
    [
        (SPREAD, [[2, 4, 3], [2, 5, 3]], [0, 0], "sizes that differ between devices"),
        (SPREAD, [[4, 4, 3]], [0], r"result shape: expected one for \(2, 3\), got \(4, 4, 3\)"),
        (RESHAPE, [[4, 1, 3]], [0], r"result shape: expected one with 6 elements, got \(4, 1, 3\)"),
        (RESHAPE, [[-1, 6, -1]], [0], "negative size"),
        (DECLARED, [[2, 3, 1]], [0], "result shape: expected [?]x1x[?], got 2x3x1"),
        (SPREAD.replace("tensor<3xi32>", "tensor<3xi64>"), [[2, 2**60, 3]], [0], "more than the limit"),
        (SLICE, [[0, 0, 0]], [0], "bounds: expected a slice of 2 elements, got 0:0:0"),
        (SLICE, [[2, 4, 0]], [0], "bounds: expected a slice of 3 elements, got 4:4:4"),
        (RESIZE, [[0, 0, 0]], [4], "size: expected at most 3, got 4"),
        (RESIZE, [[0, 0, 0]], [-1], "negative size"),
    ],
)
def test_invalid_sizes(text: str, shape: Any, size: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        run_text(text, X, np.array(shape, np.int64 if "3xi64" in text else np.int32), np.int32(size))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batch_normalization(dtype: Any) -> None:
    """By numpy, and gradients by their definition."""
    rng = np.random.default_rng(0)
    x, grad = rng.normal(size=(2, 1, 4, 3, 5)).astype(dtype)
    scale, offset = rng.normal(size=(2, 1, 3)).astype(dtype)
    tensor = TensorType((4, 3, 5), "f32" if dtype == np.float32 else "f64")
    attributes = {"epsilon": 0.25, "feature_index": 1}

    def run(name: str, *operands: Any) -> Any:
        row = OpRecord(f"stablehlo.batch_norm_{name}", (), (tensor,), attributes)
        return compute_of(row)(row, *operands)

    mean, variance = x.mean((1, 3)), x.var((1, 3))
    expected = (x - mean[:, None, :, None]) / np.sqrt(variance[:, None, :, None] + 0.25)
    expected = expected * scale[:, None, :, None] + offset[:, None, :, None]
    for got, right in zip(run("training", x, scale, offset), (expected, mean, variance), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        run("inference", x, scale, offset, mean, variance), expected, rtol=1e-4, atol=1e-5
    )
    if dtype == np.float32:
        return
    grads = run("grad", x, scale, mean, variance, grad)
    for number, operand in enumerate((x, scale, offset)):
        for place in list(np.ndindex(*operand.shape))[:6]:
            moved = [x.copy(), scale.copy(), offset.copy()]
            steps: list[float] = []
            for step in (1e-5, -2e-5):
                moved[number][place] += step
                steps.append(float((run("training", *moved)[0] * grad).sum()))
            np.testing.assert_allclose(
                grads[number][place], (steps[0] - steps[1]) / 2e-5, rtol=1e-4, atol=1e-6
            )
