"""ATen's QR factors, eigenvalues and singular values: `ROWS` by name, as in `pointwise.py`.

All are custom calls of LAPACK's routines (`matrices.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.frontends.aten.elements import Row, convert, filled, sizes
from shardy_py.frontends.aten.matrices import (
    COMPLEX,
    REAL,
    adjoint,
    lapack,
    positions,
    product,
    rows_and_columns,
    triangle,
    typed,
)
from shardy_py.frontends.aten.reductions import shaped
from shardy_py.frontends.aten.shapes import part
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, reduce_max
from shardy_py.frontends.builder.tensor import Operand


def _reflectors(self: Tensor) -> tuple[Tensor, Tensor]:
    """R with the Householder vectors below it, and their factors."""
    least = min(rows_and_columns(self))
    packed, factors = lapack("geqrf", [self], [self.type, typed(self, [least])], self.rank - 2)
    return packed, factors


def _geqrf(out: Sequence[RankedTensorType], self: Tensor) -> tuple[Tensor, ...]:
    return _reflectors(self)


def _householder_product(out: RankedTensorType, input: Tensor, tau: Tensor) -> Tensor:
    return lapack("orgqr", [input, tau], [input.type], input.rank - 2)[0]


def _qr(out: Sequence[RankedTensorType], A: Tensor, mode: str = "reduced") -> tuple[Tensor, ...]:
    packed, factors = _reflectors(A)
    rows, columns = rows_and_columns(A)
    least, rank = min(rows, columns), A.rank
    kept = rows if mode == "complete" else least
    upper = triangle(part(packed, rank - 2, 0, kept), upper=True)
    if mode == "r":
        return filled(out[0], 0), upper
    vectors = part(packed, rank - 1, 0, min(columns, kept))
    if columns < kept:
        high = [0] * rank
        high[-1] = kept - columns
        vectors = ops.pad(vectors, 0, [0] * rank, high)
    return _householder_product(out[0], vectors, factors), upper


def _ormqr(
    out: RankedTensorType,
    self: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: bool = True,
    transpose: bool = False,
) -> Tensor:
    """Q input3, or input3 Q, or with the adjoint of Q, from reflectors and factors; Q is square."""
    rows, columns = rows_and_columns(self)
    high = [0] * self.rank
    high[-1] = rows - columns
    vectors = ops.pad(self, 0, [0] * self.rank, high) if columns < rows else self
    matrix = _householder_product(out, vectors, input2)
    matrix = adjoint(matrix) if transpose else matrix
    return product(matrix, input3) if left else product(input3, matrix)


# ---------------------------------------------------------------------- eigenvalues and singular values


def eigh(
    out: Sequence[RankedTensorType], A: Tensor, UPLO: str = "L", compute_v: bool = True
) -> tuple[Tensor, ...]:
    """The eigenvalues of Hermitian matrices, ascending, and the eigenvectors."""
    rows, real = sizes(A.type)[-1], REAL.get(A.element_type, A.element_type)
    types = [A.type, typed(A, [rows], real), typed(A, [], "i32")]
    mode = "V" if compute_v else "N"
    vectors, values, _ = lapack("syevd", [A], types, A.rank - 2, mode=mode, uplo=UPLO.upper())
    return values, vectors if compute_v else filled(out[1], 0)


def svd(
    out: Sequence[RankedTensorType],
    A: Tensor,
    full_matrices: bool = False,
    compute_uv: bool = True,
    **_: object,
) -> tuple[Tensor, ...]:
    """U, the singular values, and V^H."""
    rows, columns = rows_and_columns(A)
    least, real = min(rows, columns), REAL.get(A.element_type, A.element_type)
    whole = full_matrices or not compute_uv
    kept = (rows, columns) if whole else (least, least)
    types = [
        A.type,
        typed(A, [least], real),
        typed(A, [rows, kept[0]]),
        typed(A, [kept[1], columns]),
        typed(A, [], "i32"),
    ]
    mode = ("A" if full_matrices else "S") if compute_uv else "N"
    values, u, vh = lapack("gesdd", [A], types, A.rank - 2, mode=mode)[1:4]
    return (u, values, vh) if compute_uv else (filled(out[0], 0), values, filled(out[2], 0))


def _like(given: Operand | None, tensor: Tensor) -> Tensor:
    """A tolerance, a number, a tensor or none, for each element of a tensor."""
    if not isinstance(given, Tensor):
        return filled(tensor.type, given or 0)
    return ops.broadcast_to(convert(given, tensor.element_type), sizes(tensor.type))


def _pseudoinverse(
    out: RankedTensorType,
    self: Tensor,
    *,
    atol: Operand | None = None,
    rtol: Operand | None = None,
    hermitian: bool = False,
) -> Tensor:
    """V S^-1 U^H of the singular values above the tolerances."""
    if 0 in self.shape:
        return filled(out, 0)
    if hermitian:  # torch reads the lower triangle
        lower = triangle(self, upper=False)
        row, column = positions(self)
        self = ops.select(ops.compare(row, column, "LT"), adjoint(lower), lower)
    least, real = min(rows_and_columns(self)), REAL.get(self.element_type, self.element_type)
    u, values, vh = svd((typed(self, []), typed(self, [least], real), typed(self, [])), self)
    largest = reduce_max(values, (values.rank - 1,))
    floor = ops.maximum(largest * _like(rtol, largest), _like(atol, largest))
    kept = values > ops.broadcast_in_dim(floor, sizes(values.type), range(values.rank - 1))
    inverse = ops.select(kept, ops.divide(1, ops.select(kept, values, 1)), 0)
    spread = ops.broadcast_in_dim(
        convert(inverse, u.element_type), sizes(u.type), (*range(u.rank - 2), u.rank - 1)
    )
    return adjoint(product(u * spread, vh))


def _eigen(A: Tensor, *, vectors: bool) -> tuple[Tensor, Tensor]:
    """Eigenvalues and right eigenvectors, both complex."""
    rows, wide = sizes(A.type)[-1], COMPLEX.get(A.element_type, A.element_type)
    values = [typed(A, [rows])] * (1 if A.element_type in REAL else 2)
    types = [*values, typed(A, [rows, rows], wide), typed(A, [rows, rows], wide), typed(A, [], "i32")]
    right = "V" if vectors else "N"
    *parts, _, found, _ = lapack("geev", [A], types, A.rank - 2, compute_left="N", compute_right=right)
    return (ops.complex(*parts) if len(parts) > 1 else parts[0]), found


def _eig(out: Sequence[RankedTensorType], self: Tensor) -> tuple[Tensor, Tensor]:
    return _eigen(self, vectors=True)


def _eigenvalues(out: RankedTensorType, self: Tensor) -> Tensor:
    return shaped(_eigen(self, vectors=False)[0], out)


ROWS: dict[str, Row] = {
    "_linalg_eigvals": _eigenvalues,
    "_linalg_eigh": eigh,
    "_linalg_svd": svd,
    "geqrf": _geqrf,
    "linalg_eig": _eig,
    "linalg_householder_product": _householder_product,
    "linalg_pinv": _pseudoinverse,
    "linalg_qr": _qr,
    "ormqr": _ormqr,
}
"""The rows by the name of the op without overload."""
