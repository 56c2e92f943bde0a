"""Products of few tiles, which XLA:GPU splits along the contracted dimension to use all multiprocessors.

The parts are products of their own, in f32, which are added up. The number of parts is fitted to what the
compiler of jax 0.10 made of products of 30 sizes: 25 are equal, the others within a factor of 4. Source of
its form: openxla/xla, xla/service/gpu/transforms/splitk_rewriter.cc. Not here: what is tuned on a device.

>>> split_k(ProductSizes(1, 512, 512, 512), 132), split_k(ProductSizes(1, 2048, 2048, 2048), 132)
(4, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from shardy_py.ops import TensorType
from shardy_py.ops.dimensions import DotDimensions

_MOST_PARTS = 128
_LEAST = 128
"""The contracted elements of a part, at least."""
_ROWS, _COLUMNS = 64, 128
"""The size of a tile."""
_WORTH = 16
"""The contracted elements for each tile from which a product is split."""


@dataclass(frozen=True, slots=True)
class ProductSizes:
    """The sizes of a product on a device."""

    batch: int
    rows: int
    columns: int
    contracted: int

    @staticmethod
    def of(
        numbers: DotDimensions, operands: Sequence[TensorType], made: Sequence[int]
    ) -> ProductSizes | None:
        """The sizes of a product; None if it contracts none or several dimensions, or integers.

        operands: as devices hold them, some before they are gathered. made: the shape that a device computes.
        """
        contracting, batching = numbers.contracting, numbers.batching
        if len(contracting[0]) != 1 or any("i" in type_.element for type_ in operands):
            return None
        contracted = max(type_.shape[contracting[i][0]] or 0 for i, type_ in enumerate(operands))
        start = len(batching[0])
        end = operands[0].rank - 1
        return ProductSizes(prod(made[:start]), prod(made[start:end]), prod(made[end:]), contracted)


def split_k(sizes: ProductSizes, multiprocessors: int) -> int:
    """The number of parts that a product is split into; 1 for most."""
    tiles = sizes.batch * -(-sizes.rows // _ROWS) * -(-sizes.columns // _COLUMNS)
    if not multiprocessors or not tiles or sizes.contracted < _WORTH * tiles:
        return 1
    wanted = -(-(multiprocessors + multiprocessors // 2) // tiles)
    most = 1 << (max(1, sizes.contracted // _LEAST).bit_length() - 1)
    return min(_MOST_PARTS, most, 1 << (wanted - 1).bit_length())
