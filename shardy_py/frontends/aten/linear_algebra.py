"""ATen's solvers of linear systems, by Cholesky and LU factors: `ROWS` by name, as in `pointwise.py`.

Triangular systems and Cholesky factors are ops of StableHLO; LU factors are custom calls. Infos of routines
tell of success: no row checks an input. Not here: other factors (`factorizations.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardy_py.api import ShardyError
from shardy_py.frontends.aten import matrices
from shardy_py.frontends.aten.elements import Results, Row, convert, filled, sizes
from shardy_py.frontends.aten.matrices import (
    REAL,
    identity,
    lapack,
    product,
    rows_and_columns,
    triangle,
    typed,
    with_batch,
)
from shardy_py.frontends.aten.shapes import along_dimension, diagonal, part
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, reduce_prod, reduce_sum, while_loop


def solved(
    matrix: Tensor,
    right: Tensor,
    *,
    left: bool = True,
    upper: bool,
    unit: bool = False,
    transposed: str = "NO_TRANSPOSE",
) -> Tensor:
    """matrix X = right, or X matrix = right, of a triangular matrix; batches are broadcast."""
    batch = np.broadcast_shapes(sizes(matrix.type)[:-2], sizes(right.type)[:-2])
    return ops.triangular_solve(
        with_batch(matrix, batch),
        with_batch(right, batch),
        left_side=left,
        lower=not upper,
        unit_diagonal=unit,
        transpose_a=transposed,
    )


# ---------------------------------------------------------------------- Cholesky


def _cholesky(out: RankedTensorType, self: Tensor, upper: bool = False) -> Tensor:
    factor = ops.cholesky(matrices.adjoint(self) if upper else self, lower=True)
    factor = triangle(factor, upper=False)
    return matrices.adjoint(factor) if upper else factor


def _cholesky_ex(
    out: Sequence[RankedTensorType], self: Tensor, *, upper: bool = False, **_: object
) -> Results:
    return _cholesky(out[0], self, upper), filled(out[1], 0)


def _cholesky_solve(out: RankedTensorType, self: Tensor, A: Tensor, upper: bool = False) -> Tensor:
    """L L^H X = self, given L, or U^H U X = self."""
    first, second = ("ADJOINT", "NO_TRANSPOSE") if upper else ("NO_TRANSPOSE", "ADJOINT")
    half = solved(A, self, upper=upper, transposed=first)
    return solved(A, half, upper=upper, transposed=second)


def _cholesky_inverse(out: RankedTensorType, self: Tensor, upper: bool = False) -> Tensor:
    return _cholesky_solve(out, identity(self.type), self, upper)


def _solve_triangular(
    out: RankedTensorType,
    self: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor:
    return solved(self, B, left=left, upper=upper, unit=unitriangular)


def _triangular_solve(
    out: Sequence[RankedTensorType],
    self: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[Tensor, Tensor]:
    transposed = "TRANSPOSE" if transpose else "NO_TRANSPOSE"
    result = solved(A, self, upper=upper, unit=unitriangular, transposed=transposed)
    return result, ops.broadcast_to(A, sizes(out[1]))


# ---------------------------------------------------------------------- LU


def _factored(self: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """L, without its diagonal of ones, and U in one matrix; the row that row i was exchanged with, from 1."""
    if not pivot:
        raise ShardyError.unsupported("LU without pivots", remedy="factor with pivot=True")
    least = min(rows_and_columns(self))
    types = [self.type, typed(self, [least], "i32"), typed(self, [], "i32")]
    factors, pivots, _ = lapack("getrf", [self], types, self.rank - 2)
    return factors, pivots


def permutation(pivots: Tensor, rows: int) -> Tensor:
    """The order of rows after the exchanges: row i of the factors is row p[i] of the matrix."""
    batch, last = sizes(pivots.type)[:-1], pivots.rank - 1
    order = ops.iota((*batch, rows), last)
    places = ops.iota((*batch, rows), last)

    def exchanged(step: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
        start = [ops.constant(0, "i32", ())] * last
        one = (*batch, 1)
        other = ops.dynamic_slice(pivots, [*start, step], one) - 1
        own = ops.dynamic_slice(order, [*start, step], one)
        at_other = ops.compare(places, ops.broadcast_to(other, (*batch, rows)), "EQ")
        found = reduce_sum(ops.select(at_other, order, 0), (last,))
        moved = ops.select(at_other, ops.broadcast_to(own, (*batch, rows)), order)
        at_step = ops.compare(places, ops.broadcast_to(step, (*batch, rows)), "EQ")
        spread = ops.broadcast_in_dim(found, (*batch, rows), range(last))
        return step + 1, ops.select(at_step, spread, moved)

    steps = sizes(pivots.type)[-1]
    if not steps:
        return order

    def goes_on(step: Tensor, _: Tensor) -> Tensor:
        return step < steps

    return while_loop(goes_on, exchanged, (ops.constant(0, "i32", ()), order))[1]


def permuted(order: Tensor, right: Tensor) -> Tensor:
    """The rows of matrices in an order."""
    shape = sizes(right.type)
    index = ops.broadcast_in_dim(convert(order, "i64"), shape, range(right.rank - 1))
    return along_dimension(right, right.rank - 2, index)


def unordered(order: Tensor, element_type: str) -> Tensor:
    """The permutation matrix P with P L U the matrix, given the order of rows of L U."""
    batch, rows = sizes(order.type)[:-1], sizes(order.type)[-1]
    shape = (*batch, rows, rows)
    rank = len(shape)
    spread = ops.broadcast_in_dim(order, shape, (*range(rank - 2), rank - 1))
    return convert(ops.compare(ops.iota(shape, rank - 2), spread, "EQ"), element_type)


def _lower_and_upper(factors: Tensor) -> tuple[Tensor, Tensor]:
    rows, columns = rows_and_columns(factors)
    least, rank = min(rows, columns), factors.rank
    lower = triangle(part(factors, rank - 1, 0, least), upper=False, unit=True)
    return lower, triangle(part(factors, rank - 2, 0, least), upper=True)


def _lu_factor(
    out: Sequence[RankedTensorType], A: Tensor, *, pivot: bool = True, **_: object
) -> tuple[Tensor, ...]:
    factors, pivots = _factored(A, pivot=pivot)
    return factors, pivots, *(filled(type_, 0) for type_ in out[2:])


def _lu(out: Sequence[RankedTensorType], A: Tensor, *, pivot: bool = True) -> tuple[Tensor, ...]:
    factors, pivots = _factored(A, pivot=pivot)
    order = permutation(pivots, rows_and_columns(A)[0])
    return unordered(order, A.element_type), *_lower_and_upper(factors)


def _lu_unpack(
    out: Sequence[RankedTensorType],
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> tuple[Tensor | None, ...]:
    order = permutation(LU_pivots, rows_and_columns(LU_data)[0]) if unpack_pivots else None
    matrix = filled(out[0], 0) if order is None else unordered(order, LU_data.element_type)
    lower, upper = _lower_and_upper(LU_data) if unpack_data else (filled(out[1], 0), filled(out[2], 0))
    return matrix, lower, upper


def _solved_by_factors(factors: Tensor, pivots: Tensor, right: Tensor) -> Tensor:
    order = permutation(pivots, rows_and_columns(factors)[0])
    batch = np.broadcast_shapes(sizes(factors.type)[:-2], sizes(right.type)[:-2])
    order = ops.broadcast_to(order, (*batch, sizes(order.type)[-1]))
    half = solved(factors, permuted(order, with_batch(right, batch)), upper=False, unit=True)
    return solved(factors, half, upper=True)


def _lu_solve(
    out: RankedTensorType, LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """P L U X = B; from the right, X P L U = B; adjoint: with the adjoint of P L U."""
    if not left:
        # X M = B is M^H X^H = B^H.
        return matrices.adjoint(_lu_solve(out, LU, pivots, matrices.adjoint(B), adjoint=not adjoint))
    if not adjoint:
        return _solved_by_factors(LU, pivots, B)
    half = solved(LU, B, upper=True, transposed="ADJOINT")
    half = solved(LU, half, upper=False, unit=True, transposed="ADJOINT")
    order = permutation(pivots, rows_and_columns(LU)[0])
    batch = sizes(half.type)[:-2]
    matrix = with_batch(unordered(order, half.element_type), batch)
    return product(matrix, half)


def _solve(
    out: Sequence[RankedTensorType], A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False
) -> tuple[Tensor, ...]:
    is_vector = B.rank == 1 or sizes(B.type) == sizes(A.type)[:-1]
    factors, pivots = _factored(A)
    right = ops.reshape(B, (*sizes(B.type), 1)) if is_vector else B
    if left:
        result = _solved_by_factors(factors, pivots, right)
    else:
        result = _lu_solve(out[0], factors, pivots, right, left=False)
    return ops.reshape(result, sizes(out[0])), factors, pivots, *(filled(type_, 0) for type_ in out[3:])


def _inverse(out: Sequence[RankedTensorType], A: Tensor, **_: object) -> tuple[Tensor, ...]:
    factors, pivots = _factored(A)
    return _solved_by_factors(factors, pivots, identity(A.type)), *(filled(type_, 0) for type_ in out[1:])


def _parity(pivots: Tensor, element_type: str) -> Tensor:
    """The determinant of the exchanges: -1 to the power of their number."""
    shape = sizes(pivots.type)
    moved = ops.compare(pivots, ops.iota(shape, len(shape) - 1) + 1, "NE")
    return reduce_prod(
        convert(ops.select(moved, filled(pivots.type, -1), 1), element_type), (len(shape) - 1,)
    )


def _factored_for_determinant(A: Tensor) -> tuple[Tensor, Tensor]:
    """As torch does: of a real matrix the factors of its transpose."""
    is_real = A.element_type not in REAL
    return _factored(matrices.adjoint(A) if is_real else A)


def _determinant(out: Sequence[RankedTensorType], A: Tensor) -> tuple[Tensor, ...]:
    factors, pivots = _factored_for_determinant(A)
    found = diagonal(factors, A.rank - 2, A.rank - 1)
    result = reduce_prod(found, (A.rank - 2,)) * _parity(pivots, A.element_type)
    return result, factors, pivots


def _log_determinant(out: Sequence[RankedTensorType], A: Tensor) -> tuple[Tensor, ...]:
    """The sign, or phase, and the logarithm of the magnitude of the determinant."""
    factors, pivots = _factored_for_determinant(A)
    found = diagonal(factors, A.rank - 2, A.rank - 1)
    signs = reduce_prod(ops.sign(found), (A.rank - 2,)) * _parity(pivots, A.element_type)
    return signs, reduce_sum(ops.log(ops.abs(found)), (A.rank - 2,)), factors, pivots


ROWS: dict[str, Row] = {
    "_linalg_det": _determinant,
    "_linalg_slogdet": _log_determinant,
    "_linalg_solve_ex": _solve,
    "cholesky": _cholesky,
    "cholesky_inverse": _cholesky_inverse,
    "cholesky_solve": _cholesky_solve,
    "linalg_cholesky_ex": _cholesky_ex,
    "linalg_inv_ex": _inverse,
    "linalg_lu": _lu,
    "linalg_lu_factor_ex": _lu_factor,
    "linalg_lu_solve": _lu_solve,
    "linalg_solve_triangular": _solve_triangular,
    "lu_unpack": _lu_unpack,
    "triangular_solve": _triangular_solve,
}
"""The rows by the name of the op without overload."""
