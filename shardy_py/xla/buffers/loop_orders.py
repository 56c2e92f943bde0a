"""The orders in which XLA:TPU has what loops read and carry: no layout is fixed inside of a loop.

    a table of [65536, 32] of which each iteration looks up rows is copied into rows once, before the loop

An op of the body that needs an order has it at both ends of the loop: from it layouts go through elementwise
ops, collectives and slices to what the loop is given, and to what it returns in the same place. A slice of
one row has the order of the row, as the reshape that follows moves no elements. Arguments and results of a
program have their own order instead. Source: the HLO of XLA:TPU for 25 loops on v5p; openxla/xla,
xla/service/layout_assignment.cc. Not here: what loops update along a dimension (`tpu/updated_orders.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import DynamicSliceOp
from shardy_py.ops import TABLE, Control, TensorType
from shardy_py.xla.buffers.facet import STORED, Tiled
from shardy_py.xla.buffers.local_sizes import least_padded
from shardy_py.xla.buffers.needed_orders import Needed, TileOrder, carried_orders, needed_orders
from shardy_py.xla.spmd.program import Block, Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of

Order = tuple[int, ...]
"""Dimensions, minor to major."""


def orders_inside(body: Block) -> dict[Name, TileOrder]:
    """Returns the orders of what a body is given and captures, where they do not have the least padding."""
    found = _Orders(body)
    return found.given() if found.start() else {}


def orders_at_ends(body: Block) -> dict[Name, TileOrder]:
    """Returns the orders of what a body is given and captures, and of what it returns in the same place."""
    orders = orders_inside(body)
    ends = zip(body.arguments, body.results, strict=False) if orders else ()
    return orders | {name: orders[value.name] for value, name in ends if value.name in orders}


@dataclass
class _Orders:
    """The orders inside of a body. types: of values. known: those that ops need, and what follows."""

    body: Block
    types: dict[Name, TensorType] = field(default_factory=dict[Name, TensorType])
    known: dict[Name, Order] = field(default_factory=dict[Name, Order])

    def start(self) -> bool:
        """Notes types, and the orders that ops need; False if there are none."""
        body = self.body
        types = {value.name: value.type for value in body.arguments}
        for step in body.steps:
            pairs = ((step.operands, step.record.operands), (step.results, step.record.results))
            for names, own in pairs:
                types |= {name: type_ for name, type_ in zip(names, own, strict=False) if name not in types}
        self.types |= {name: type_ for name, type_ in types.items() if type_ is not None}
        sliced: dict[Name, PlannedOp] = {}
        """The slices that values are computed of elementwise."""
        for step in body.steps:
            for name, order in self._needed(step, sliced):
                self.known.setdefault(name, order)
        return bool(self.known)

    def _needed(self, step: PlannedOp, sliced: dict[Name, PlannedOp]) -> Iterator[tuple[Name, Order]]:
        """The orders that a step needs, or values that were sliced before a reshape. sliced: grows."""
        types = [self.types.get(name) for name in step.operands]
        if step.blocks:
            inner = step.blocks[-1]
            for number, order in carried_orders(step):
                name = step.operands[number] if number >= 0 else step.results[-1 - number]
                yield name, order.minor_to_major
            names = {value.name: name for value, name in zip(inner.arguments, step.operands, strict=False)}
            for name, order in orders_inside(inner).items():
                yield names.get(name, name), order.minor_to_major
        elif STORED.of(step.record.name).tiled is Tiled.ROWS and None not in types:
            shapes = [shape_of(type_) for type_ in types if type_ is not None]
            made = self.types.get(step.results[0])
            for number, order in needed_orders(step.record, shapes, () if made is None else shape_of(made)):
                yield (step.operands[number] if number >= 0 else step.results[0]), order.minor_to_major
        elif step.record.name == DynamicSliceOp.name:
            sliced[step.results[0]] = step
        elif (source := next((sliced[name] for name in step.operands if name in sliced), None)) is not None:
            if TABLE[step.record.name].elementwise(step.record):
                sliced |= dict.fromkeys(step.results, source)
            elif COMPILED.of(step.record.name).form is NodeForm.RESHAPE:
                order = self._row(source, step)
                yield from () if order is None else [(source.operands[0], order)]

    def _row(self, step: PlannedOp, reshape: PlannedOp) -> Order | None:
        """The order of a value of which a step slices one row, which is then without its dimension."""
        whole, part = self.types.get(step.operands[0]), self.types.get(step.results[0])
        row = self.types.get(reshape.results[0])
        if whole is None or part is None or row is None:
            return None
        along = [d for d in range(whole.rank) if whole.shape[d] != part.shape[d]]
        kept = [d for d in range(whole.rank) if d not in along]
        is_row = [part.shape[d] for d in along] == [1] and [whole.shape[d] for d in kept] == [*row.shape]
        if not is_row or not kept:
            return None
        return (*(kept[d] for d in reversed(least_padded(row))), *along)

    def given(self) -> dict[Name, TileOrder]:
        """The orders of what the body is given, and captures, once layouts have gone through all ops."""
        body, links = self.body, dict[Name, list[tuple[Name, ...]]]()
        ends = ((value.name, name) for value, name in zip(body.arguments, body.results, strict=False))
        for group in (*ends, *map(self._alike, body.steps)):
            for name in group:
                links.setdefault(name, []).append(group)
        left = [*self.known]
        while left:
            name = left.pop()
            for group in links.get(name, ()):
                new = [each for each in group if each not in self.known]
                self.known |= dict.fromkeys(new, self.known[name])
                left += new
        own = (*(value.name for value in body.arguments), *body.captured)
        return {name: order for name in own if (order := self._turned(name)) is not None}

    def _alike(self, step: PlannedOp) -> tuple[Name, ...]:
        """The values of a step that have one order."""
        row, record = TABLE[step.record.name], step.record
        if len(step.results) != 1 or step.blocks or not step.operands:
            return ()
        made = self.types.get(step.results[0])
        if row.elementwise(record):
            names = (*step.operands, *step.results)
            return tuple([each for each in names if made is not None and self._shape(each) == made.shape])
        is_moved = row.collective is not None or COMPILED.of(record.name).form is NodeForm.SLICE
        is_moved |= record.name == DynamicSliceOp.name
        shape = self._shape(step.operands[0])
        is_alike = is_moved and made is not None and shape is not None and len(shape) == made.rank
        return (step.operands[0], step.results[0]) if is_alike else ()

    def _shape(self, name: Name) -> tuple[int | None, ...] | None:
        type_ = self.types.get(name)
        return None if type_ is None else type_.shape

    def _turned(self, name: Name) -> TileOrder | None:
        """The order of a value; None for that with the least padding."""
        type_, order = self.types.get(name), self.known.get(name)
        if type_ is None or order is None or order == tuple(reversed(least_padded(type_))):
            return None
        return TileOrder(order, shape_of(type_))


def orders_around(step: PlannedOp) -> Iterator[Needed]:
    """Yields the orders of what a loop carries, at both ends: by operand, and as -1, -2 ... by result."""
    known = dict(carried_orders(step))
    yield from known.items()
    if TABLE[step.record.name].control is not Control.LOOP:
        return
    body = step.blocks[-1]
    orders = orders_inside(body)
    for number, value in enumerate(body.arguments[: len(step.operands)] if orders else ()):
        order = orders.get(value.name)
        if order is not None and number not in known:
            yield number, order
            if number < len(step.results):
                yield -1 - number, order


def captured_orders(step: PlannedOp) -> Iterator[tuple[Name, TileOrder]]:
    """Yields the orders of what the regions of a step read from around it."""
    for inner in step.blocks:
        orders = orders_inside(inner)
        yield from ((name, orders[name]) for name in inner.captured if name in orders)
