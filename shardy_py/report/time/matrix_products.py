"""Products and convolutions as products of matrices on one device. Not here: their seconds (`windows.py`).

A convolution is a product for each position of its kernel: a row for each position of the result, a column
for each feature that it makes, and the features of the image are summed.

>>> MatrixProduct(1, 2048, 2048, 512, 2, 2).left_bytes
2097152
"""

from __future__ import annotations

from math import ceil, prod
from typing import NamedTuple

from shardy_py.indexing.layout import element_type
from shardy_py.ops import OpRecord, TensorType, work_of
from shardy_py.ops.dimensions import ConvolutionDimensions, DotDimensions

_DOT, _CONVOLUTION = "dot_dimension_numbers", "dimension_numbers"
_IMAGES = 8
"""The images of which a window has whole lines: they are the rows of a register."""


class MatrixProduct(NamedTuple):
    """A product on one device: so many of matrices, with the bytes of elements of operands and result.

    depth: the elements that are summed for one position of a kernel. positions: of the kernel of a
        convolution. unit: the rows of which windows have multiples. halo: those of the left operand that a
        window reads besides its own. is_image: the left operand is one, of a convolution.
    """

    batches: int
    rows: int
    columns: int
    depth: int
    given_bytes: int
    made_bytes: int
    positions: int = 1
    unit: int = 8
    halo: int = 0
    is_image: bool = False

    @property
    def left_bytes(self) -> int:
        """The bytes of the left operand, in tiles: of an image, its features."""
        return self.batches * _tiled(self.rows, self.depth) * self.given_bytes

    @property
    def right_bytes(self) -> int:
        """The bytes of the right operand, in tiles."""
        return self.batches * self.positions * _tiled(self.depth, self.columns) * self.given_bytes

    @property
    def result_bytes(self) -> int:
        """The bytes of the result, in tiles."""
        return self.batches * _tiled(self.rows, self.columns) * self.made_bytes


def _tiled(rows: int, columns: int) -> int:
    """The elements of a matrix in whole tiles of 8 x 128."""
    return ceil(rows / 8) * 8 * ceil(columns / 128) * 128


def product_of(record: OpRecord, shape: tuple[int, ...], flops: float) -> MatrixProduct | None:
    """Returns the product of matrices that an op is on one device; None if it is none.

    shape: of its result there. flops: of it there, two for each point.
    """
    left, made = record.operands[0], record.results[0]
    if left is None or made is None or not prod(shape):
        return None
    given_bytes, made_bytes = (ceil(element_type(each.element).bits / 8) for each in (left, made))
    if _DOT in record.attributes:
        numbers = DotDimensions.of(record.attributes)
        batches = len(numbers.batching[0])
        first = numbers.first_of_right(left.rank)
        sizes = prod(shape[:batches]), prod(shape[batches:first]), prod(shape[first:])
        return MatrixProduct(*sizes, ceil(flops / (2 * prod(shape))), given_bytes, made_bytes)
    kernel = record.operands[1] if len(record.operands) > 1 else None
    if _CONVOLUTION not in record.attributes or kernel is None:
        return None
    return _convolution(record, kernel, shape, flops, (given_bytes, made_bytes))


def _convolution(
    record: OpRecord, kernel: TensorType, shape: tuple[int, ...], flops: float, element_bytes: tuple[int, int]
) -> MatrixProduct | None:
    """The product that a convolution without groups is for each position of its kernel."""
    numbers, made = ConvolutionDimensions.of(record.attributes), record.results[0]
    whole = work_of(record).flops
    if made is None or not whole or numbers.feature_groups * numbers.batch_groups > 1:
        return None
    columns = shape[numbers.result_feature]
    # Points outside the image count for nothing, so that the part of the sum is by comparison.
    part = flops / prod(shape) * prod(size or 0 for size in made.shape) / whole
    depth = ceil((kernel.shape[numbers.in_feature] or 0) * part)
    line = _IMAGES * (shape[numbers.result_spatial[-1]] if numbers.result_spatial else 1)
    halo = line * (_size(kernel, numbers.kernel_spatial[:1]) - 1)
    positions = _size(kernel, numbers.kernel_spatial)
    rows = prod(shape) // columns
    return MatrixProduct(1, rows, columns, depth, *element_bytes, positions, line, halo, is_image=True)


def _size(type_: TensorType, dimensions: tuple[int, ...]) -> int:
    """The elements along some dimensions."""
    return prod(type_.shape[d] or 0 for d in dimensions)
