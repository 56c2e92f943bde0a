"""Bitcasts: whether an array with one layout has, byte by byte, the buffer of an array with another layout.

It does if the indexing map from an offset in one buffer to the element there, through the op, to the offset
in the other buffer is the identity. Not here: the maps of ops (`ops/`), of layouts (`placement.py`).

>>> from shardy_py.indexing.layout.text import parse_array
>>> is_bitcast(parse_array("f32[4,6]{1,0}"), parse_array("f32[4,6]{0,1}"))
False
>>> is_bitcast(parse_array("f32[1,6]{1,0}"), parse_array("f32[1,6]{0,1}"))
True
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from shardy_py.base.errors import ShardyError
from shardy_py.indexing import Constraint, Expr, IndexMap, Interval, dim, extent, simplify_expr
from shardy_py.indexing.layout.tile_level import linear_index
from shardy_py.indexing.layout.values import ArrayShape


def offset_map(source: ArrayShape, target: ArrayShape, through: IndexMap | None = None) -> IndexMap:
    """From offsets in the buffer of `target` to the offsets in the buffer of `source` of the same elements.

    through: the op's map from elements of its result `target` to those of its operand `source`; None: arrays
        of the same sizes, element for element. Padding of `target` is outside the domain.

    Raises ShardyError if the sizes do not fit, or if an element of the result has more than one source.
    """
    op = _op_map(source, target, through)
    return target.placement.digit_map().compose(_from_digits(source, target, op)).simplified


def is_bitcast(source: ArrayShape, target: ArrayShape, through: IndexMap | None = None) -> bool:
    """Returns whether the op with this map leaves the buffer of `source` as that of `target`.

    Types, memory spaces and sizes of the buffers must agree and `offset_map` must be the identity. The test
    is symbolic, so it takes the same time for all sizes; False if the simplifier cannot prove it.

    through, errors: as for `offset_map`.
    """
    op = _op_map(source, target, through)
    if _storage(source) != _storage(target):
        return False
    if not prod(target.dimensions):
        return True
    landed = op.compose(IndexMap(_variables(source), _extents(source))).simplified
    if landed.constraints or landed.dims != _extents(target):
        return False
    if _is_identity(_from_digits(source, target, op), target):
        return True
    # No two elements share an offset, so equal maps to offsets suffice.
    return op.compose(source.placement.direct_map()) == target.placement.indexing_map()


def _op_map(source: ArrayShape, target: ArrayShape, through: IndexMap | None) -> IndexMap:
    if through is None:
        if source.dimensions != target.dimensions:
            what, expected = "a bitcast without an op", "arrays of the same sizes"
            got, remedy = f"{source.dimensions} and {target.dimensions}", "pass the indexing map of the op"
            raise ShardyError.unexpected(what, expected=expected, got=got, remedy=remedy)
        return IndexMap(_variables(target), _extents(target))
    if through.ranges or through.runtimes:
        raise ShardyError.unsupported("a bitcast through a map with range or runtime variables")
    if through.dims != _extents(target) or len(through.results) != len(source.dimensions):
        expected = f"a domain of sizes {target.dimensions} and {len(source.dimensions)} results"
        raise ShardyError.unexpected("the map of the op", expected=expected, got=f"{through}")
    return through


def _storage(shape: ArrayShape) -> tuple[object, ...]:
    """The properties that must agree besides the offsets of the elements."""
    layout = shape.layout
    kept = (layout.element_size_bits, layout.memory_space) if layout else (0, 0)
    return (shape.element_type, shape.placement.size, *kept)


def _from_digits(source: ArrayShape, target: ArrayShape, op: IndexMap) -> IndexMap:
    """From the index in the tiled dimensions of `target`, the digits of an offset, to offsets of `source`.

    Digits with bounds of their own simplify better than quotients and remainders of one offset.
    """
    return target.placement.element_map().compose(op).compose(source.placement.direct_map()).simplified


def _is_identity(from_digits: IndexMap, target: ArrayShape) -> bool:
    digits = tuple(map(dim, range(len(from_digits.dims))))
    offset = linear_index(digits, target.placement.tiled_dimensions)
    difference = simplify_expr(from_digits.results[0] - offset, from_digits.bounds)
    return not _reduced(difference, from_digits.constraints).terms and not difference.constant


def _reduced(difference: Expr, constraints: Sequence[Constraint]) -> Expr:
    """The difference without multiples of expressions that constraints `e in [0, 0]` make zero."""
    for expression, interval in constraints:
        shared = dict(expression.terms).keys() & dict(difference.terms).keys()
        if interval.low == interval.high == 0 and shared:
            atom = min(shared, key=lambda a: a.sort_key)
            times, rest = divmod(dict(difference.terms)[atom], dict(expression.terms)[atom])
            if not rest:
                difference = difference - expression * times
    return difference


def _variables(shape: ArrayShape) -> tuple[Expr, ...]:
    return tuple(map(dim, range(len(shape.dimensions))))


def _extents(shape: ArrayShape) -> tuple[Interval, ...]:
    return tuple(map(extent, shape.dimensions))
