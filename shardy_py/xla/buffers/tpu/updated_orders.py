"""The orders in which XLA:TPU has what loops update along a dimension: that of the part, which is in no tile.

    f32[8,256,512] is updated by f32[8,512], which is f32[8,1,512]: 8x512 are in tiles, 256 before both

So a reshape of the part moves no elements, and an update writes whole tiles. What a loop begins with is
copied into that order if it is an argument, and what it ends with is copied out of it; unless products of
matrices read it, which have an order of their own: queries of one row each are multiplied and summed instead.
A loop that begins with other values has their order, unless their first dimension is updated and would be in
tiles: `jax.lax.scan` stacks results so. Source: the HLO of XLA:TPU for 60 loops. Not here: updates outside of
loops, which are in the order of what they update; which copies are made (`tile_orders.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from shardy_py.indexing.layout import element_type
from shardy_py.indexing.layout.formats import LANES, WORD_BITS
from shardy_py.ops import TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.local_sizes import TILED
from shardy_py.xla.buffers.tpu.records import Records, elements_of, least_order
from shardy_py.xla.spmd.program import Block, Name, PlannedOp, reads_of
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of

_DOT = "dot_dimension_numbers"
Order = tuple[int, ...]
"""Dimensions, minor to major."""


class _Update(NamedTuple):
    """An update of a value that a loop carries. source: the part without the dimensions that are updated."""

    step: PlannedOp
    carried: Name
    whole: TensorType
    source: TensorType
    maker: PlannedOp | None
    along: Order


def with_orders_of_parts(body: Block, starts: Sequence[bool], records: Records) -> Block:
    """Returns the body of a loop, whose updates say in which order they are.

    starts: for each value that the loop carries, whether it begins with an argument of the program.
    """
    orders = {id(update.step): order for update, order in _orders(body, starts)}
    if not orders:
        return body
    return replace(body, steps=tuple([_ordered(each, orders, records) for each in body.steps]))


def _ordered(step: PlannedOp, orders: Mapping[int, Order], records: Records) -> PlannedOp:
    order = orders.get(id(step))
    if order is None:
        return step
    own = step.record
    record = records.of(own.name, own.operands, own.results, **own.attributes, minor_to_major=order)
    return replace(step, record=record)


def _orders(body: Block, starts: Sequence[bool]) -> Iterator[tuple[_Update, Order]]:
    """Yields updates whose order is not that with the least padding."""
    makers = {name: step for step in body.steps for name in step.results}
    for value, name, is_argument in zip(body.arguments, body.results, starts, strict=False):
        update = _update(makers, makers.get(name), value.name)
        if update is None:
            continue
        least = least_order(update.whole)
        is_stacked = update.along == (0,) and 0 in least[:TILED]
        is_turned = is_argument and _is_turned(body, update)
        if (is_stacked or is_turned) and (order := _order(update)) != least:
            yield update, order


def _update(makers: Mapping[Name, PlannedOp], step: PlannedOp | None, carried: Name) -> _Update | None:
    """The update by which a loop makes the next value; None if the part has the dimensions of the whole."""
    if step is None or COMPILED.of(step.record.name).form is not NodeForm.UPDATE:
        return None
    reshape = makers.get(step.operands[1])
    if step.operands[0] != carried or reshape is None or len(reshape.operands) != 1:
        return None
    (whole, part), (source,) = step.record.operands[:2], reshape.record.operands
    if whole is None or part is None or source is None or elements_of(source) != elements_of(part):
        return None
    sizes = zip(shape_of(whole), shape_of(part), strict=True)
    along = tuple([d for d, (all_, own) in enumerate(sizes) if own == 1 < all_])
    rest = tuple([size for d, size in enumerate(shape_of(part)) if d not in along])
    if not along or not rest or rest != shape_of(source):
        return None
    return _Update(step, carried, whole, source, makers.get(reshape.operands[0]), along)


def _is_turned(body: Block, update: _Update) -> bool:
    """True if an op of the body reads what is updated, but no product of matrices."""
    own = {update.carried, *update.step.results}
    readers = [each for each in body.steps if each is not update.step and not own.isdisjoint(reads_of(each))]
    if any(_is_matrix_product(each, own) for each in readers):
        return False
    return bool(readers) or update.along[0] == least_order(update.whole)[0]


def _is_matrix_product(step: PlannedOp, own: Collection[Name]) -> bool:
    """True for a product of values with one that has several rows for each batch."""
    if not STORED.of(step.record.name).is_product or _DOT not in step.record.attributes:
        return False
    numbers = DotDimensions.of(step.record.attributes)
    for side, other in ((0, 1), (1, 0)):
        type_ = step.record.operands[other]
        if step.operands[side] in own and type_ is not None:
            joined = {*numbers.batching[other], *numbers.contracting[other]}
            return prod(size for d, size in enumerate(shape_of(type_)) if d not in joined) > 1
    return False


def _order(update: _Update) -> Order:
    """The order of the part, with the dimensions along which it is written behind all others."""
    inner = _order_of_part(update)
    least, rank = least_order(update.whole), update.whole.rank
    is_row_major = inner == (*reversed(range(len(inner))),) and least == (*reversed(range(rank)),)
    if is_row_major and update.along == least[1:TILED] and _is_linear(update.source):
        return least
    kept = [d for d in range(rank) if d not in update.along]
    order = (*(kept[d] for d in inner), *reversed(update.along))
    return least if order[:TILED] == least[:TILED] else order


def _is_linear(type_: TensorType) -> bool:
    """True if rows are one behind the other in memory, as in tiles of one row."""
    is_of_words = element_type(type_.element).bits == WORD_BITS
    return type_.rank == 1 or (is_of_words and shape_of(type_)[-1] <= LANES)


def _order_of_part(update: _Update) -> Order:
    """The order of the part: of a product that of a matrix, whose columns are dimensions of the weight."""
    maker, rank = update.maker, update.source.rank
    if maker is None or not STORED.of(maker.record.name).is_product:
        return least_order(update.source)
    numbers = DotDimensions.of(maker.record.attributes)
    contracted, batches = len(numbers.contracting[0]), len(numbers.batching[0])
    rows, columns = (
        0 if type_ is None else type_.rank - contracted - batches for type_ in maker.record.operands[:2]
    )
    if rows != 1 or columns < TILED or batches:
        return least_order(update.source)
    return (rank - 1, 0, *reversed(range(1, rank - 1)))
