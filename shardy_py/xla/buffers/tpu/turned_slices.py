"""Keys and values in one array, of which products read one each: XLA:TPU copies both into another order.

    bf16[32,1024,2,8,128] in tiles of 8x128; products with batches 32 and 8 read [:, :, 0] and [:, :, 1]
    -> a copy in tiles of 1024x128, with the dimension of size 2 before all others

A product has its batches before its matrices. What one op reads is put into that order in the product, but
two slices of one value share a copy, and so do the products of a slice out of tiles. Arguments and what is
gathered have orders of their own; other values are made in the order of products. Source: the HLO of XLA:TPU
for 12 programs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from shardy_py.ops import TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.buffers.facet import STORED, Tiled
from shardy_py.xla.buffers.local_sizes import TILED
from shardy_py.xla.buffers.tpu.records import PLACED, Records, least_order, step_of
from shardy_py.xla.spmd.program import Name, PlannedOp, reads_of
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of

_MATRIX = 2


class _Slice(NamedTuple):
    """A slice that products read. dropped: its dimension of one element, which they do not have.

    matrix: the dimensions of what is sliced that are no batches of the products.
    """

    dropped: int
    matrix: frozenset[int]


def with_turned_slices(
    steps: Sequence[PlannedOp],
    arguments: Collection[Name],
    results: Collection[Name],
    records: Records,
    rounded: Collection[Name] = (),
) -> list[PlannedOp]:
    """Returns steps with the copies that slices read.

    arguments: those of the program. results: what the block returns. rounded: the values that are of bf16.
    """
    readers: dict[Name, list[PlannedOp]] = {}
    for step in steps:
        for name in reads_of(step):
            readers.setdefault(name, []).append(step)
    copies: dict[int, PlannedOp] = {}
    for source, type_, minor in _in_own_orders(steps, arguments):
        read = readers.get(source, [])
        if source in results or not all(map(_is_slice, read)):
            continue
        slices = [_of_products(each, readers, results) for each in read]
        order = _order(type_, minor, [each for each in slices if each is not None])
        if order is not None and None not in slices:
            is_rounded = all(each.results[0] in rounded for each in read)
            made = TensorType(type_.shape, "bf16") if is_rounded else type_
            record = records.of(PLACED, (type_,), (made,), minor_to_major=order)
            copy = step_of(record, (source,), (("turned", source),), None)
            copies |= dict.fromkeys(map(id, read), copy)
    return [*_with_copies(steps, copies)]


def _with_copies(steps: Sequence[PlannedOp], copies: dict[int, PlannedOp]) -> Iterator[PlannedOp]:
    made = set[int]()
    for step in steps:
        copy = copies.get(id(step))
        if copy is None:
            yield step
            continue
        if id(copy) not in made:
            made.add(id(copy))
            yield copy
        yield replace(step, operands=copy.results)


def _in_own_orders(
    steps: Sequence[PlannedOp], arguments: Collection[Name]
) -> Iterator[tuple[Name, TensorType, tuple[int, ...]]]:
    """Yields what slices read that is not made in their order, with its type and the dimensions in tiles."""
    gathered, seen = set[Name](), set[Name]()
    for step in steps:
        form = COMPILED.of(step.record.name).form
        is_reshaped = form is NodeForm.RESHAPE and not gathered.isdisjoint(step.operands)
        is_gather = STORED.of(step.record.name).tiled is Tiled.ROWS and form is not NodeForm.SCATTER
        if is_gather or is_reshaped:
            gathered.update(step.results)
        elif form is NodeForm.SLICE and len(step.operands) == 1:
            (source,), type_ = step.operands, step.record.operands[0]
            if type_ is None or source in seen:
                continue
            seen.add(source)
            if source in gathered:
                kept = [d for d, size in enumerate(shape_of(type_)) if size != 1]
                yield source, type_, (*reversed(kept[-TILED:]),)
            elif source in arguments:
                yield source, type_, least_order(type_)[:TILED]


def _is_slice(step: PlannedOp) -> bool:
    return COMPILED.of(step.record.name).form is NodeForm.SLICE and len(step.operands) == 1


def _of_products(
    step: PlannedOp, readers: dict[Name, list[PlannedOp]], results: Collection[Name]
) -> _Slice | None:
    """The slice of one element along a dimension, if only products of batches read it without that."""
    given, made = step.record.operands[0], step.record.results[0]
    if given is None or made is None:
        return None
    pairs = zip(shape_of(given), shape_of(made), strict=True)
    smaller = [d for d, (whole, own) in enumerate(pairs) if own != whole]
    ends = [(step.results[0], each) for each in readers.get(step.results[0], [])]
    reshaped = [each for _, each in ends if COMPILED.of(each.record.name).form is NodeForm.RESHAPE]
    if len(smaller) != 1 or shape_of(made)[smaller[0]] != 1 or len(reshaped) != len(ends) or not ends:
        return None
    found = set[frozenset[int]]()
    for reshape in reshaped:
        (name,), type_ = reshape.results, reshape.record.results[0]
        places = _places(made, type_)
        if places is None or name in results:
            return None
        found |= {
            frozenset(places.get(d, smaller[0]) for d in _matrix(each, name))
            for each in readers.get(name, [])
        }
    if len(found) != 1 or len(matrix := found.pop()) != _MATRIX or smaller[0] in matrix:
        return None
    return _Slice(smaller[0], matrix)


def _places(held: TensorType, made: TensorType | None) -> dict[int, int] | None:
    """The dimensions of a value by those of a reshape; None if that has others, except of one element."""
    if made is None:
        return None
    own, other = ([d for d, size in enumerate(shape_of(type_)) if size != 1] for type_ in (held, made))
    is_same = [shape_of(held)[d] for d in own] == [shape_of(made)[d] for d in other]
    return dict(zip(other, own, strict=True)) if is_same else None


def _matrix(step: PlannedOp, name: Name) -> frozenset[int]:
    """The dimensions of an operand of a product that are no batches; none of another op."""
    if not STORED.of(step.record.name).is_product or step.operands.count(name) != 1:
        return frozenset()
    side = step.operands.index(name)
    type_ = step.record.operands[side]
    if side > 1 or type_ is None or "dot_dimension_numbers" not in step.record.attributes:
        return frozenset()
    return frozenset(range(type_.rank)).difference(DotDimensions.of(step.record.attributes).batching[side])


def _order(type_: TensorType, tile: tuple[int, ...], slices: Sequence[_Slice]) -> tuple[int, ...] | None:
    """The order of a copy of what is sliced; None if products put what they read into their order."""
    kinds = {(each.dropped, each.matrix) for each in slices}
    if len(kinds) != 1 or len(tile) != TILED:
        return None
    ((dropped, matrix),) = kinds
    if matrix.issuperset(tile) or tile[0] not in matrix or (len(slices) == 1 and dropped not in tile):
        return None
    (other,) = matrix.difference(tile[:1])
    rest = [d for d in reversed(range(type_.rank)) if d not in (*matrix, dropped)]
    return (tile[0], other, *rest, dropped)
