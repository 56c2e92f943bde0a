"""The classes of access to a dimension of an operand, as far as they matter to sharding.

An expression of an indexing map is classified by its use of the variables:

| expression | relation |
|---|---|
| `d0`, `d0 * 8 + d1`, `d0 floordiv 8`: digits of variables that fill the dimension | CARRIED |
| `d0 + 2`, `-d0 + 9`, `d0 * 2`, `(d0 - 1) floordiv 2` | MOVED |
| `d0 * 2 + s0` | WINDOW |
| `d0 + rt0`, `rt0` | RUNTIME |
| `s0`, read whole and not folded | WHOLE |
| `3` | CONSTANT |
| anything else | OPAQUE |

Not here: the factors of each class (`factors.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from shardy_py.indexing import Division, Expr, IndexMap, Interval, Variable, extent, simplify_expr
from shardy_py.ops import Digit, Reads, Relation


@dataclass(frozen=True, slots=True)
class Access:
    """The access to one operand dimension.

    relation: see the table of the module.
    digits: for CARRIED, the digits that fill the dimension, major to minor.
    variable: for WHOLE, the range variable.
    result_dim: the result dimension whose coordinate occurs, or that `beside` names; None: none or several.
    """

    relation: Relation
    digits: tuple[Digit, ...] = ()
    variable: Variable | None = None
    result_dim: int | None = None


def classify(reads: Reads, shape: tuple[int, ...], operand: int, position: int, size: int) -> Access:
    """The access of results of `shape` to dimension `position`, of `size` elements, of an operand."""
    index_map = reads.operands[operand]
    assert index_map is not None
    expression = index_map.results[position]
    beside = reads.beside.get((operand, position))
    if isinstance(expression, Variable):
        if expression.kind == "s" and expression.index in reads.whole:
            return Access(Relation.WHOLE, variable=expression, result_dim=beside)
        if access := _lone(index_map, shape, expression, size, beside):
            return access
    return _compound(index_map, shape, expression, size, beside)


def _lone(
    index_map: IndexMap, shape: tuple[int, ...], variable: Variable, size: int, beside: int | None
) -> Access | None:
    index, digits = variable.index, (Digit(variable, 1, size),)
    if variable.kind == "s" and index_map.ranges[index] == extent(size):
        return Access(Relation.CARRIED, digits, result_dim=beside)
    if variable.kind == "d" and index_map.dims[index] == extent(size) and shape[index] == size:
        return Access(Relation.CARRIED, digits, result_dim=index)
    return None


def _compound(
    index_map: IndexMap, shape: tuple[int, ...], expression: Expr, size: int, beside: int | None
) -> Access:
    bounds = index_map.bounds
    if not isinstance(expression, Variable):
        fixed = {v for v in expression.variables if v.kind != "d" and bounds[v].size == 1}
        expression = expression.replace(lambda v: simplify_expr(v, bounds) if v in fixed else v)
    variables = expression.variables
    coordinates = [v for v in variables if v.kind == "d"]
    anchor = coordinates[0].index if len(coordinates) == 1 else None if coordinates else beside
    if any(v.kind == "rt" for v in variables):
        return Access(Relation.RUNTIME if len(coordinates) < 2 else Relation.OPAQUE, result_dim=anchor)
    if not variables:
        return Access(Relation.CONSTANT, result_dim=anchor)
    is_narrowed = any(bounds[v] != extent(shape[v.index]) for v in coordinates)
    digits = None if is_narrowed else _digits(expression, bounds, size)
    if digits == ():
        return Access(Relation.CONSTANT, result_dim=anchor)
    if digits is not None:
        return Access(Relation.CARRIED, digits, result_dim=anchor)
    if len(coordinates) != 1:
        return Access(Relation.OPAQUE, result_dim=anchor)
    alone = len(variables) == 1
    return Access(Relation.MOVED if alone else Relation.WINDOW, result_dim=anchor)


def _digits(expression: Expr, bounds: Mapping[Variable, Interval], size: int) -> tuple[Digit, ...] | None:
    """The digits, major to minor, of a mixed-radix number with `size` values; None if it is not one.

    sum of c_i * x_i, x_i in [0, n_i - 1], is one if the c_i are the products of the n_j of the lower digits.
    """
    if expression.constant:
        return None
    terms = [(factor, _digit(atom, bounds)) for atom, factor in expression.terms]
    digits: list[Digit] = []
    product = 1
    for factor, digit in sorted(terms, key=lambda term: (term[0], term[1].size if term[1] else 0)):
        if digit is None or factor != product:
            return None
        digits.append(digit)
        product *= digit.size
    # A digit of size one above all others of its variable is always zero.
    return tuple(d for d in reversed(digits) if d.size != 1 or d.step == 1) if product == size else None


def _digit(atom: Expr, bounds: Mapping[Variable, Interval]) -> Digit | None:
    if isinstance(atom, Variable):
        interval = bounds[atom]
        return None if interval.low else Digit(atom, 1, interval.size)
    if not isinstance(atom, Division) or atom.op == "ceildiv":
        return None
    inner = _digit(atom.dividend, bounds)
    if inner is None or gcd(inner.size, atom.divisor) != atom.divisor:
        return None
    if atom.op == "mod":
        return Digit(inner.variable, inner.step, atom.divisor)
    return Digit(inner.variable, inner.step * atom.divisor, inner.size // atom.divisor)
