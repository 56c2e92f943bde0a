"""Indexing maps to and from the affine maps of xDSL and MLIR: the border of `indexing/`.

An affine map has dimensions and symbols but no intervals. Range variables come first among the symbols,
runtime variables after them; intervals and constraints are given beside the map, or lost on the way out.

>>> from xdsl.dialects.builtin import AffineMapAttr
>>> from xdsl.ir.affine import AffineMap
>>> attribute = AffineMapAttr(AffineMap.from_callable(lambda i, j: (i * 4 + j,)))
>>> made = from_affine(attribute, (Interval(0, 7), Interval(0, 3)))
>>> print(made)
(d0, d1) -> (d0 * 4 + d1),
domain:
d0 in [0, 7],
d1 in [0, 3]
>>> to_affine(made) == attribute
True
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from shardy_py.indexing import (
    Constraint,
    Division,
    Expr,
    IndexMap,
    Interval,
    Variable,
    constant,
    dim,
    range_var,
    runtime,
)

_KINDS = {
    "floordiv": AffineBinaryOpKind.FloorDiv,
    "ceildiv": AffineBinaryOpKind.CeilDiv,
    "mod": AffineBinaryOpKind.Mod,
}


def from_affine(
    attribute: AffineMapAttr | AffineMap,
    dims: Sequence[Interval],
    ranges: Sequence[Interval] = (),
    runtimes: Sequence[Interval] = (),
    constraints: Sequence[Constraint] = (),
) -> IndexMap:
    """The indexing map of an affine map on the given intervals; `ValueError` if they are not as many."""
    affine_map = attribute.data if isinstance(attribute, AffineMapAttr) else attribute
    expected, given = (affine_map.num_dims, affine_map.num_symbols), (len(dims), len(ranges) + len(runtimes))
    if expected != given:
        raise ValueError(f"intervals of {expected} dimensions and symbols expected, got {given}")
    symbols = (*map(range_var, range(len(ranges))), *map(runtime, range(len(runtimes))))
    results = tuple(_from_expr(result, symbols) for result in affine_map.results)
    return IndexMap(results, tuple(dims), tuple(ranges), tuple(runtimes), tuple(constraints))


def to_affine(index_map: IndexMap) -> AffineMapAttr:
    """The affine map of an indexing map's results."""
    ranges = len(index_map.ranges)
    results = tuple(_to_expr(result, ranges) for result in index_map.results)
    return AffineMapAttr(AffineMap(len(index_map.dims), ranges + len(index_map.runtimes), results))


def _from_expr(expression: AffineExpr, symbols: Sequence[Expr]) -> Expr:
    if isinstance(expression, AffineDimExpr):
        return dim(expression.position)
    if isinstance(expression, AffineSymExpr):
        return symbols[expression.position]
    if isinstance(expression, AffineConstantExpr):
        return constant(expression.value)
    assert isinstance(expression, AffineBinaryOpExpr)
    return _apply(expression.kind, _from_expr(expression.lhs, symbols), _from_expr(expression.rhs, symbols))


def _apply(kind: AffineBinaryOpKind, left: Expr, right: Expr) -> Expr:
    if kind is AffineBinaryOpKind.Add:
        return left + right
    if kind is AffineBinaryOpKind.Mul:
        return left * right
    if not right.is_constant:
        raise ValueError(f"division by {right}: the divisor must be a constant")
    if kind is AffineBinaryOpKind.FloorDiv:
        return left // right.constant
    return left % right.constant if kind is AffineBinaryOpKind.Mod else left.ceildiv(right.constant)


def _to_expr(expression: Expr, ranges: int) -> AffineExpr:
    total: AffineExpr | None = None
    for atom, factor in expression.terms:
        term = _to_atom(atom, ranges)
        if factor != 1:
            term = AffineBinaryOpExpr(AffineBinaryOpKind.Mul, term, AffineConstantExpr(factor))
        total = term if total is None else AffineBinaryOpExpr(AffineBinaryOpKind.Add, total, term)
    if total is None:
        return AffineConstantExpr(expression.constant)
    if not expression.constant:
        return total
    return AffineBinaryOpExpr(AffineBinaryOpKind.Add, total, AffineConstantExpr(expression.constant))


def _to_atom(atom: Expr, ranges: int) -> AffineExpr:
    if isinstance(atom, Variable):
        if atom.kind == "d":
            return AffineDimExpr(atom.index)
        return AffineSymExpr(atom.index if atom.kind == "s" else atom.index + ranges)
    assert isinstance(atom, Division)
    return AffineBinaryOpExpr(
        _KINDS[atom.op], _to_expr(atom.dividend, ranges), AffineConstantExpr(atom.divisor)
    )
