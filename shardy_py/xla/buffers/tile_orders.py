"""The orders in which XLA:TPU stores the dimensions of values where an op needs one, and copies into them.

A value is stored in the order with the least padding, unless an op needs another: gathers and scatters of
rows read and write row-major, and a convolution has batch and features in tiles, whichever pads less; a
smaller batch takes parts of a spatial dimension, until a tile is full (space to batch). What is made of such
a value keeps its order. An argument that is needed in another order is copied. The results of products, which
may have any order, have that in which they are read. Source: the HLO of XLA:TPU for about
150 programs; openxla/xla, xla/service/layout_assignment.cc, xla/service/space_to_batch_converter.cc.

Not here: tiles (`indexing/layout`), which values are stored (`stored.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, Family, OpRecord, TensorType
from shardy_py.ops.dimensions import ConvolutionDimensions, GatherDimensions, ScatterDimensions
from shardy_py.ops.reads import integer
from shardy_py.propagation.rules import rule_of
from shardy_py.sharding import TensorMapping
from shardy_py.xla.buffers.facet import STORED, Tiled
from shardy_py.xla.buffers.local_sizes import least_padded, measured, tiled_bytes
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock

_LANES = 128
_ROWS = 8
"""The rows of a tile: batches of fewer take parts of a spatial dimension, as many as there are rows."""


class TileOrder(NamedTuple):
    """The dimensions of a value in memory, minor to major, and the size of each as it is held."""

    minor_to_major: tuple[int, ...]
    sizes: tuple[int, ...]

    def size(self, element: str) -> int:
        """Returns the bytes of the value."""
        return tiled_bytes(element, tuple(self.sizes[d] for d in reversed(self.minor_to_major)))


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
    found = _TileOrders(block.types, block.stored_name, block.setting.sends_apart)
    found.note(block.steps, given)
    fixed, sizes = {*given}, block.sizes
    if not block.is_entry:
        fixed.update(block.results)
    for name, order in found.orders.items():
        if name in fixed or not (least := sizes.get(name)):
            continue
        sizes[name] = order.size(block.types[name].element)
        if name in block.results and sizes[name] != least:
            block.returned[name] = copy = ("returned", name)
            sizes[copy] = least
    block.results = [block.returned.get(name, name) for name in block.results]
    sizes.update(found.copied)
    return found.copies


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
    have the order of what they are of. orders: those that are not the least
    padded; copies: see `Copies`; copied: the bytes of each.
    """

    types: Mapping[Name, TensorType]
    stored_name: Callable[[Name], Name]
    keeps_pieces: bool = False
    orders: dict[Name, TileOrder] = field(default_factory=dict[Name, TileOrder], init=False)
    copies: dict[int, dict[Name, Name]] = field(default_factory=dict[int, dict[Name, Name]], init=False)
    copied: dict[Name, int] = field(default_factory=dict[Name, int], init=False)
    needed: set[tuple[Name, TileOrder]] = field(default_factory=set[tuple[Name, TileOrder]], init=False)
    """The values that ops need in an order."""
    exact: set[Name] = field(default_factory=set[Name], init=False)
    """The values of whose copies elementwise steps read all bits."""
    wanted: dict[int, dict[int, TileOrder]] = field(default_factory=dict[int, dict[int, TileOrder]], init=False)
    """By the identity of an elementwise step, the orders in which it reads copies of others."""

    def note(self, steps: Sequence[PlannedOp], arguments: Sequence[Name]) -> None:
        """Notes the orders of what steps make, and the copies that they need."""
        needed = {id(step): found for step in steps if (found := dict(self._needed(step)))}
        if not needed and not (self.keeps_pieces and any(map(_is_piece, steps))):
            return
        self.needed = {
            (self.stored_name(step.operands[operand]), order)
            for step in steps
            for operand, order in needed.get(id(step), {}).items()
            if operand >= 0 and not self._is_rounded(step, operand)
        }
        known: _Orders = dict.fromkeys(arguments)
        for step in steps:
            self._forward(step, known, needed.get(id(step), {}))
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

    def _needed(self, step: PlannedOp) -> Iterator[tuple[int, TileOrder]]:
        """By operand the order that a step needs; -1: of its result."""
        given = step.record.attributes.get("minor_to_major")
        if given is not None and (shape := self._shape(step.results[0])) is not None:
            yield -1, TileOrder(tuple(given), shape)
            return
        tiled = STORED.of(step.record.name).tiled
        if tiled is Tiled.SORTED and self.keeps_pieces:
            yield from self._sorted(step)
            return
        if tiled in (Tiled.ANY, Tiled.SORTED) or len(step.results) != 1:
            return
        names = *step.operands, *step.results
        *operands, made = [shape for name in names if (shape := self._shape(name)) is not None] or [()]
        if len(operands) == len(step.operands):
            yield from (_rows if tiled is Tiled.ROWS else _images)(step.record, operands, made)

    def _sorted(self, step: PlannedOp) -> Iterator[tuple[int, TileOrder]]:
        """The order of all that a sort reads and makes."""
        shape = self._shape(step.results[0])
        dimension = integer(step.record.attributes, "dimension", 0)
        if shape is None or len(shape) < 2:
            return
        others = [d for d in reversed(range(len(shape))) if d != dimension]
        is_in_lanes = shape[dimension] % _LANES == 0 and shape[others[0]] % _LANES != 0
        minor = (dimension, others[0]) if is_in_lanes else (others[0], dimension)
        order = TileOrder((*minor, *others[1:]), shape)
        for i in range(-1, len(step.operands)):
            own = self._shape((*step.operands, step.results[0])[i])
            if own is not None and len(own) == len(shape):
                yield i, order

    def _shape(self, name: Name) -> tuple[int, ...] | None:
        type_ = self.types.get(name)
        return None if type_ is None else tuple(size or 0 for size in type_.shape)

    def _forward(self, step: PlannedOp, known: _Orders, needed: Mapping[int, TileOrder]) -> None:
        """Notes the order of what a step makes, by that of what it reads."""
        if needed:
            known.update(dict.fromkeys(step.results, needed[-1]))
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
            if all((self.stored_name(step.operands[i]), order) in self.needed for i in others):
                if others:
                    self.wanted[id(step)] = dict.fromkeys(others, order)
                    self.exact.update(self.stored_name(step.operands[i]) for i in others)
                known[step.results[0]] = order
                return
        known[step.results[0]] = None if any(each is None for _, each in given) else order

    def _of_piece(self, step: PlannedOp, known: _Orders) -> TileOrder | None:
        """The order of a piece of a value, which it keeps; None if that is also the least padded."""
        source, made = self.types.get(self.stored_name(step.operands[0])), self.types.get(step.results[0])
        if source is None or made is None or source.rank != made.rank:
            return None
        whole = known.get(self.stored_name(step.operands[0]))
        minor_to_major = tuple(reversed(least_padded(source))) if whole is None else whole.minor_to_major
        order = TileOrder(minor_to_major, tuple(size or 0 for size in made.shape))
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
        if shape == given and TABLE[step.record.name].elementwise(step.record):
            return order
        if TABLE[step.record.name].collective is not None:
            return TileOrder(order.minor_to_major, shape) if len(shape) == len(given) else None
        rule = rule_of(step.record)
        if rule is None:
            return None
        tensors = (*rule.operands, *rule.results)
        return _carried(order, given, shape, tensors[source], tensors[target])

    def _copy(self, step: PlannedOp, stored: Name, order: TileOrder) -> None:
        """Notes that a step reads a copy of a value, unless that is in the order that it needs."""
        type_ = self.types.get(stored)
        if type_ is None:
            return
        own = self.orders.get(stored)
        if own is not None and {*own.minor_to_major[:2]} == {*order.minor_to_major[:2]}:
            return
        size = measured(type_, "tpu") if own is None else own.size(type_.element)
        is_turned = (
            STORED.of(step.record.name).tiled is Tiled.SORTED
            and own is None
            and least_padded(type_)[-1] != order.minor_to_major[0]
        )
        if order.size(type_.element) != size or is_turned:
            element = self._copied_as(step, stored, type_.element)
            copy = ("in order", stored, order.minor_to_major, element)
            self.copies.setdefault(id(step), {})[stored] = copy
            self.copied[copy] = order.size(element)

    def _copy_part(self, step: PlannedOp) -> None:
        """Notes that an update reads a copy of the part, if that is in another order than the whole."""
        whole, part = map(self.stored_name, step.operands[:2])
        types = self.types.get(whole), self.types.get(part)
        if types[0] is None or types[1] is None or types[0].rank != types[1].rank:
            return
        own = self.orders.get(whole)
        minor = tuple(reversed(least_padded(types[0]))) if own is None else own.minor_to_major
        order = TileOrder(minor, tuple(size or 0 for size in types[1].shape))
        held = self.orders.get(part)
        size = measured(types[1], "tpu") if held is None else held.size(types[1].element)
        if order.size(types[1].element) != size:
            copy = ("in order", part, minor, types[1].element)
            self.copies.setdefault(id(step), {})[part] = copy
            self.copied[copy] = order.size(types[1].element)

    def _copied_as(self, step: PlannedOp, stored: Name, element: str) -> str:
        """The type of a copy: rounded if all that read it make rounded elements of it."""
        is_rounded = any(self._is_rounded(step, i) for i, _ in enumerate(step.operands[:1]))
        return "bf16" if self.keeps_pieces and is_rounded and stored not in self.exact else element

    def _is_rounded(self, step: PlannedOp, operand: int) -> bool:
        """True if a step makes rounded elements of an operand."""
        types = self.types.get(self.stored_name(step.operands[operand])), self.types.get(step.results[0])
        return [type_ and type_.element for type_ in types] == ["f32", "bf16"]


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


