"""Tridiagonal systems whose matrix may be singular, as inverse iteration solves them.

Vectors are (..., n), the right sides (..., n, columns). Not here: LAPACK's routine (`lapack.py`).
"""

from __future__ import annotations

import numpy as np

from shardy_py.ops.compute.lanes import Array


def solved_with_perturbation(lower: Array, diagonal: Array, upper: Array, right: Array) -> Array:
    """Returns the solution by elimination with row exchanges, where tiny pivots are replaced.

    A pivot below eps times the largest element of the triangle counts as that, with its sign, so that the
    solution is finite. The first element of `lower` and the last of `upper` have no meaning.
    """
    rows, solution = _eliminated(lower, diagonal, upper, right)
    size: int = diagonal.shape[-1]
    tiny: Array = np.asarray(np.finfo(diagonal.dtype).eps * np.abs(rows).max((-1, -2))[..., None])
    pivots = rows[..., 0]
    signed: Array = np.asarray(np.where(np.real(pivots) < 0, -tiny, tiny), diagonal.dtype)
    pivots = np.where(np.abs(pivots) < tiny, signed, pivots)
    for k in reversed(range(size)):
        for distance in range(1, min(3, size - k)):
            solution[..., k, :] -= rows[..., k, distance, None] * solution[..., k + distance, :]
        solution[..., k, :] /= pivots[..., k, None]
    return solution


def _eliminated(lower: Array, diagonal: Array, upper: Array, right: Array) -> tuple[Array, Array]:
    """Returns the rows of the triangle, three elements each from the diagonal on, and the right sides."""
    size: int = diagonal.shape[-1]
    rows: Array = np.zeros((*diagonal.shape, 3), diagonal.dtype)
    sides: Array = right.copy()
    zero = np.zeros_like(diagonal[..., :1])
    upper = np.concatenate((upper[..., : size - 1], zero), -1)
    current = np.concatenate((diagonal[..., :1], upper[..., :1], zero), -1)
    for k in range(size - 1):
        following = np.stack((lower[..., k + 1], diagonal[..., k + 1], upper[..., k + 1]), -1)
        swaps = np.abs(following[..., :1]) > np.abs(current[..., :1])
        pivot, other = np.where(swaps, following, current), np.where(swaps, current, following)
        above, below = sides[..., k, :], sides[..., k + 1, :]
        head, rest = np.where(swaps, below, above), np.where(swaps, above, below)
        factor = other[..., :1] / np.where(pivot[..., :1] == 0, 1, pivot[..., :1])
        rows[..., k, :] = pivot
        current = np.concatenate(((other - factor * pivot)[..., 1:], zero), -1)
        sides[..., k, :], sides[..., k + 1, :] = head, rest - factor * head
    rows[..., size - 1, :] = current
    return rows, sides
