"""ATen's factors of symmetric indefinite matrices, and systems solved by them: `ROWS` by name.

    A = P L D L^T P^T       L with ones on its diagonal, D of blocks of one or two rows

Bunch and Kaufman, "Some Stable Methods for Calculating Inertia and Solving Symmetric Linear Systems", with
partial pivoting, in the form of LAPACK's `sytrf` and `hetrf`: of the lower triangles, pivots counted from 1,
and negative, twice, for a block of two rows. XLA has no such routine: a loop eliminates a block of each
matrix in a step. All matrices of a batch are in the same loop, each at its own row; a batch may be sharded.

Not here: LU and Cholesky factors (`linear_algebra.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shardy_py.frontends.aten.elements import Row, convert, filled, sizes
from shardy_py.frontends.aten.linear_algebra import permutation, permuted, solved, unordered
from shardy_py.frontends.aten.matrices import (
    REAL,
    adjoint,
    positions,
    product,
    transpose,
    triangle,
    typed,
    with_batch,
)
from shardy_py.frontends.aten.reductions import cumulative, extremes
from shardy_py.frontends.builder import (
    RankedTensorType,
    Tensor,
    ops,
    reduce_max,
    reduce_sum,
    while_loop,
)

_ALPHA = (1 + np.sqrt(17)) / 8
"""The least pivot of one row, relative to the elements beside it, which bounds their growth."""


# ---------------------------------------------------------------------- parts of matrices


def _in_matrix(tensor: Tensor, matrix: Tensor, *, by: str) -> Tensor:
    """A number of each matrix, or a vector by rows or columns, repeated to matrices."""
    rank = matrix.rank
    last = {"matrix": (), "row": (rank - 2,), "column": (rank - 1,)}[by]
    return ops.broadcast_in_dim(tensor, sizes(matrix.type), (*range(rank - 2), *last))


def _in_vector(number: Tensor, vector: Tensor) -> Tensor:
    return ops.broadcast_in_dim(number, sizes(vector.type), range(vector.rank - 1))


def _is_at(vector: Tensor, number: Tensor, direction: str = "EQ") -> Tensor:
    """Compares the place of each element of vectors with a number of each."""
    places = ops.iota(sizes(vector.type), vector.rank - 1, number.element_type)
    return ops.compare(places, _in_vector(number, vector), direction)


def _element(vector: Tensor, number: Tensor) -> Tensor:
    """The element at a place of each vector; 0 beyond its end."""
    return reduce_sum(ops.select(_is_at(vector, number), vector, 0), (vector.rank - 1,))


def _line(matrix: Tensor, number: Tensor, *, of: str) -> Tensor:
    """The row or column of each matrix with a number; 0 beyond the last."""
    place = positions(matrix)[of == "column"]
    here = ops.compare(place, _in_matrix(number, matrix, by="matrix"), "EQ")
    return reduce_sum(ops.select(here, matrix, 0), (matrix.rank - (1 if of == "column" else 2),))


def _exchanged(matrix: Tensor, first: Tensor, second: Tensor, kept: Tensor, *, of: str) -> Tensor:
    """Two rows or columns of each matrix exchanged, but for elements that are kept."""
    across = "row" if of == "column" else "column"
    place = positions(matrix)[of == "column"]
    result = matrix
    for number, other in ((first, second), (second, first)):
        here = ops.compare(place, _in_matrix(number, matrix, by="matrix"), "EQ")
        moved = _in_matrix(_line(matrix, other, of=of), matrix, by=across)
        result = ops.select(ops.and_(here, ops.not_(kept)), moved, result)
    return result


def _conjugate(tensor: Tensor, *, hermitian: bool) -> Tensor:
    return ops.complex(ops.real(tensor), -ops.imag(tensor)) if hermitian else tensor


def _magnitude(tensor: Tensor) -> Tensor:
    """LAPACK's magnitude of a pivot: of a complex number the sum of those of its parts."""
    if tensor.element_type not in REAL:
        return ops.abs(tensor)
    return ops.abs(ops.real(tensor)) + ops.abs(ops.imag(tensor))