def _majored(shape: tuple[int, ...], major: tuple[int, ...]) -> TileOrder:
    """The order with some dimensions before the others, which are row-major."""
    others = [d for d in range(len(shape)) if d not in major]
    return TileOrder((*reversed(others), *reversed(sorted(major))), shape)


def _rows(
    record: OpRecord, operands: Sequence[tuple[int, ...]], made: tuple[int, ...]
) -> Iterator[tuple[int, TileOrder]]:
    """The orders of a gather or scatter of rows; none if it is of single elements."""
    is_scatter = COMPILED.of(record.name).form is NodeForm.SCATTER
    numbers = (ScatterDimensions if is_scatter else GatherDimensions).of(record.attributes)
    slices = operands[-1] if is_scatter else made
    if prod(slices[d] for d in numbers.offsets) <= 1:
        return
    yield 0, _majored(operands[0], numbers.dropped)
    rows = _majored(slices, numbers.outer(len(slices)))
    yield -1, _majored(made, numbers.dropped) if is_scatter else rows
    if is_scatter and len(operands) == 3:
        yield 2, rows


def _images(
    record: OpRecord, operands: Sequence[tuple[int, ...]], made: tuple[int, ...]
) -> Iterator[tuple[int, TileOrder]]:
    """The orders of the image and the result of a convolution."""
    numbers = ConvolutionDimensions.of(record.attributes)
    window = max((operands[1][d] for d in numbers.kernel_spatial), default=1)
    element = record.results[0].element if record.results[0] is not None else "f32"
    yield 0, _image(operands[0], numbers.batch, numbers.feature, numbers.spatial, window, element)
    ends = numbers.result_batch, numbers.result_feature, numbers.result_spatial
    spread = record.attributes.get("spread")
    yield -1, _image(made, *ends, window, element) if spread is None else _spread(made, ends, spread, element)


def _spread(made, ends, spread, element) -> TileOrder:
    batch, feature, spatial = ends
    dimension, part = spread
    sizes = [*made]
    sizes[batch] *= _ROWS
    sizes[dimension] = part
    orders = [TileOrder((*pair, *reversed(spatial)), tuple(sizes)) for pair in ((feature, batch), (batch, feature))]
    return min(orders, key=lambda order: order.size(element))


def _image(
    shape: tuple[int, ...], batch: int, feature: int, spatial: tuple[int, ...], window: int, element: str
) -> TileOrder:
    """The order of an image: batch and features are in tiles, of which the lanes take what pads less."""
    sizes = [*shape]
    if spatial and shape[batch] < _ROWS:
        split = max(spatial, key=lambda d: (shape[d], d))
        if shape[split] >= _ROWS:
            sizes[batch] *= _ROWS
            sizes[split] = -(-(shape[split] + window - 1) // _ROWS)
    rest = tuple(reversed(spatial))
    orders = [TileOrder((*pair, *rest), tuple(sizes)) for pair in ((feature, batch), (batch, feature))]
    return min(orders, key=lambda order: order.size(element))
