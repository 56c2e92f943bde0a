"""The orders in which XLA:TPU stores the dimensions of values where an op needs one, and copies into them.

A value is stored in the order with the least padding, unless an op needs another. What is made of such a
value keeps its order, and slices have that of what they are of. An argument needed in another order is
copied; elementwise ops read that copy. The results of products, which may have any order, have that in
which they are read. Source: the HLO of XLA:TPU for about 400 programs; openxla/xla,
xla/service/layout_assignment.cc.

Not here: which orders ops need (`needed_orders.py`), tiles (`indexing/layout`), which values are stored
(`stored.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod
from typing import TYPE_CHECKING

from shardy_py.base.records import dataclass
from shardy_py.ops import CALL, TABLE, Family, OpRecord, Role, TensorType
from shardy_py.propagation.rules import rule_of
from shardy_py.sharding import TensorMapping
from shardy_py.xla.buffers.facet import STORED, Tiled
from shardy_py.xla.buffers.local_sizes import least_padded, measured
from shardy_py.xla.buffers.loop_orders import captured_orders, orders_around, orders_at_ends
from shardy_py.xla.buffers.needed_orders import (
    Needed,
    TileOrder,
    carried_orders,
    has_batch_in_lanes,
    needed_orders,
    needs_order,
    selects,
    selects_in_rows,
)
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock

Orders = dict[int, TileOrder]
Copies = Mapping[int, Mapping[Name, Name]]
"""By the identity of a step, the copies in another order that it reads, by what is copied."""
_Orders = dict[Name, TileOrder | None]
"""The orders of values; None for one with the least padding; a value without an order may be in any."""


def note_orders(block: StoredBlock) -> Copies:
    """Returns the copies that the steps of a block read; notes the sizes of values in orders of their own.

    Arguments and results have the least padding in any case: what a program returns in another order is
    copied, which is noted in `block.returned`.
    """
    given = [value.name for value in block.block.arguments]
    entry = given if block.is_entry else ()
    sent = {name for step in block.steps if block.sent_for(step) for name in step.operands}
    found = _TileOrders(block.types, block.stored_name, block.setting.sends_apart, entry, sent)
    fixed, sizes = {*given}, block.sizes
    inside = orders_at_ends(block.block) if block.setting.sends_apart and not block.is_entry else {}
    sizes |= {each: own.size(block.types[each].element) for each, own in inside.items() if sizes.get(each)}
    found.note(block.steps, given, inside)
    if not block.is_entry:
        fixed.update(block.results)
    for name, order in found.orders.items():
        if name in fixed or not (least := sizes.get(name)):
            continue
        sizes[name] = order.size(block.types[name].element)
        is_turned = block.setting.sends_apart and not _has_least(order, block.types[name])
        if name in block.results and (sizes[name] != least or is_turned):
            block.returned[name] = copy = ("returned", name)
            sizes[copy] = least
    block.results = [block.returned.get(name, name) for name in block.results]
    sizes.update(found.copied)
    return found.copies


def _has_least(order: TileOrder, type_: TensorType) -> bool:
    """True if the dimensions in tiles are as in the order with the least padding."""
    return order.minor_to_major[:2] == least_padded(type_)[-2:][::-1]


def spreads_product(block: StoredBlock, step: PlannedOp) -> bool:
    """Returns whether a reshape of a product needs more padding: the product is made in its order instead."""
    (operand,), (result,) = step.operands, step.results
    maker = block.steps[-1] if block.steps and block.steps[-1].results == (operand,) else None
    if maker is None or not STORED.of(maker.record.name).is_product or block.sent_for(step):
        return False
    if block.sizes[result] <= block.sizes[operand]:
        return False
    block.sizes[operand] = block.sizes[result]
    return True


@dataclass
class _TileOrders:
    """The orders of the values of a block.

    types: on a device. stored_name: the value that a name stands for. keeps_pieces: whether slices
    have the order of what they are of. copied_for_selection: the values that a selection of the largest
    elements reads in its order; others it reads as they are. sent: what collectives read. orders: those that
    are not the least padded; copies: see `Copies`; copied: the bytes of each.
    """

    types: Mapping[Name, TensorType]
    stored_name: Callable[[Name], Name]
    keeps_pieces: bool = False
    copied_for_selection: Collection[Name] = ()
    sent: Collection[Name] = ()
    orders: dict[Name, TileOrder] = field(default_factory=dict[Name, TileOrder], init=False)
    copies: dict[int, dict[Name, Name]] = field(default_factory=dict[int, dict[Name, Name]], init=False)
    copied: dict[Name, int] = field(default_factory=dict[Name, int], init=False)
    needed: set[tuple[Name, TileOrder]] = field(default_factory=set[tuple[Name, TileOrder]], init=False)
    """The values that ops need in an order."""
    images: set[Name] = field(default_factory=set[Name], init=False)
    """The results of convolutions, and what elementwise ops make of them in their orders."""
    exact: set[Name] = field(default_factory=set[Name], init=False)
    """The values of whose copies elementwise steps read all bits."""
    turned: set[Name] = field(default_factory=set[Name], init=False)
    """The transposed values, which are in the order in which they are cumulated."""
    wanted: dict[int, Orders] = field(default_factory=dict[int, Orders], init=False)
    """By the identity of an elementwise step, the orders in which it reads copies of others."""

    def note(
        self, steps: Sequence[PlannedOp], arguments: Sequence[Name], inside: Mapping[Name, TileOrder]
    ) -> None:
        """Notes the orders of what steps make, and the copies that they need. inside: those in a loop."""
        needed = {id(step): found for step in steps if (found := dict(self._needed(step)))}
        loops = [step for step in steps if self.keeps_pieces and step.blocks]
        captured = [(step, *each) for step in loops for each in captured_orders(step)]
        if not (needed or captured or (self.keeps_pieces and any(map(_is_piece, steps)))):
            return
        if self.keeps_pieces:
            from shardy_py.xla.buffers.ordered_gathers import gathered_in_order  # needed for TPUs only

            needed |= gathered_in_order(steps, needed, self._shape, self.stored_name)
        self.needed = {
            (self.stored_name(step.operands[operand]), order)
            for step in steps
            for operand, order in needed.get(id(step), {}).items()
            if operand >= 0
        }
        known: _Orders = {**dict.fromkeys(arguments), **inside}
        for step in steps:
            self._forward(step, known, needed.get(id(step), {}))
        turned = (step for step in steps if COMPILED.of(step.record.name).form is NodeForm.TRANSPOSE)
        self.turned = {step.results[0] for step in turned}
        products = {step.results[0] for step in steps if STORED.of(step.record.name).is_product}
        for step in reversed(steps):
            self._backward(step, known, needed.get(id(step), {}), products)
        self.orders = {name: order for name, order in known.items() if order is not None}
        for step in steps if self.keeps_pieces else ():
            if COMPILED.of(step.record.name).form is NodeForm.UPDATE:
                self._copy_part(step)
        for step in steps:
            for operand, order in {**needed.get(id(step), {}), **self.wanted.get(id(step), {})}.items():
                if operand >= 0:
                    self._copy(step, self.stored_name(step.operands[operand]), order)
        for step, name, order in captured:
            self._copy(step, self.stored_name(name), order)

    def _needed(self, step: PlannedOp) -> Iterator[Needed]:
        """By operand the order that a step needs; -1: of its result."""
        if step.blocks:
            yield from orders_around(step) if self.keeps_pieces else carried_orders(step)
            return
        tiled = STORED.of(step.record.name).tiled
        is_sorted = tiled is Tiled.SORTED and self.keeps_pieces
        if tiled is Tiled.SORTED and not is_sorted:
            return
        is_call = self.keeps_pieces and step.record.name == CALL
        if step.record.name == CALL and not is_call:
            return
        if len(step.results) != 1 and not (is_sorted or is_call):
            return
        if selects(step.record) and not self._is_copied_for_selection(step):
            return
        made = self._shape(step.results[0])
        operands = [self._shape(name) for name in step.operands]
        if made is not None and (None not in operands or "minor_to_major" in step.record.attributes):
            yield from needed_orders(step.record, [shape or () for shape in operands], made)

    def _is_copied_for_selection(self, step: PlannedOp) -> bool:
        """True for an argument, and for rows that are put together of smaller ones, if results are sent.

        Those are sorted before, in columns; and a reshape moves no elements of columns, as it does of rows.
        """
        stored, is_sent = self.stored_name(step.operands[0]), any(name in self.sent for name in step.results)
        if stored in self.copied_for_selection:
            return is_sent or not selects_in_rows(step.record)
        held, read = self._shape(stored), self._shape(step.operands[0])
        is_joined = held and read and held[-1] != read[-1] and prod(read[:-1]) > 1
        return bool(is_joined) and is_sent

    def _shape(self, name: Name) -> tuple[int, ...] | None:
        type_ = self.types.get(name)
        return None if type_ is None else tuple(size or 0 for size in type_.shape)

    def _forward(self, step: PlannedOp, known: _Orders, needed: Mapping[int, TileOrder]) -> None:
        """Notes the order of what a step makes, by that of what it reads."""
        if needed:
            if STORED.of(step.record.name).tiled is Tiled.IMAGES:
                self.images.update(step.results)
            orders = ((name, needed.get(-1 - i, needed.get(-1))) for i, name in enumerate(step.results))
            known.update((name, order) for name, order in orders if order is not None or not step.blocks)
            return
        if STORED.of(step.record.name).is_product:
            known[step.results[0]] = None
        if self.keeps_pieces and _is_piece(step) and (order := self._of_piece(step, known)) is not None:
            known[step.results[0]] = order
            return
        if len(step.results) != 1 or step.blocks or not _keeps_order(step.record):
            return
        read = [(i, self.stored_name(name)) for i, name in enumerate(step.operands)]
        given = [(i, known[name]) for i, name in read if name in known]
        if not given:
            return
        order: TileOrder | None = None
        for i, each in given:
            if order is None and each is not None:
                order = self._mapped(step, each, i, -1)
        if self.keeps_pieces and order is not None and TABLE[step.record.name].elementwise(step.record):
            others = [i for i, each in given if each is None]
            is_of_image = any(known.get(name) is not None for _, name in read if name in self.images)
            if is_of_image:
                self.images.add(step.results[0])
            if is_of_image or all((self.stored_name(step.operands[i]), order) in self.needed for i in others):
                if others:
                    self.wanted[id(step)] = dict.fromkeys(others, order)
                    self.exact.update(self.stored_name(step.operands[i]) for i in others)
                known[step.results[0]] = order
                return
        if order is None and TABLE[step.record.name].role is Role.BROADCAST:
            return  # elements of one value repeated may be in any order
        known[step.results[0]] = None if any(each is None for _, each in given) else order

    def _of_piece(self, step: PlannedOp, known: _Orders) -> TileOrder | None:
        """The order of a piece of a value, which it keeps; None if that is also the least padded."""
        source, made = self.types.get(self.stored_name(step.operands[0])), self.types.get(step.results[0])
        if source is None or made is None or source.rank != made.rank:
            return None
        whole = known.get(self.stored_name(step.operands[0]))
        minor_to_major = tuple(reversed(least_padded(source))) if whole is None else whole.minor_to_major
        held = source.shape if whole is None else whole.sizes
        pairs = zip(held, source.shape, made.shape, strict=True)
        sizes = [(held if given == own else own) or 0 for held, given, own in pairs]
        order = TileOrder(minor_to_major, tuple(sizes))
        return None if order.size(made.element) == measured(made, "tpu") else order

    def _backward(
        self, step: PlannedOp, known: _Orders, needed: Mapping[int, TileOrder], products: Collection[Name]
    ) -> None:
        """Notes the orders of what a step reads that may be in any, by what it needs or makes."""
        own = known.get(step.results[0]) if step.results else None
        if not needed and (own is None or len(step.results) != 1 or not _keeps_order(step.record)):
            return
        for i, name in enumerate(step.operands):
            stored = self.stored_name(name)
            is_made_in_any = stored in products and bool(needed)
            if (stored in known and not is_made_in_any) or self._shape(stored) != self._shape(name):
                continue
            order = needed.get(i) if needed or own is None else self._mapped(step, own, -1, i)
            if order is not None:
                known[stored] = order

    def _mapped(self, step: PlannedOp, order: TileOrder, source: int, target: int) -> TileOrder | None:
        """The order of another value of a step; -1: of its result."""
        shape = self._shape((*step.operands, *step.results)[target])
        given = self._shape((*step.operands, *step.results)[source])
        if shape is None or given is None or len(given) != len(order.sizes):
            return None
        row = TABLE[step.record.name]
        if shape == given and (row.elementwise(step.record) or row.collective is not None):
            return order
        if row.collective is not None:
            return TileOrder(order.minor_to_major, shape) if len(shape) == len(given) else None
        is_repeated = row.role is Role.BROADCAST and target == -1 and self.keeps_pieces
        if is_repeated and order.minor_to_major == (*reversed(range(len(given))),):
            return TileOrder((*reversed(range(len(shape))),), shape)  # rows stay rows
        rule = rule_of(step.record)
        if rule is None:
            return None
        tensors = (*rule.operands, *rule.results)
        return _carried(order, given, shape, tensors[source], tensors[target])

    def _copy(self, step: PlannedOp, stored: Name, order: TileOrder) -> None:
        """Notes that a step reads a copy of a value, unless that is in the order that it needs."""
        type_ = self.types.get(stored)
        if type_ is None or not type_.rank:
            return  # one element, which is repeated where it is read
        own = self.orders.get(stored)
        if COMPILED.of(step.record.name).form is NodeForm.WINDOW and (
            stored in self.turned or (own is not None and own.minor_to_major[0] == order.minor_to_major[0])
        ):
            return  # windows take in a transpose that leaves lanes as they are
        if step.blocks:
            if self._minor_to_major(stored, type_) != order.minor_to_major:
                self._note_copy(step, stored, order, type_.element)
            return
        if own is not None and {*own.minor_to_major[:2]} == {*order.minor_to_major[:2]}:
            is_reshaped = COMPILED.of(step.record.name).form is NodeForm.RESHAPE
            if not is_reshaped or order.size(type_.element) == self._size(stored, type_):
                return
        is_turned = own is None and order.last_of(type_) != order.minor_to_major[0]
        if own is None and has_batch_in_lanes(step.record):
            is_copied = is_turned  # a convolution puts other dimensions than lanes into its order itself
        else:
            is_copied = is_turned and needs_order(step.record)
            is_copied |= order.size(type_.element) != self._size(stored, type_)
        if is_copied:
            is_rounded = self.keeps_pieces and stored not in self.exact and self._is_rounded(step, stored)
            is_rounded |= self.keeps_pieces and type_.element == "f32" and _rounds_images(step.record)
            self._note_copy(step, stored, order, "bf16" if is_rounded else type_.element)

    def _copy_part(self, step: PlannedOp) -> None:
        """Notes that an update reads a copy of the part, if that is in another order than the whole."""
        whole, part = map(self.stored_name, step.operands[:2])
        whole = step.results[0] if "minor_to_major" in step.record.attributes else whole
        types = self.types.get(whole), self.types.get(step.operands[1])
        if types[0] is None or types[1] is None or types[0].rank != types[1].rank:
            return
        order = TileOrder(self._minor_to_major(whole, types[0]), tuple(size or 0 for size in types[1].shape))
        if order.size(types[1].element) != self._size(part, types[1]):
            self._note_copy(step, part, order, types[1].element)

    def _note_copy(self, step: PlannedOp, stored: Name, order: TileOrder, element: str) -> None:
        copy = ("in order", stored, order.minor_to_major, element)
        self.copies.setdefault(id(step), {})[stored] = copy
        self.copied[copy] = order.size(element)

    def _minor_to_major(self, stored: Name, type_: TensorType) -> tuple[int, ...]:
        own = self.orders.get(stored)
        return tuple(reversed(least_padded(type_))) if own is None else own.minor_to_major

    def _size(self, stored: Name, type_: TensorType) -> int:
        own = self.orders.get(stored)
        return measured(type_, "tpu") if own is None else own.size(type_.element)

    def _is_rounded(self, step: PlannedOp, stored: Name) -> bool:
        """True if a step makes rounded elements of its first operand, which is stored as this value."""
        if self.stored_name(step.operands[0]) != stored:
            return False
        types = self.types.get(stored), self.types.get(step.results[0])
        return [type_ and type_.element for type_ in types] == ["f32", "bf16"]


def _rounds_images(record: OpRecord) -> bool:
    """True for a convolution that reads f32 as bf16: at default precision."""
    is_exact = "HIGH" in str(record.attributes.get("precision_config"))
    return STORED.of(record.name).tiled is Tiled.IMAGES and not is_exact


def _is_piece(step: PlannedOp) -> bool:
    """True for an op that makes a value of a part of another, or puts it among others."""
    if len(step.results) != 1 or not step.operands:
        return False
    if COMPILED.of(step.record.name).form in (NodeForm.SLICE, NodeForm.PAD, NodeForm.UPDATE):
        return True
    is_indexed = TABLE[step.record.name].kind is Family.INDEXED
    return is_indexed and STORED.of(step.record.name).tiled is Tiled.ANY


def _keeps_order(record: OpRecord) -> bool:
    """True if what an op makes is stored in the order of what it reads."""
    row = TABLE[record.name]
    kept = (Family.ELEMENTWISE, Family.MOVEMENT, Family.INDEXED, Family.WINDOW, Family.COLLECTIVE)
    return STORED.of(record.name).tiled is Tiled.ANY and (
        row.family in kept or row.elementwise(record) or STORED.of(record.name).takes_plain
    )


def _carried(
    order: TileOrder,
    given: tuple[int, ...],
    shape: tuple[int, ...],
    source: TensorMapping,
    target: TensorMapping,
) -> TileOrder | None:
    """An order carried to another value of an op along the factors that dimensions share.

    Dimensions that only the other has are the most major. None if nothing is shared.
    """
    places = {factor: place for place, factors in enumerate(target) for factor in factors[:1]}
    sizes, found = [*shape], list[int]()
    for dimension in order.minor_to_major:
        factors = source[dimension] if dimension < len(source) else ()
        place = places.get(factors[0]) if factors else None
        if place is not None and place not in found:
            found.append(place)
            if order.sizes[dimension] != given[dimension]:
                sizes[place] = order.sizes[dimension]
    if not found:
        return None
    rest = (place for place in reversed(range(len(shape))) if place not in found)
    return TileOrder((*found, *rest), tuple(sizes))
