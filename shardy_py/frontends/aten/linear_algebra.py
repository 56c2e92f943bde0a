"""ATen's matrix decompositions and solvers: `ROWS` by name, as in `pointwise.py`.

Triangular systems and Cholesky factors are ops of StableHLO; other factors are custom calls of LAPACK's routines, as
JAX emits them for a CPU. Dimensions before the last two are a batch, which may be sharded; matrices are kept whole.
Infos of routines tell of success: no row checks an input.

Not here: products (`products.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType as TensorTypeAttr,
)

from shardy_py.api import ShardyError
from shardy_py.builder import (
    Tensor,
    TensorType,
    dot_general,
    ops,
    reduce_max,
    reduce_prod,
    reduce_sum,
    while_loop,
)
from shardy_py.frontends.aten.elements import convert, filled, sizes
from shardy_py.frontends.aten.reductions import shaped
from shardy_py.frontends.aten.shapes import along_dimension, diagonal, part
from shardy_py.rules import einsum_rule

_LETTERS = {"f32": "s", "f64": "d", "complex<f32>": "c", "complex<f64>": "z"}
_REAL = {"complex<f32>": "f32", "complex<f64>": "f64"}
_COMPLEX = {"f32": "complex<f32>", "f64": "complex<f64>"}
_OF_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd"}


# ---------------------------------------------------------------------- LAPACK


def _lapack(
    routine: str, operands: Sequence[Tensor], results: Sequence[TensorType], batch: int, **options: str
) -> tuple[Tensor, ...]:
    """A routine of LAPACK on the last dimensions of tensors; options: the letters it takes."""
    if any(0 in tensor.shape for tensor in operands):
        return tuple(filled(type_, 0) for type_ in results)
    element = operands[0].element_type
    name = _OF_COMPLEX.get(routine, routine) if element in _REAL else routine
    types = [tensor.type for tensor in operands]
    config = {
        key: IntegerAttr(ord(value), IntegerType(8, Signedness.UNSIGNED)) for key, value in options.items()
    }
    return ops.custom_call(
        f"lapack_{_LETTERS[element]}{name}_ffi",
        operands,
        list(results),
        sharding_rule=_batch_rule(types, results, batch),
        operand_layouts=_column_major(types, batch),
        result_layouts=_column_major(results, batch),
        backend_config="",
        **{
            "mhlo.backend_config": DictionaryAttr(config),
            "mhlo.frontend_attributes": DictionaryAttr({"num_batch_dims": StringAttr(str(batch))}),
        },
    )


def _batch_rule(operands: Sequence[TensorType], results: Sequence[TensorType], batch: int) -> Any:
    """The rule of an op that keeps batches apart, and needs all other dimensions whole."""
    own: list[str] = []

    def notation(types: Sequence[TensorType]) -> str:
        terms: list[str] = []
        for type_ in types:
            names = [f"own{len(own) + i}" for i in range(len(type_.shape) - batch)]
            own.extend(names)
            terms.append(" ".join([*(f"batch{i}" for i in range(batch)), *names]))
        return ", ".join(terms)

    text = f"{notation(operands)} -> {notation(results)}"
    return partial(einsum_rule, text, need_replication=own)


def _column_major(types: Sequence[TensorType], batch: int) -> ArrayAttr[Any]:
    """The layouts of matrices as LAPACK has them, the first index fastest; of batches row-major."""
    layouts: list[DenseIntOrFPElementsAttr] = []
    for type_ in types:
        rank = len(type_.shape)
        order = [*range(batch, rank), *reversed(range(batch))]
        layouts.append(DenseIntOrFPElementsAttr.from_list(TensorTypeAttr(IndexType(), [rank]), order))
    return ArrayAttr(layouts)


def _typed(tensor: Tensor, last: Sequence[int], element_type: str = "") -> TensorType:
    """A type with the batch of a matrix and other last dimensions."""
    return TensorType((*tensor.shape[:-2], *last), element_type or tensor.element_type)


def _rows_and_columns(tensor: Tensor) -> tuple[int, int]:
    rows, columns = sizes(tensor.type)[-2:]
    return rows, columns


# ---------------------------------------------------------------------- parts of matrices


def _positions(tensor: Tensor) -> tuple[Tensor, Tensor]:
    shape = sizes(tensor.type)
    return ops.iota(shape, len(shape) - 2), ops.iota(shape, len(shape) - 1)


def _triangle(tensor: Tensor, *, upper: bool, unit: bool = False) -> Tensor:
    """A triangle of matrices, zeros elsewhere. unit: with ones on the diagonal."""
    row, column = _positions(tensor)
    kept = ops.select(ops.compare(row, column, "LE" if upper else "GE"), tensor, 0)
    return ops.select(ops.compare(row, column, "EQ"), 1, kept) if unit else kept


def _identity(type_: TensorType) -> Tensor:
    zeros = filled(type_, 0)
    row, column = _positions(zeros)
    return ops.select(ops.compare(row, column, "EQ"), 1, zeros)


def _adjoint(tensor: Tensor) -> Tensor:
    """The transpose of matrices, of complex ones the conjugate transpose."""
    order = [*range(tensor.rank - 2), tensor.rank - 1, tensor.rank - 2]
    turned = ops.transpose(tensor, order)
    return ops.complex(ops.real(turned), -ops.imag(turned)) if tensor.element_type in _REAL else turned


def _product(lhs: Tensor, rhs: Tensor) -> Tensor:
    batch = tuple(range(lhs.rank - 2))
    return dot_general(lhs, rhs, ((lhs.rank - 1,), (rhs.rank - 2,)), (batch, batch))


def _with_batch(tensor: Tensor, batch: Sequence[int]) -> Tensor:
    return ops.broadcast_to(tensor, (*batch, *sizes(tensor.type)[-2:]))


def _solved(
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
        _with_batch(matrix, batch),
        _with_batch(right, batch),
        left_side=left,
        lower=not upper,
        unit_diagonal=unit,
        transpose_a=transposed,
    )


# ---------------------------------------------------------------------- Cholesky


def _cholesky(out: TensorType, self: Tensor, upper: bool = False) -> Tensor:
    factor = ops.cholesky(_adjoint(self) if upper else self, lower=True)
    factor = _triangle(factor, upper=False)
    return _adjoint(factor) if upper else factor


def _cholesky_ex(out: Sequence[TensorType], self: Tensor, *, upper: bool = False, **_: Any) -> Any:
    return _cholesky(out[0], self, upper), filled(out[1], 0)


def _cholesky_solve(out: TensorType, self: Tensor, A: Tensor, upper: bool = False) -> Tensor:
    """L L^H X = self, given L, or U^H U X = self."""
    first, second = ("ADJOINT", "NO_TRANSPOSE") if upper else ("NO_TRANSPOSE", "ADJOINT")
    half = _solved(A, self, upper=upper, transposed=first)
    return _solved(A, half, upper=upper, transposed=second)


def _cholesky_inverse(out: TensorType, self: Tensor, upper: bool = False) -> Tensor:
    return _cholesky_solve(out, _identity(self.type), self, upper)


def _solve_triangular(
    out: TensorType, self: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    return _solved(self, B, left=left, upper=upper, unit=unitriangular)


def _triangular_solve(
    out: Sequence[TensorType],
    self: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[Tensor, Tensor]:
    transposed = "TRANSPOSE" if transpose else "NO_TRANSPOSE"
    result = _solved(A, self, upper=upper, unit=unitriangular, transposed=transposed)
    return result, ops.broadcast_to(A, sizes(out[1]))


# ---------------------------------------------------------------------- LU


def _factored(self: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """L, without its diagonal of ones, and U in one matrix; the row that row i was exchanged with, from 1."""
    if not pivot:
        raise ShardyError.unsupported("LU without pivots", remedy="factor with pivot=True")
    least = min(_rows_and_columns(self))
    types = [self.type, _typed(self, [least], "i32"), _typed(self, [], "i32")]
    factors, pivots, _ = _lapack("getrf", [self], types, self.rank - 2)
    return factors, pivots


def _permutation(pivots: Tensor, rows: int) -> Tensor:
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
    initial = (ops.constant(0, "i32", ()), order)
    return while_loop(lambda step, _: step < steps, exchanged, initial)[1]


def _permuted(order: Tensor, right: Tensor) -> Tensor:
    """The rows of matrices in an order."""
    shape = sizes(right.type)
    index = ops.broadcast_in_dim(convert(order, "i64"), shape, range(right.rank - 1))
    return along_dimension(right, right.rank - 2, index)


def _unordered(order: Tensor, element_type: str) -> Tensor:
    """The permutation matrix P with P L U the matrix, given the order of rows of L U."""
    batch, rows = sizes(order.type)[:-1], sizes(order.type)[-1]
    shape = (*batch, rows, rows)
    rank = len(shape)
    spread = ops.broadcast_in_dim(order, shape, (*range(rank - 2), rank - 1))
    return convert(ops.compare(ops.iota(shape, rank - 2), spread, "EQ"), element_type)


def _lower_and_upper(factors: Tensor) -> tuple[Tensor, Tensor]:
    rows, columns = _rows_and_columns(factors)
    least, rank = min(rows, columns), factors.rank
    lower = _triangle(part(factors, rank - 1, 0, least), upper=False, unit=True)
    return lower, _triangle(part(factors, rank - 2, 0, least), upper=True)


def _lu_factor(out: Sequence[TensorType], A: Tensor, *, pivot: bool = True, **_: Any) -> tuple[Tensor, ...]:
    factors, pivots = _factored(A, pivot=pivot)
    return factors, pivots, *(filled(type_, 0) for type_ in out[2:])


def _lu(out: Sequence[TensorType], A: Tensor, *, pivot: bool = True) -> tuple[Tensor, ...]:
    factors, pivots = _factored(A, pivot=pivot)
    order = _permutation(pivots, _rows_and_columns(A)[0])
    return _unordered(order, A.element_type), *_lower_and_upper(factors)


def _lu_unpack(
    out: Sequence[TensorType],
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> tuple[Tensor | None, ...]:
    order = _permutation(LU_pivots, _rows_and_columns(LU_data)[0]) if unpack_pivots else None
    matrix = filled(out[0], 0) if order is None else _unordered(order, LU_data.element_type)
    lower, upper = _lower_and_upper(LU_data) if unpack_data else (filled(out[1], 0), filled(out[2], 0))
    return matrix, lower, upper


def _solved_by_factors(factors: Tensor, pivots: Tensor, right: Tensor) -> Tensor:
    order = _permutation(pivots, _rows_and_columns(factors)[0])
    batch = np.broadcast_shapes(sizes(factors.type)[:-2], sizes(right.type)[:-2])
    order = ops.broadcast_to(order, (*batch, sizes(order.type)[-1]))
    half = _solved(factors, _permuted(order, _with_batch(right, batch)), upper=False, unit=True)
    return _solved(factors, half, upper=True)


def _lu_solve(
    out: TensorType, LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """P L U X = B; from the right, X P L U = B; adjoint: with the adjoint of P L U."""
    if not left:
        # X M = B is M^H X^H = B^H.
        return _adjoint(_lu_solve(out, LU, pivots, _adjoint(B), adjoint=not adjoint))
    if not adjoint:
        return _solved_by_factors(LU, pivots, B)
    half = _solved(LU, B, upper=True, transposed="ADJOINT")
    half = _solved(LU, half, upper=False, unit=True, transposed="ADJOINT")
    order = _permutation(pivots, _rows_and_columns(LU)[0])
    batch = sizes(half.type)[:-2]
    matrix = _with_batch(_unordered(order, half.element_type), batch)
    return _product(matrix, half)


def _solve(
    out: Sequence[TensorType], A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False
) -> tuple[Tensor, ...]:
    is_vector = B.rank == 1 or sizes(B.type) == sizes(A.type)[:-1]
    factors, pivots = _factored(A)
    right = ops.reshape(B, (*sizes(B.type), 1)) if is_vector else B
    if left:
        result = _solved_by_factors(factors, pivots, right)
    else:
        result = _lu_solve(out[0], factors, pivots, right, left=False)
    return ops.reshape(result, sizes(out[0])), factors, pivots, *(filled(type_, 0) for type_ in out[3:])


def _inverse(out: Sequence[TensorType], A: Tensor, **_: Any) -> tuple[Tensor, ...]:
    factors, pivots = _factored(A)
    return _solved_by_factors(factors, pivots, _identity(A.type)), *(filled(type_, 0) for type_ in out[1:])


def _parity(pivots: Tensor, element_type: str) -> Tensor:
    """The determinant of the exchanges: -1 to the power of their number."""
    shape = sizes(pivots.type)
    moved = ops.compare(pivots, ops.iota(shape, len(shape) - 1) + 1, "NE")
    return reduce_prod(
        convert(ops.select(moved, filled(pivots.type, -1), 1), element_type), (len(shape) - 1,)
    )


def _factored_for_determinant(A: Tensor) -> tuple[Tensor, Tensor]:
    """As torch does: of a real matrix the factors of its transpose."""
    is_real = A.element_type not in _REAL
    return _factored(_adjoint(A) if is_real else A)


def _determinant(out: Sequence[TensorType], A: Tensor) -> tuple[Tensor, ...]:
    factors, pivots = _factored_for_determinant(A)
    found = diagonal(factors, A.rank - 2, A.rank - 1)
    result = reduce_prod(found, (A.rank - 2,)) * _parity(pivots, A.element_type)
    return result, factors, pivots


def _log_determinant(out: Sequence[TensorType], A: Tensor) -> tuple[Tensor, ...]:
    """The sign, or phase, and the logarithm of the magnitude of the determinant."""
    factors, pivots = _factored_for_determinant(A)
    found = diagonal(factors, A.rank - 2, A.rank - 1)
    signs = reduce_prod(ops.sign(found), (A.rank - 2,)) * _parity(pivots, A.element_type)
    return signs, reduce_sum(ops.log(ops.abs(found)), (A.rank - 2,)), factors, pivots


# ---------------------------------------------------------------------- QR


def _reflectors(self: Tensor) -> tuple[Tensor, Tensor]:
    """R with the Householder vectors below it, and their factors."""
    least = min(_rows_and_columns(self))
    packed, factors = _lapack("geqrf", [self], [self.type, _typed(self, [least])], self.rank - 2)
    return packed, factors


def _geqrf(out: Sequence[TensorType], self: Tensor) -> tuple[Tensor, ...]:
    return _reflectors(self)


def _householder_product(out: TensorType, input: Tensor, tau: Tensor) -> Tensor:
    return _lapack("orgqr", [input, tau], [input.type], input.rank - 2)[0]


def _qr(out: Sequence[TensorType], A: Tensor, mode: str = "reduced") -> tuple[Tensor, ...]:
    packed, factors = _reflectors(A)
    rows, columns = _rows_and_columns(A)
    least, rank = min(rows, columns), A.rank
    kept = rows if mode == "complete" else least
    upper = _triangle(part(packed, rank - 2, 0, kept), upper=True)
    if mode == "r":
        return filled(out[0], 0), upper
    vectors = part(packed, rank - 1, 0, min(columns, kept))
    if columns < kept:
        high = [0] * rank
        high[-1] = kept - columns
        vectors = ops.pad(vectors, 0, [0] * rank, high)
    return _householder_product(out[0], vectors, factors), upper


def _ormqr(
    out: TensorType, self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """Q input3, or input3 Q, or with the adjoint of Q, from reflectors and factors; Q is square."""
    rows, columns = _rows_and_columns(self)
    high = [0] * self.rank
    high[-1] = rows - columns
    vectors = ops.pad(self, 0, [0] * self.rank, high) if columns < rows else self
    matrix = _householder_product(out, vectors, input2)
    matrix = _adjoint(matrix) if transpose else matrix
    return _product(matrix, input3) if left else _product(input3, matrix)


# ---------------------------------------------------------------------- eigenvalues and singular values


def _eigh(
    out: Sequence[TensorType], A: Tensor, UPLO: str = "L", compute_v: bool = True
) -> tuple[Tensor, ...]:
    rows, real = sizes(A.type)[-1], _REAL.get(A.element_type, A.element_type)
    types = [A.type, _typed(A, [rows], real), _typed(A, [], "i32")]
    mode = "V" if compute_v else "N"
    vectors, values, _ = _lapack("syevd", [A], types, A.rank - 2, mode=mode, uplo=UPLO.upper())
    return values, vectors if compute_v else filled(out[1], 0)


def _svd(
    out: Sequence[TensorType], A: Tensor, full_matrices: bool = False, compute_uv: bool = True, **_: Any
) -> tuple[Tensor, ...]:
    rows, columns = _rows_and_columns(A)
    least, real = min(rows, columns), _REAL.get(A.element_type, A.element_type)
    whole = full_matrices or not compute_uv
    kept = (rows, columns) if whole else (least, least)
    types = [
        A.type,
        _typed(A, [least], real),
        _typed(A, [rows, kept[0]]),
        _typed(A, [kept[1], columns]),
        _typed(A, [], "i32"),
    ]
    mode = ("A" if full_matrices else "S") if compute_uv else "N"
    _, values, u, vh, _ = _lapack("gesdd", [A], types, A.rank - 2, mode=mode)
    return (u, values, vh) if compute_uv else (filled(out[0], 0), values, filled(out[2], 0))


def _like(given: Any, tensor: Tensor) -> Tensor:
    """A tolerance, a number, a tensor or none, for each element of a tensor."""
    if not isinstance(given, Tensor):
        return filled(tensor.type, given or 0)
    return ops.broadcast_to(convert(given, tensor.element_type), sizes(tensor.type))


def _pseudoinverse(
    out: TensorType, self: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Tensor:
    """V S^-1 U^H of the singular values above the tolerances."""
    if 0 in self.shape:
        return filled(out, 0)
    if hermitian:  # torch reads the lower triangle
        lower = _triangle(self, upper=False)
        row, column = _positions(self)
        self = ops.select(ops.compare(row, column, "LT"), _adjoint(lower), lower)
    least, real = min(_rows_and_columns(self)), _REAL.get(self.element_type, self.element_type)
    u, values, vh = _svd((_typed(self, []), _typed(self, [least], real), _typed(self, [])), self)
    largest = reduce_max(values, (values.rank - 1,))
    floor = ops.maximum(largest * _like(rtol, largest), _like(atol, largest))
    kept = values > ops.broadcast_in_dim(floor, sizes(values.type), range(values.rank - 1))
    inverse = ops.select(kept, ops.divide(1, ops.select(kept, values, 1)), 0)
    spread = ops.broadcast_in_dim(
        convert(inverse, u.element_type), sizes(u.type), (*range(u.rank - 2), u.rank - 1)
    )
    return _adjoint(_product(u * spread, vh))


def _eigen(A: Tensor, *, vectors: bool) -> tuple[Tensor, Tensor]:
    """Eigenvalues and right eigenvectors, both complex."""
    rows, wide = sizes(A.type)[-1], _COMPLEX.get(A.element_type, A.element_type)
    values = [_typed(A, [rows])] * (1 if A.element_type in _REAL else 2)
    types = [*values, _typed(A, [rows, rows], wide), _typed(A, [rows, rows], wide), _typed(A, [], "i32")]
    right = "V" if vectors else "N"
    *parts, _, found, _ = _lapack("geev", [A], types, A.rank - 2, compute_left="N", compute_right=right)
    return (ops.complex(*parts) if len(parts) > 1 else parts[0]), found


def _eig(out: Sequence[TensorType], self: Tensor) -> tuple[Tensor, Tensor]:
    return _eigen(self, vectors=True)


def _eigenvalues(out: TensorType, self: Tensor) -> Tensor:
    return shaped(_eigen(self, vectors=False)[0], out)


ROWS: dict[str, Callable[..., Any]] = {
    "_linalg_eigvals": _eigenvalues,
    "_linalg_det": _determinant,
    "_linalg_eigh": _eigh,
    "_linalg_slogdet": _log_determinant,
    "_linalg_solve_ex": _solve,
    "_linalg_svd": _svd,
    "cholesky": _cholesky,
    "cholesky_inverse": _cholesky_inverse,
    "cholesky_solve": _cholesky_solve,
    "geqrf": _geqrf,
    "linalg_cholesky_ex": _cholesky_ex,
    "linalg_eig": _eig,
    "linalg_householder_product": _householder_product,
    "linalg_inv_ex": _inverse,
    "linalg_lu": _lu,
    "linalg_lu_factor_ex": _lu_factor,
    "linalg_lu_solve": _lu_solve,
    "linalg_pinv": _pseudoinverse,
    "linalg_qr": _qr,
    "linalg_solve_triangular": _solve_triangular,
    "lu_unpack": _lu_unpack,
    "ormqr": _ormqr,
    "triangular_solve": _triangular_solve,
}
"""The rows by the name of the op without overload."""
