"""Products as XLA:TPU simplifies them before it propagates shardings.

    dot(transpose(a), b)  ->  dot(a, b), if a matrix of each batch is transposed
    transpose(dot(a, b))  ->  dot(b, a), if it exchanges their free dimensions
    dot(a, b)             ->  reshape(dot(reshape(a), reshape(b))), without dimensions of one element
    dot(matrix, vector)   ->  reduce(multiply(matrix, broadcast(vector)))
    outer product         ->  multiply(broadcast(a), broadcast(b))

Established with 30 programs, each compiled ahead of time. Source: openxla/xla, `HandleDot` and
`HandleTranspose` in xla/hlo/transforms/simplifiers/algebraic_simplifier.cc, transpose_folding.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION, Identities
from shardy_py.mlir.dialects import stablehlo
from shardy_py.mlir.dialects.stablehlo.attributes import DotDimensionNumbersAttr
from shardy_py.mlir.dialects.stablehlo.structs import DotDimensionNumbers
from shardy_py.mlir.ir import operands_of, type_of
from shardy_py.mlir.numbering import number_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, resized, shape_of
from shardy_py.mlir.text.dense import element_size
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.prepare import folding
from shardy_py.xla.prepare.folds import TRANSPOSE

PRODUCT = stablehlo.DotGeneralOp.name
_NUMBERS = "dot_dimension_numbers"
_DIMENSIONS: Identities[DotDimensions] = SESSION.identities("dimensions of products")
_KINDS: dict[tuple[int, int, int], _Kind] = SESSION.table("kinds of products")


class _Kind(NamedTuple):
    """The kind of a product, by its types and its dimensions.

    has_ones: operands have dimensions of one element. has_vector: a side has no free dimensions, or nothing
    is summed. Neither is true of operands of dynamic shapes.
    """

    has_ones: bool
    has_vector: bool


def _kind(product: Operation) -> _Kind:
    """The kind of a product: many are alike."""
    left, right = operands_of(product)
    key = number_of(product.properties[_NUMBERS]), number_of(type_of(left)), number_of(type_of(right))
    known = _KINDS.get(key)
    if known is None:
        sides = _sides(product)
        is_static = folding.is_static(left, right)
        has_ones = is_static and any(1 in side.sizes for side in sides)
        is_whole = bool(sides[0].contracting) and all(side.free for side in sides)
        found = _Kind(has_ones, is_static and not has_ones and not is_whole)
        known = _KINDS.setdefault(key, found)
    return known


@dataclass(frozen=True, slots=True)
class _Side:
    """An operand of a product, with its dimensions by their roles, in order."""

    value: SSAValue
    batch: tuple[int, ...]
    contracting: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return folding.sizes_of(self.value)

    @property
    def free(self) -> tuple[int, ...]:
        return tuple(i for i in range(len(self.sizes)) if i not in self.batch and i not in self.contracting)


def _sides(product: Operation) -> tuple[_Side, _Side]:
    attribute = product.properties[_NUMBERS]
    known = _DIMENSIONS.get(id(attribute))
    if known is None:
        numbers = _DIMENSIONS.remember(attribute, DotDimensions.of({_NUMBERS: plain(attribute)}))
    else:
        numbers = known[0]
    left, right = operands_of(product)
    (batch, other), (contracting, with_) = numbers.batching, numbers.contracting
    return _Side(left, batch, contracting), _Side(right, other, with_)


def fold_product(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A product reads what its operands transpose: matrices, in batches that stay in their places."""
    if not any(folding.producer(value, TRANSPOSE) for value in operands_of(op)):
        return None  # as for most
    sides = _sides(op)
    found = [_untransposed(side) for side in sides]
    if found == [None, None]:
        return None
    left, right = (side if new is None else new for side, new in zip(sides, found, strict=True))
    return _product(op, op, left, right)


def _untransposed(side: _Side) -> _Side | None:
    moved = folding.producer(side.value, TRANSPOSE)
    if moved is None or len(side.batch) != len(side.sizes) - 2 or len(side.contracting) != 1:
        return None
    order: tuple[int, ...] = plain(moved.properties["permutation"])
    if any(order[i] != i for i in side.batch):
        return None
    return _Side(operands_of(moved)[0], side.batch, tuple(order[i] for i in side.contracting))


