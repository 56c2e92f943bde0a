"""The elements that triangular algorithms read: cholesky and triangular_solve.

Sharding rules use coarser maps (`reduction.py`: rows and columns are read whole).

>>> from shardy_py.ops.record import OpRecord, TensorType
>>> square = TensorType((4, 4))
>>> (same_row, above) = cholesky(OpRecord("stablehlo.cholesky", (square,), (square,), {"lower": True}))
>>> str(above.operands[0]).splitlines()[0], [f"{e} in {i}" for e, i in above.operands[0].constraints]
('(d0, d1)[s0, s1] -> (s0, s1),', ['d0 - d1 in [0, 3]', 'd1 - s0 in [0, 3]', 's0 - s1 in [0, 3]'])
"""

from __future__ import annotations

from shardy_py.indexing import Constraint, Expr, Interval, dim, extent, range_var
from shardy_py.ops.reads import Reads, domain_of, shape_of
from shardy_py.ops.record import OpRecord


def cholesky(record: OpRecord) -> tuple[Reads, ...]:
    """The maps of A = L L*: L(i, j), i >= j, depends on A(i, 0..j) and on the triangle of A down to row j.

    For an upper triangle, with rows and columns exchanged. The other triangle reads nothing.
    """
    shape = shape_of(record.operands[0])
    rank, size = len(shape), shape[-1]
    batch = tuple(map(dim, range(rank - 2)))
    is_lower = bool(record.attributes.get("lower", False))
    row, column = (dim(rank - 2), dim(rank - 1)) if is_lower else (dim(rank - 1), dim(rank - 2))

    def reading(k: Expr, m: Expr, ranges: tuple[int, ...], *ordered: tuple[Expr, Expr]) -> Reads:
        """Reads (k, m) where the second of each pair is at most the first."""
        inside = tuple(_at_least(*pair, size) for pair in ((row, column), *ordered))
        element = (k, m) if is_lower else (m, k)
        return Reads((0,), (domain_of(record, 0, ranges).reading((*batch, *element), inside),))

    first, second = range_var(0), range_var(1)
    return (
        reading(row, first, (size,), (column, first)),
        reading(first, second, (size, size), (column, first), (first, second)),
    )


def triangular_solve(record: OpRecord) -> tuple[Reads, ...]:
    """The maps of M X = B, M lower: X(i, j) depends on B(0..i, j) and on the triangle of M down to row i.

    M is `a`, transposed for `transpose_a`, and again if X is on the left; an upper M is solved from below.
    With `unit_diagonal` the diagonal of M is not read.
    """
    attributes = record.attributes
    shape = shape_of(record.operands[1])
    rank = len(shape)
    on_left = bool(attributes["left_side"])
    turned = (attributes["transpose_a"] in ("TRANSPOSE", "ADJOINT")) == on_left
    is_lower = bool(attributes["lower"]) != turned
    solved, free = (rank - 2, rank - 1) if on_left else (rank - 1, rank - 2)
    size, batch = shape[solved], tuple(map(dim, range(rank - 2)))
    unknown, k, m = dim(solved), range_var(0), range_var(1)
    least = 1 if attributes.get("unit_diagonal") else 0

    def ordered(later: Expr, earlier: Expr, by: int = 0) -> Constraint:
        return _at_least(later, earlier, size, by) if is_lower else _at_least(earlier, later, size, by)

    domain = domain_of(record, 0, (size, size))
    known = {solved: k, free: dim(free)}
    matrix = domain.reading(
        (*batch, *((m, k) if turned else (k, m))), (ordered(unknown, k), ordered(k, m, least))
    )
    given = domain.reading((*batch, known[rank - 2], known[rank - 1]), (ordered(unknown, k),))
    return (Reads((0,), (matrix, given)),)


def _at_least(more: Expr, less: Expr, size: int, by: int = 0) -> Constraint:
    return more - less, Interval(by, extent(size).high)