def _divided(numerator: Tensor, denominator: Tensor) -> Tensor:
    """The quotient; the numerator where the denominator is 0, as of a column of zeros."""
    is_zero = ops.compare(denominator, 0, "EQ")
    return numerator / ops.select(is_zero, 1, denominator)


# ---------------------------------------------------------------------- factors


def _factors(
    out: Sequence[RankedTensorType], self: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[Tensor, ...]:
    """L and D in one lower triangle, the pivots, and 0: no row checks its operand."""
    rows = sizes(self.type)[-1]
    if 0 in self.shape:
        return tuple(filled(type_, 0) for type_ in out)
    hermitian = hermitian and self.element_type in REAL

    def eliminated(step: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        return step + 1, *_eliminated(*state, hermitian=hermitian)

    start = filled(typed(self, [], "i32"), 0)
    init = ops.constant(0, "i32", ()), start, _whole(self, hermitian=hermitian), filled(out[1], 0)
    # A fixed number of steps: matrices on other devices need not be waited for.
    _, _, matrix, pivots = while_loop(_is_before(rows), eliminated, init)
    factors = triangle(_with_real_diagonal(matrix) if hermitian else matrix, upper=False)
    return factors, pivots, filled(out[2], 0)


def _is_before(count: int) -> Callable[..., Tensor]:
    def goes_on(step: Tensor, *_: Tensor) -> Tensor:
        return step < count

    return goes_on


def _whole(self: Tensor, *, hermitian: bool) -> Tensor:
    """The symmetric or Hermitian matrix that has this lower triangle."""
    lower = triangle(_with_real_diagonal(self) if hermitian else self, upper=False)
    row, column = positions(self)
    above = adjoint(lower) if hermitian else transpose(lower)
    return ops.select(ops.compare(row, column, "LT"), above, lower)


def _with_real_diagonal(matrix: Tensor) -> Tensor:
    row, column = positions(matrix)
    real = convert(ops.real(matrix), matrix.element_type)
    return ops.select(ops.compare(row, column, "EQ"), real, matrix)


def _eliminated(start: Tensor, matrix: Tensor, pivots: Tensor, *, hermitian: bool) -> tuple[Tensor, ...]:
    """One block of each matrix eliminated from the rows behind it; `start` is its first row.

    What is left of a matrix is whole, its columns before `start` are those of L and D. A matrix that has no
    rows left stays as it is.
    """
    pivot, is_pair = _pivot(start, matrix)
    after = start + 1 + convert(is_pair, "i32")
    row, column = positions(matrix)
    begin = _in_matrix(start, matrix, by="matrix")
    last = after - 1
    matrix = _exchanged(matrix, last, pivot, ops.compare(column, begin, "LT"), of="row")
    matrix = _exchanged(matrix, last, pivot, ops.compare(row, begin, "LT"), of="column")

    first, second = (_line(matrix, number, of="column") for number in (start, start + 1))
    factors = _of_block(first, second, start, is_pair, hermitian=hermitian)
    spread = [
        (
            _in_matrix(each, matrix, by="row"),
            _in_matrix(_conjugate(factor, hermitian=hermitian), matrix, by="column"),
        )
        for each, factor in zip((first, second), factors, strict=True)
    ]
    ends = _in_matrix(after, matrix, by="matrix")
    is_below = ops.compare(row, ends, "GE")
    is_left = ops.and_(is_below, ops.compare(column, ends, "GE"))
    taken = spread[0][0] * spread[0][1] + spread[1][0] * spread[1][1]
    result = ops.select(is_left, matrix - taken, matrix)
    for number, factor in zip((start, start + 1), factors, strict=True):
        here = ops.compare(column, _in_matrix(number, matrix, by="matrix"), "EQ")
        inside = ops.compare(_in_matrix(number, matrix, by="matrix"), ends, "LT")
        is_factor = ops.and_(ops.and_(is_below, here), inside)
        result = ops.select(is_factor, _in_matrix(factor, matrix, by="row"), result)

    named = ops.select(is_pair, -(pivot + 1), pivot + 1)
    is_of_block = ops.and_(_is_at(pivots, start, "GE"), _is_at(pivots, after, "LT"))
    return after, result, ops.select(is_of_block, _in_vector(named, pivots), pivots)


def _pivot(start: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The row that comes to the end of the next block of each matrix, and whether that has two rows."""
    column = _line(matrix, start, of="column")
    own = _magnitude(_element(column, start))
    size = ops.select(_is_at(column, start, "GT"), _magnitude(column), -1)
    found, place = extremes("GT", size, size.rank - 1)
    largest, place = ops.maximum(found, 0), convert(place, "i32")
    other = _line(matrix, place, of="column")
    beside = ops.and_(_is_at(other, start, "GE"), _is_at(other, place, "NE"))
    row_largest = reduce_max(ops.select(beside, _magnitude(other), 0), (other.rank - 1,))
    stays = ops.or_(
        ops.compare(own, largest * _ALPHA, "GE"),
        ops.compare(own, largest * _ALPHA * _divided(largest, row_largest), "GE"),
    )
    is_one = ops.compare(_magnitude(_element(other, place)), row_largest * _ALPHA, "GE")
    return ops.select(stays, start, place), ops.not_(ops.or_(stays, is_one))


def _of_block(
    first: Tensor, second: Tensor, start: Tensor, is_pair: Tensor, *, hermitian: bool
) -> tuple[Tensor, Tensor]:
    """The columns of L of the next block: those of the matrix times the inverse of the block."""
    a, b, c = _element(first, start), _element(first, start + 1), _element(second, start + 1)
    inverse = _inverse(a, b, c, hermitian=hermitian)
    a, b, other, c = (_in_vector(number, first) for number in inverse)
    pair = _in_vector(is_pair, first)
    alone = _divided(first, _in_vector(_element(first, start), first))
    return ops.select(pair, first * a + second * b, alone), ops.select(pair, first * other + second * c, 0)


def _inverse(a: Tensor, b: Tensor, c: Tensor, *, hermitian: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The inverses of [[a, b*], [b, c]] by columns, scaled by |b| as LAPACK does.

    [[c, -b*], [-b, a]] / (a c - b b*); b* is b for symmetric matrices, its conjugate for Hermitian ones.
    """
    size = convert(ops.abs(b), b.element_type)
    a, b, c = (_divided(each, size) for each in (a, b, c))
    conjugate = _conjugate(b, hermitian=hermitian)
    scale = _divided(filled(a.type, 1), size * (a * c - b * conjugate))
    return c * scale, -b * scale, -conjugate * scale, a * scale


# ---------------------------------------------------------------------- systems


def _solution(
    out: RankedTensorType, LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False
) -> Tensor:
    """X of P L D L^T P^T X = B."""
    if 0 in (*LD.shape, *B.shape):
        return filled(out, 0)
    hermitian = hermitian and LD.element_type in REAL
    ends = _ends_of_pairs(pivots)
    exchanges = _exchanges(pivots, ends)
    lower = _standard(LD, exchanges, ends)
    batch = np.broadcast_shapes(sizes(LD.type)[:-2], sizes(B.type)[:-2])
    order = permutation(exchanges, sizes(LD.type)[-1])
    spread = ops.broadcast_to(order, (*batch, sizes(order.type)[-1]))
    half = solved(lower, permuted(spread, with_batch(B, batch)), upper=False, unit=True)
    half = _by_blocks(LD, ends, half, hermitian=hermitian)
    turned = "ADJOINT" if hermitian else "TRANSPOSE"
    half = solved(lower, half, upper=False, unit=True, transposed=turned)
    return product(unordered(spread, half.element_type), half)


def _ends_of_pairs(pivots: Tensor) -> Tensor:
    """True for the second row of each block of two."""
    is_pair = pivots < 0
    passed = cumulative("add", convert(is_pair, "i32"), pivots.rank - 1)
    return ops.and_(is_pair, ops.compare(ops.remainder(passed, 2), 0, "EQ"))


def _exchanges(pivots: Tensor, ends: Tensor) -> Tensor:
    """The row that each row was exchanged with, from 1: the first of a block of two with none."""
    places = ops.iota(sizes(pivots.type), pivots.rank - 1, "i32") + 1
    return ops.select(pivots > 0, pivots, ops.select(ends, -pivots, places))


def _standard(LD: Tensor, exchanges: Tensor, ends: Tensor) -> Tensor:
    """L below its diagonal: with the later exchanges of rows, which LAPACK leaves out, and without D."""
    rows = sizes(LD.type)[-1]
    row, column = positions(LD)
    is_of_block = ops.and_(ops.compare(row, column + 1, "EQ"), _in_matrix(ends, LD, by="row"))

    def exchanged(step: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor]:
        number = ops.broadcast_to(step, sizes(exchanges.type)[:-1])
        first = number - convert(_bit(ends, number), "i32")
        kept = ops.compare(positions(matrix)[1], _in_matrix(first, matrix, by="matrix"), "GE")
        return step + 1, _exchanged(matrix, number, _element(exchanges, number) - 1, kept, of="row")

    init = ops.constant(0, "i32", ()), ops.select(is_of_block, 0, LD)
    return while_loop(_is_before(rows), exchanged, init)[1]


def _bit(vector: Tensor, number: Tensor) -> Tensor:
    return _element(convert(vector, "i32"), number) > 0


def _by_blocks(LD: Tensor, ends: Tensor, right: Tensor, *, hermitian: bool) -> Tensor:
    """D^-1 right."""
    diagonal = reduce_sum(ops.select(_on_diagonal(LD, 0), LD, 0), (LD.rank - 1,))
    # At the first row of a block of two, and at its second.
    starts = _shifted(convert(ends, "i32"), -1) > 0
    beside = reduce_sum(ops.select(_on_diagonal(LD, 1), LD, 0), (LD.rank - 2,))
    b = ops.select(starts, beside, 0)
    c = _shifted(diagonal, -1)
    upper_left, lower_left, upper_right, lower_right = _inverse(diagonal, b, c, hermitian=hermitian)
    alone = _divided(filled(diagonal.type, 1), diagonal)
    own = ops.select(starts, upper_left, ops.select(ends, _shifted(lower_right, 1), alone))
    other = ops.select(starts, upper_right, ops.select(ends, _shifted(lower_left, 1), 0))
    batch = sizes(right.type)[:-2]
    own, other, is_first = (
        _in_matrix(ops.broadcast_to(each, (*batch, sizes(each.type)[-1])), right, by="row")
        for each in (own, other, starts)
    )
    neighbour = ops.select(is_first, _shifted(right, -1, 2), _shifted(right, 1, 2))
    return own * right + other * neighbour


def _on_diagonal(matrix: Tensor, below: int) -> Tensor:
    row, column = positions(matrix)
    return ops.compare(row, column + below, "EQ")


def _shifted(tensor: Tensor, count: int, dimension: int = 1) -> Tensor:
    """Elements moved along a dimension, counted from the end; 0 where none comes."""
    low = [0] * tensor.rank
    low[-dimension] = count
    return ops.pad(tensor, 0, low, [-each for each in low])


ROWS: dict[str, Row] = {"linalg_ldl_factor_ex": _factors, "linalg_ldl_solve": _solution}
"""The rows by the name of the op without overload."""
