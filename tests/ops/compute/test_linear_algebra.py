"""Factorizations, triangular systems and transforms: XLA's results, or what defines them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from shardy_py.ops.compute import Array, compute_of
from tests.ops.compute.against_jax import compare
from tests.ops.examples import op, t


def random_array(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    random = np.random.default_rng(seed)
    imaginary = 1j * random.standard_normal(shape) if np.dtype(dtype).kind == "c" else 0
    return (random.standard_normal(shape) + imaginary).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("is_lower", [True, False])
def test_cholesky(dtype: Any, is_lower: bool) -> None:
    """Only one triangle is read; the second of the matrices is not positive definite."""
    root = random_array((3, 2, 6, 6), dtype)
    matrix = root @ root.conj().swapaxes(-1, -2) + np.eye(6, dtype=dtype)
    matrix[1, 0] -= 100 * np.eye(6, dtype=dtype)
    given = np.tril(matrix) if is_lower else np.triu(matrix)
    record = op("stablehlo.cholesky", lower=is_lower)
    factor = compute_of(record)(record, given)
    assert factor.dtype == dtype
    assert np.isnan(factor[1, 0]).all()
    adjoint = factor.conj().swapaxes(-1, -2)
    product = factor @ adjoint if is_lower else adjoint @ factor
    matrix[1, 0] = np.nan
    np.testing.assert_allclose(product, matrix, rtol=1e-4, atol=1e-4)
    assert (np.nan_to_num(np.triu(factor, 1) if is_lower else np.tril(factor, -1)) == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, ml_dtypes.bfloat16, np.complex128])
@pytest.mark.parametrize("transposed", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize("size", [5, 40])
def test_triangular_solve(dtype: Any, transposed: str, size: int) -> None:
    """The solution solves the system; the other triangle holds NaN, the diagonal too if it counts as 1."""
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    for flags in np.ndindex(2, 2, 2):
        is_left, is_lower, is_unit = map(bool, flags)
        matrix = random_array((3, size, size), dtype) / dtype(size) + np.eye(size, dtype=dtype)
        triangle = (np.tril if is_lower else np.triu)(matrix.astype(wide), -is_unit if is_lower else is_unit)
        given = np.where(
            (np.tril if is_lower else np.triu)(np.ones((size, size), bool)), matrix, dtype(np.nan)
        )
        if is_unit:
            triangle += np.eye(size)
            given[:, np.arange(size), np.arange(size)] = np.nan
        right = random_array((1, size, 4) if is_left else (1, 4, size), dtype)
        record = op(
            "stablehlo.triangular_solve",
            left_side=is_left,
            lower=is_lower,
            unit_diagonal=is_unit,
            transpose_a=transposed,
        )
        solution = compute_of(record)(record, given, right)
        assert solution.dtype == dtype
        used = triangle if transposed == "NO_TRANSPOSE" else triangle.swapaxes(-1, -2)
        used = used.conj() if transposed == "ADJOINT" else used
        product = used @ solution.astype(wide) if is_left else solution.astype(wide) @ used
        error = 0.2 if np.dtype(dtype).itemsize == 2 else 1e-4
        np.testing.assert_allclose(product, np.broadcast_to(right.astype(wide), product.shape), atol=error)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fft(dtype: Any) -> None:
    """All four types, of odd and even lengths, over one and three dimensions; and of nothing."""
    lax: Any = pytest.importorskip("jax.lax", reason="JAX is not installed")
    complex_type = np.result_type(dtype, np.complex64)
    real, numbers = random_array((2, 4, 6, 5), dtype), random_array((2, 4, 6, 5), complex_type)

    def transforms(real: Any, numbers: Any) -> list[Any]:
        return [
            *(lax.fft(numbers, kind, numbers.shape[-n:]) for kind in ("FFT", "IFFT") for n in (1, 3)),
            *(lax.fft(real, "RFFT", real.shape[-n:]) for n in (1, 3)),
            *(lax.fft(numbers, "IRFFT", (*numbers.shape[-n:-1], last)) for n in (1, 3) for last in (8, 9)),
        ]

    compare(transforms, real, numbers, x64=True)
    record = op("stablehlo.fft", (), (t(element="complex<f32>"),), fft_type="RFFT", fft_length=(4,))
    assert compute_of(record)(record, np.zeros((1, 0, 4), dtype)).shape == (1, 0, 3)