def fold_transposed_product(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """The transposition of a product that only exchanges the free dimensions of its sides."""
    (value,) = operands_of(op)
    product = folding.producer(value, PRODUCT)
    if product is None or not value.has_one_use():
        return None
    order: tuple[int, ...] = plain(op.properties["permutation"])
    left, right = _sides(product)
    count, own = len(left.batch), len(left.free)
    exchanged = (*range(count + own, len(order)), *range(count, count + own))
    if sorted(order[:count]) != [*range(count)] or order[count:] != exchanged:
        return None
    left, right = (
        _Side(side.value, tuple(side.batch[i] for i in order[:count]), side.contracting)
        for side in (right, left)
    )
    return _product(op, product, left, right)


def _product(
    op: Operation, product: Operation, left: _Side, right: _Side, type_: Attribute | None = None
) -> SSAValue:
    numbers = DotDimensionNumbers(left.batch, right.batch, left.contracting, right.contracting)
    attribute = DotDimensionNumbersAttr(numbers)
    properties: dict[str, Attribute] = {**product.properties, _NUMBERS: attribute}
    return folding.make(op, "dot_general", [left.value, right.value], properties, type_)


def fold_product_of_zeros(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A product of zeros is zero: nothing is summed for it."""
    (result,), (left, right) = op.results, operands_of(op)
    if not (splats.is_number(left, 0) or splats.is_number(right, 0)) or not folding.is_static(result):
        return None
    return folding.make_constant(op, bytes(element_size(element_of(result))))


def fold_degenerate_product(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A product of operands with dimensions of one element is one without these."""
    if not _kind(op).has_ones:
        return None
    sides = _sides(op)
    build = StablehloBuilder(before=op)
    left, right = (_without_ones(build, side) for side in sides)
    sizes = [left.sizes[i] for i in left.batch]
    sizes += [side.sizes[i] for side in (left, right) for i in side.free]
    made = _product(op, op, left, right, resized(op.results[0], sizes))
    return folding.make(op, "reshape", [made], {})


def _without_ones(build: StablehloBuilder, side: _Side) -> _Side:
    kept = [i for i, size in enumerate(side.sizes) if size != 1]
    value = (
        build.reshape(side.value, [side.sizes[i] for i in kept])
        if len(kept) < len(side.sizes)
        else side.value
    )
    return _Side(
        value,
        tuple(kept.index(i) for i in side.batch if i in kept),
        tuple(kept.index(i) for i in side.contracting if i in kept),
    )


def fold_product_without_sums(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A product that sums nothing multiplies."""
    if not _kind(op).has_vector:
        return None
    left, right = _sides(op)
    return None if left.contracting else _outer(op, left, right)


def fold_product_by_vector(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A product with a side that has no free dimensions multiplies, and sums, if there are sums."""
    if not _kind(op).has_vector:
        return None
    left, right = _sides(op)
    if not left.contracting:
        return None
    build, element = StablehloBuilder(before=op), element_of(op.results[0])
    rank, found = len(left.batch), list[SSAValue]()
    sizes = [left.sizes[i] for i in left.batch]
    sizes += [side.sizes[i] for side in (left, right) for i in side.free]
    sizes += [left.sizes[i] for i in left.contracting]
    free = len(left.free) + len(right.free)
    for side in (left, right):
        order = (*side.batch, *side.free, *side.contracting)
        value = build.convert(side.value, element)
        value = value if order == tuple(sorted(order)) else build.transpose(value, order)
        if free and not side.free:
            places = (*range(rank), *range(rank + free, len(sizes)))
            value = build.broadcast(value, sizes, places)
        found.append(value)
    return _summed(build, build.binary("multiply", *found), range(rank + free, len(sizes)))


def _summed(build: StablehloBuilder, value: SSAValue, dimensions: Sequence[int]) -> SSAValue:
    element = element_of(value)
    sizes = [size for i, size in enumerate(shape_of(value)) if i not in dimensions]
    region = build.combining_region("add", element)
    operands, types = (value, build.zero(element)), (resized(value, sizes),)
    op = build.insert("reduce", operands, types, (region,), dimensions=tuple(sorted(dimensions)))
    return op.results[0]


def _outer(op: Operation, left: _Side, right: _Side) -> SSAValue:
    build, sizes = StablehloBuilder(before=op), folding.sizes_of(op.results[0])
    element, count = element_of(op.results[0]), len(left.batch)
    found: list[SSAValue] = []
    start = count
    for side in (left, right):
        order = (*side.batch, *side.free)
        value = build.convert(side.value, element)
        value = value if order == tuple(sorted(order)) else build.transpose(value, order)
        end = start + len(side.free)
        found.append(build.broadcast(value, sizes, (*range(count), *range(start, end))))
        start = end
    return build.binary("multiply", *found)
