"""Repeated values that a reshape puts into other tiles: both are stored, as no fusion computes the reshape.

    repeat(x, 4) along rows  =  reshape(broadcast(x)) of [256, 4, 1024]  ->  [1024, 1024]

A reshape after which all elements are where they were is the same value under another name. Source: the HLO
of XLA:TPU for 11 such programs; openxla/xla, `ReshapeIsBitcast` in xla/shape_util.cc. Not here: reshapes of
values that may be made in another order (`reshaped_orders.py`).

>>> row, rows = TensorType((8, 64, 2, 128), "f32"), TensorType((8, 128, 128), "f32")
>>> are_in_place(row, rows), are_in_place(TensorType((256, 4, 1024), "f32"), TensorType((1024, 1024), "f32"))
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, permutations
from operator import mul
from typing import NamedTuple

from shardy_py.base.session import SESSION
from shardy_py.indexing.layout.formats import LANES, SUBLANES
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.local_sizes import TILED, least_padded, tiled_bytes
from shardy_py.xla.buffers.tpu.records import PLACED, Records, elements_of, step_of
from shardy_py.xla.buffers.tpu.sends import spread_of_element
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of


class _Places(NamedTuple):
    """Places in memory behind each other.

    step: by how much the number of the element grows from one to the next. used: how many of the last ones
    have elements, if not all.
    """

    step: int
    number: int
    used: int


def with_repeats_stored(
    steps: Sequence[PlannedOp], records: Records, is_fixed: Callable[[PlannedOp], bool]
) -> list[PlannedOp]:
    """Returns steps with reshapes of repeated values in memory of their own, where elements move.

    is_fixed: whether something else knows a step, which stays as it is.
    """
    repeated = set[Name]()
    elements: dict[Name, Name] = {}
    """The elements that values of one everywhere are made of, which have any form."""
    found: list[PlannedOp] = []
    for step in steps:
        form, types = COMPILED.of(step.record.name).form, (*step.record.operands, *step.record.results)
        if form is NodeForm.BROADCAST and elements_of(types[0]) > 1:
            repeated.update(step.results)
        elif form is NodeForm.BROADCAST:
            elements[step.results[0]] = step.operands[0]
        elif step.record.name == PLACED and step.operands[0] in elements and types[-1] is not None:
            element = elements[step.operands[0]]
            step = spread_of_element(records, types[-1], element, step.results[0], step.source)
        elif form is NodeForm.RESHAPE and not (repeated.isdisjoint(step.operands) or is_fixed(step)):
            given, made = types
            if given is not None and made is not None and not are_in_place(given, made):
                step = step_of(
                    records.of(PLACED, (given,), (made,)), step.operands, step.results, step.source
                )
        found.append(step)
    return found


@SESSION.cache(2048)
def are_in_place(given: TensorType, made: TensorType) -> bool:
    """Returns whether elements may stay in their places of memory in a reshape of a repeated value.

    That has the least padding, and dimensions in rows if so; the result may have its dimensions in any order.
    """
    held, shape = _shape(given), _shape(made)
    ends = {tuple(_joined(_places(shape, order))) for order in permutations(range(len(shape)))}
    return any(tuple(_joined(_places(held, order))) in ends for order in _least_orders(held, given.element))


def _least_orders(shape: tuple[int, ...], element: str) -> Iterator[tuple[int, ...]]:
    """The orders with the least padding, major to minor; only the row-major one, if it is among them."""
    least = least_padded(TensorType(shape, element))
    if least == (*range(len(shape)),):
        yield least
        return
    size = tiled_bytes(element, tuple([shape[d] for d in least]))
    for order in permutations(range(len(shape))):
        if tiled_bytes(element, tuple([shape[d] for d in order])) == size:
            yield order


def _shape(type_: TensorType) -> tuple[int, ...]:
    """The shape of a type without dimensions of one element, of which at least one stays."""
    shape = shape_of(type_)
    return tuple([size for size in shape if size != 1]) or shape[:1]


def _places(shape: tuple[int, ...], order: Sequence[int]) -> Iterator[_Places]:
    """The places of a value with dimensions in an order, major to minor."""
    steps = [*accumulate(reversed(shape[1:]), mul, initial=1)][::-1]
    for d in order[:-TILED]:
        yield _Places(steps[d], shape[d], 0)
    tiles = [*zip(order[-TILED:], (SUBLANES, LANES)[-len(order) :], strict=True)]
    tiles = [(d, min(tile, _power(shape[d])) if tile == SUBLANES else tile) for d, tile in tiles]
    for d, tile in tiles:
        yield _Places(steps[d] * tile, -(-shape[d] // tile), 0)
    for d, tile in tiles:
        yield _Places(steps[d], tile, shape[d] % tile and shape[d])


def _power(size: int) -> int:
    """The smallest power of two that is not less."""
    return 1 << max(0, size - 1).bit_length()


def _joined(places: Iterator[_Places]) -> Iterator[_Places]:
    """Places as few as possible: those that go on as the ones inside them do are one."""
    last: _Places | None = None
    for each in places:
        if each.number == 1 and not each.used:
            continue
        if last is not None and last.step == each.step * each.number and not (last.used or each.used):
            last = _Places(each.step, last.number * each.number, 0)
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last
