"""Products: the dimensions of two operands and a result, as XLA's partitioner tells them apart.

`dot_general`, and convolutions in the dimensions that work alike. Not here: how one is partitioned
(`dots.py`).

>>> matmul = ProductDimensions.of_dot(2, 2, contracting=((1,), (0,)))
>>> matmul.map("lhs", "output"), matmul.map("output", "rhs")
((0, None), (None, 1))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from shardy_py.base.records import dataclass
from shardy_py.indexing.layout import element_type
from shardy_py.xla.spmd.matching import merged, transposed
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.tiling import Shape, Tiling

if TYPE_CHECKING:
    from shardy_py.xla.spmd.convolutions import Convolution
    from shardy_py.xla.spmd.einsum_loops import EinsumLoops

LHS, RHS, OUTPUT = "lhs", "rhs", "output"
OTHER = {LHS: RHS, RHS: LHS}


@dataclass(frozen=True, slots=True)
class ProductDimension:
    """The dimension of each side that one index of the product runs over; None where it has none."""

    lhs: int | None = None
    rhs: int | None = None
    output: int | None = None

    def of(self, side: str) -> int | None:
        """The dimension of `side`: "lhs", "rhs" or "output"."""
        return getattr(self, side)


Group = tuple[ProductDimension, ...]


@dataclass(frozen=True)
class ProductDimensions:
    """The indices of a product by role.

    free: those of one operand and the result, by operand.
    ranks: of the sides. spatial: of a convolution, those that windows slide along.
    """

    batch: Group
    contracting: Group
    lhs_free: Group
    rhs_free: Group
    ranks: tuple[int, int, int]
    spatial: Group = ()

    @staticmethod
    def of_dot(
        lhs_rank: int,
        rhs_rank: int,
        *,
        contracting: tuple[Sequence[int], Sequence[int]],
        batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
    ) -> ProductDimensions:
        """Indices of `dot_general`: the result has the batch dimensions, then those of lhs, then of rhs."""
        batches = tuple(ProductDimension(*pair, i) for i, pair in enumerate(zip(*batch, strict=True)))
        summed = tuple(ProductDimension(*pair) for pair in zip(*contracting, strict=True))
        left = [i for i in range(lhs_rank) if i not in batch[0] and i not in contracting[0]]
        right = [i for i in range(rhs_rank) if i not in batch[1] and i not in contracting[1]]
        first = len(batches)
        lhs_free = tuple(ProductDimension(i, None, first + at) for at, i in enumerate(left))
        first += len(left)
        rhs_free = tuple(ProductDimension(None, i, first + at) for at, i in enumerate(right))
        ranks = (lhs_rank, rhs_rank, first + len(right))
        return ProductDimensions(batches, summed, lhs_free, rhs_free, ranks)

    def free(self, side: str) -> Group:
        """The indices of one operand and the result only."""
        return self.lhs_free if side == LHS else self.rhs_free

    def rank(self, side: str) -> int:
        """The rank of a side."""
        return self.ranks[(LHS, RHS, OUTPUT).index(side)]

    def map(self, source: str, target: str) -> tuple[int | None, ...]:
        """By dimension of `source`, the one of `target` with the same index."""
        found: list[int | None] = [None] * self.rank(source)
        for index in (*self.batch, *self.contracting, *self.lhs_free, *self.rhs_free, *self.spatial):
            at = index.of(source)
            if at is not None:
                found[at] = index.of(target)
        return tuple(found)

    def moved(self, tiling: Tiling, source: str, target: str) -> Tiling | None:
        """The tiling of `target` with the tiles that `tiling` has of `source`; None if it cannot."""
        return transposed(tiling, self.map(source, target), self.rank(target))


def numbers(group: Group, side: str) -> tuple[int, ...]:
    """The dimensions of `side` in a group of indices."""
    return tuple(at for index in group if (at := index.of(side)) is not None)


def tiles_of(tiling: Tiling, group: Group, side: str) -> int:
    """The number of tiles along a group of indices."""
    return prod(tiling.dimensions[i] for i in numbers(group, side))


def size_bytes(shape: Shape, element: str) -> int:
    """The bytes of an array, without packing of elements smaller than a byte."""
    return prod(shape) * max(1, element_type(element).bits // 8)


@dataclass(frozen=True)
class Product:
    """A product to partition, over all devices or over those of one group.

    shape: of the whole result. tiling: wanted of the result. element: the name of its element type.
    finish: what follows the product on each device: collectives over several groups.
    convolution: if it is one. is_unreduced: what devices add up is not summed: the result stays unreduced.
    loops: when it becomes a loop of permutes; None: never. shared: the operands that another op of the
        program gathers alike.
    """

    dimensions: ProductDimensions
    lhs: HeldTensor
    rhs: HeldTensor
    shape: Shape
    tiling: Tiling
    element: str
    finish: Callable[[HeldTensor], HeldTensor] | None = None
    convolution: Convolution | None = None
    is_unreduced: bool = False
    loops: EinsumLoops | None = None
    shared: frozenset[str] = frozenset()

    def summed(self, found: HeldTensor, tiling: Tiling, dimensions: Iterable[int]) -> HeldTensor:
        """The result after a sum among the devices that differ along dimensions of a tiling."""
        return found if self.is_unreduced else found.summed(tiling, dimensions)

    def operand(self, side: str) -> HeldTensor:
        """The operand of a side."""
        return self.lhs if side == LHS else self.rhs

    def with_operand(self, side: str, value: HeldTensor) -> Product:
        """The product with another operand."""
        return replace(self, lhs=value) if side == LHS else replace(self, rhs=value)

    def tiling_of(self, side: str) -> Tiling:
        """The tiling of an operand, or that wanted of the result."""
        return self.tiling if side == OUTPUT else self.operand(side).tiling

    def tiles(self, role: str, side: str) -> int:
        """The number of tiles of a side along the indices of a role: a field of `ProductDimensions`."""
        return self._tiles[role, side]

    @cached_property
    def _tiles(self) -> dict[tuple[str, str], int]:
        return {
            (role, side): tiles_of(self.tiling_of(side), getattr(self.dimensions, role), side)
            for role in ("batch", "contracting", "lhs_free", "rhs_free")
            for side in (LHS, RHS, OUTPUT)
        }

    @property
    def device_count(self) -> int:
        """The devices that take part."""
        return self.tiling.device_count

    def moved(self, source: str, target: str) -> Tiling | None:
        """The tiling of one side as one of another."""
        return self.dimensions.moved(self.tiling_of(source), source, target)

    def multiplied(self, lhs: HeldTensor, rhs: HeldTensor, made: Shape | None = None) -> HeldTensor:
        """The product of what each device holds, in the tiles that are wanted.

        made: the size of what each device makes along spatial dimensions; by default, they are whole.
        """
        local, dimensions = list(made or self.shape), self.dimensions
        for value, side in ((lhs, LHS), (rhs, RHS)):
            for index in (*dimensions.batch, *dimensions.free(side)):
                at, output = index.of(side), index.output
                if at is not None and output is not None:
                    local[output] = value.local[at]
        if self.convolution and self.convolution.dims.batch_groups > 1:
            local[self.convolution.dims.result_batch] = 1
        sent = (*lhs.collectives, *rhs.collectives)
        warned = (*lhs.rematerialized, *rhs.rematerialized)
        found = HeldTensor(self.shape, tuple(local), self.tiling, self.element, sent, warned)
        return self.finish(found) if self.finish else found


def operand_tiling(product: Product, side: str, *, with_other: bool) -> Tiling:
    """The tiling of an operand that the result suggests, merged with that of the other operand.

    Source: `InferDotOperandSharding` in xla/hlo/utils/hlo_sharding_util.cc.
    """
    dimensions, other = product.dimensions, OTHER[side]
    wanted = product.tiling.replicated_on(
        [*numbers(dimensions.free(other), OUTPUT), *numbers(dimensions.contracting, OUTPUT)]
    )
    found = dimensions.moved(wanted, OUTPUT, side)
    assert found is not None
    if not with_other:
        return found
    lost = [*numbers(dimensions.free(other), other), *numbers(dimensions.free(side), other)]
    from_other = dimensions.moved(product.tiling_of(other).replicated_on(lost), other, side)
    assert from_other is not None
    return merged(found, from_other)
