"""Reshapes: the common factors of two shapes of the same elements in row-major order.

Both shapes are walked from the major end as mixed-radix numbers. While they agree, the greatest common
divisor of the rests of the two current dimensions is a factor of both. Without a common divisor, each side
continues with separate factors until the products are equal again, and all pass through. Since JAX 0.12, the
rests share one factor of the operand's size instead, and only common factors pass through.

>>> [tuple(factor) for factor in common_factors((4, 12), (4, 2, 3, 2))]
[(0, 0, 4, True), (1, 1, 2, True), (1, 2, 3, True), (1, 3, 2, True)]
>>> [tuple(factor) for factor in common_factors((3, 2), (2, 3))]
[(0, 0, 3, False), (None, 1, 3, False), (1, None, 2, False)]
"""

from __future__ import annotations

from math import gcd, prod
from typing import NamedTuple

from shardy_py.base.behaviours import Behaviour
from shardy_py.indexing import constant, simplify_expr
from shardy_py.ops import OpRecord, Reads, coordinates, linear_index, shape_of


class RadixFactor(NamedTuple):
    """A factor of a reshape.

    operand, result: the dimension that it is part of; None: it is not in that tensor.
    is_common: whether both sides walk through the same elements with it, as all did before JAX 0.12.
    """

    operand: int | None
    result: int | None
    size: int
    is_common: bool


class _Side:
    """A shape walked from its major end: `product` is that of the factors taken so far."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.dimension = 0
        self.product = 1
        self.left = 1

    @property
    def is_done(self) -> bool:
        return self.dimension == len(self.shape)

    @property
    def is_at_one(self) -> bool:
        """Returns whether a dimension of size one is next."""
        return self.left == 1 and not self.is_done and self.shape[self.dimension] == 1

    def open(self) -> None:
        """Begins the current dimension if the previous one is finished."""
        if self.left == 1 and not self.is_done:
            self.left = self.shape[self.dimension]

    def take(self, size: int) -> int:
        """Takes a factor of the current dimension."""
        dimension = self.dimension
        self.product *= size
        self.left //= size
        if self.left == 1:
            self.dimension += 1
        return dimension


def common_factors(operand: tuple[int, ...], result: tuple[int, ...]) -> list[RadixFactor]:
    """Returns the factors, major to minor, including those of size one; shapes must not be empty."""
    left, right = _Side(operand), _Side(result)
    joins = Behaviour.RESHAPE_JOINS_DIVERGING_DIMENSIONS.holds
    factors: list[RadixFactor] = []

    def separate(side: _Side, size: int) -> None:
        dimension = side.take(size)
        ends = (dimension, None) if side is left else (None, dimension)
        factors.append(RadixFactor(*ends, size, not joins))

    while not (left.is_done and right.is_done):
        if at_one := next((side for side in (left, right) if side.is_at_one), None):
            separate(at_one, 1)
            continue
        left.open()
        right.open()
        common = gcd(left.left, right.left)
        if left.product != right.product:
            behind, ahead = (left, right) if left.product < right.product else (right, left)
            separate(behind, _towards(behind, ahead, common))
        elif common > 1:
            factors.append(RadixFactor(left.take(common), right.take(common), common, True))
        elif joins:
            size = left.left
            factors.append(RadixFactor(left.take(size), right.take(right.left), size, False))
        else:
            for side in (left, right):
                separate(side, side.left)
    return factors


def _towards(behind: _Side, ahead: _Side, common: int) -> int:
    """The next factor of the side with the smaller product: up to the other one, or to the common divisor."""
    gap, uneven = divmod(ahead.product, behind.product)
    if not uneven and not behind.left % gap:
        return gap
    return behind.left // common if behind.left > common else behind.left


def keeps_row_major_order(record: OpRecord, reads: Reads) -> bool:
    """Returns whether elements keep their row-major position under the maps.

    sum of point_i * stride_i, over the operand's strides, must be the row-major position of the result.
    """
    mapped = [(o, m) for o, m in enumerate(reads.operands) if m]
    if len(mapped) != 1 or len(record.results) != 1:
        return False
    ((operand, index_map),) = mapped
    shape = shape_of(record.operands[operand])
    result = shape_of(record.results[0])
    if len(index_map.results) != len(shape) or prod(shape) != prod(result):
        return False
    position = linear_index(index_map.results, shape)
    expected = linear_index(coordinates(result), result)
    bounds = index_map.bounds
    difference = simplify_expr(simplify_expr(position, bounds) - simplify_expr(expected, bounds), bounds)
    return difference == constant(0)
