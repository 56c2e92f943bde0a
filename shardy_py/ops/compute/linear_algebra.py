"""Factorizations, triangular systems and Fourier transforms: cholesky, triangular_solve, fft.

Not here: LAPACK's routines, which JAX calls by custom calls (`custom_calls.py`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shardy_py.ops import OpRecord
from shardy_py.ops.compute.lanes import Array, Compute, dtype_of
from shardy_py.ops.compute.precision import NARROW_FLOATS

_ROW_BY_ROW = 16
"""The size up to which a triangular system is solved row by row."""


def cholesky(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "cholesky": NaN if a matrix is not positive definite, as in XLA."""
    working = NARROW_FLOATS.get(operand.dtype, operand.dtype)
    is_lower = bool(record.attributes.get("lower"))
    return cholesky_factor(operand.astype(working, copy=False), is_lower).astype(operand.dtype, copy=False)


def cholesky_factor(matrices: Array, is_lower: bool) -> Array:
    """Returns the factors of (..., n, n), of which one triangle is read; NaN for those that have none."""
    try:
        return np.linalg.cholesky(matrices, upper=not is_lower)
    except np.linalg.LinAlgError:
        if matrices.ndim == 2:
            return np.full_like(matrices, np.nan)
    # numpy does not say which matrices failed.
    flat = matrices.reshape(-1, *matrices.shape[-2:])
    return np.stack([cholesky_factor(matrix, is_lower) for matrix in flat]).reshape(matrices.shape)


def triangular_solve(record: OpRecord, matrix: Array, right: Array) -> Array:
    """StableHLO's specification, "triangular_solve"."""
    attributes = record.attributes
    working = NARROW_FLOATS.get(right.dtype, right.dtype)
    matrix, given = (array.astype(working, copy=False) for array in (matrix, right))
    is_left, is_lower, is_unit = (bool(attributes[name]) for name in ("left_side", "lower", "unit_diagonal"))
    result = solved(matrix, given, is_left, is_lower, is_unit, attributes["transpose_a"][:1])
    return result.astype(right.dtype, copy=False)


def solved(
    matrix: Array, right: Array, is_left: bool, is_lower: bool, is_unit: bool, transposed: str
) -> Array:
    """Returns x with op(matrix) x = right, or x op(matrix) = right.

    matrix: (..., n, n). right: (..., n, m) or (..., m, n).
    transposed: "N" (op is the identity), "T" or "A", "C" (adjoint).
    """
    if transposed in "AC":
        matrix = matrix.conj()
    # x a = b is solved as a^T x^T = b^T; upper triangles as lower ones, from the last row on.
    if not is_left:
        right = right.swapaxes(-1, -2)
    if is_left != (transposed == "N"):
        matrix = matrix.swapaxes(-1, -2)
        is_lower = not is_lower
    if not is_lower:
        matrix, right = matrix[..., ::-1, ::-1], right[..., ::-1, :]
    batch = np.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    result = np.broadcast_to(right, (*batch, *right.shape[-2:])).copy()
    _solve_lower(matrix, result, is_unit)
    result = result if is_lower else result[..., ::-1, :]
    return result if is_left else result.swapaxes(-1, -2)


def _solve_lower(matrix: Array, right: Array, is_unit: bool) -> None:
    """Replaces the right side by the solution: in halves, so that most of the work is in products."""
    size = matrix.shape[-1]
    if size > _ROW_BY_ROW:
        half = size // 2
        top, bottom = right[..., :half, :], right[..., half:, :]
        _solve_lower(matrix[..., :half, :half], top, is_unit)
        bottom -= matrix[..., half:, :half] @ top
        _solve_lower(matrix[..., half:, half:], bottom, is_unit)
        return
    for row in range(size):
        here = right[..., row : row + 1, :]
        if row:
            here -= matrix[..., row : row + 1, :row] @ right[..., :row, :]
        if not is_unit:
            here /= matrix[..., row : row + 1, row : row + 1]


_TRANSFORMS: dict[str, Callable[..., Array]] = {
    "FFT": np.fft.fftn,
    "IFFT": np.fft.ifftn,
    "RFFT": np.fft.rfftn,
    "IRFFT": np.fft.irfftn,
}


def fft(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "fft"."""
    kind, lengths = record.attributes["fft_type"], tuple(record.attributes["fft_length"])
    sizes = (*lengths[:-1], lengths[-1] // 2 + 1) if kind == "RFFT" else lengths
    if not operand.size:
        return np.zeros((*operand.shape[: -len(lengths)], *sizes), dtype_of(record.results[0]))
    return _TRANSFORMS[kind](operand, lengths, tuple(range(-len(lengths), 0)))


COMPUTE: dict[str, Compute] = {
    "stablehlo.cholesky": cholesky,
    "stablehlo.fft": fft,
    "stablehlo.triangular_solve": triangular_solve,
}
"""The function of each op."""
