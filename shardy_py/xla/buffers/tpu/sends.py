"""The steps of a collective on a TPU: itself, with copies into the order in which it sends, and out of that.

Not here: exchanges in pieces (`exchanged.py`), which collectives there are (`xla/targets/`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.indexing.layout.formats import LANES, WORD_BITS
from shardy_py.mlir.dialects.stablehlo import BroadcastInDimOp, ConvertOp, DynamicUpdateSliceOp, ReshapeOp
from shardy_py.ops import TABLE, OpRecord, TensorType
from shardy_py.ops.reads import integer
from shardy_py.xla.buffers.tpu.exchanged import OrderChange, exchange_of, received_as, sent_as
from shardy_py.xla.buffers.tpu.gathered import gathered_order
from shardy_py.xla.buffers.tpu.offsets import Offsets
from shardy_py.xla.buffers.tpu.records import (
    COPIED,
    NOTHING,
    OFFSET,
    PLACED,
    Records,
    elements_of,
    least_order,
    of_rank,
    step_of,
)
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.model import DeviceNode, Transfer
from shardy_py.xla.targets.parts import shape_of

_WIDE, _NARROW, _BIT = "f32", "bf16", "i1"
_WORDS = LANES * WORD_BITS // 8
"""The Booleans, of a byte each, in a row of words: sums of others are of copies, which are padded."""
_NAMES = {OrderChange.RESHAPE: ReshapeOp.name, OrderChange.COPY: COPIED, OrderChange.JOIN: PLACED}


class AroundSent(NamedTuple):
    """The sender and the readers of a collective.

    is_given: whether it sends an argument. is_read_elementwise: whether only one elementwise op of what is
    received, and of single elements, reads that.
    """

    is_given: bool = True
    is_read_elementwise: bool = False


@dataclass
class Sends:
    """Makes the steps of collectives.

    narrow: the nodes that are stored in bf16. sent: the collective that a step is, by its identity.
    """

    records: Records
    narrow: frozenset[int]
    sent: dict[int, list[Sent]] = field(default_factory=dict[int, list[Sent]])

    def steps(
        self,
        number: int,
        node: DeviceNode,
        transfer: Transfer,
        given: tuple[Name, TensorType | None],
        offsets: Offsets,
        around: AroundSent,
    ) -> Iterator[PlannedOp]:
        """Yields the steps of a node that receives a collective; the last one makes its value.

        given: the name and the type of what it sends.
        """
        *before, last = self._chain(number, node, transfer, given, offsets, around)
        yield from before
        own = step_of(last.record, last.operands, (number,), last.source)
        if (sent := self.sent.pop(id(last), None)) is not None:
            self.sent[id(own)] = [Sent(own, sent[0].collective, 0)]
        yield own

    def _chain(
        self,
        number: int,
        node: DeviceNode,
        transfer: Transfer,
        source: tuple[Name, TensorType | None],
        offsets: Offsets,
        around: AroundSent,
    ) -> Iterator[PlannedOp]:
        name, given = source
        chain = _Chain(self, number, node, name, given, around)
        made = node.type
        if given is None or made is None:
            yield chain.sent(transfer, made)
        elif transfer.kind != "all_reduce":
            yield from self._moved(chain, transfer, given, made, is_narrow=node.inputs[0] in self.narrow)
        else:
            if elements_of(made) > elements_of(given):
                yield from self._put(chain, transfer, made, offsets)
            if given.element == _BIT and elements_of(given) % _WORDS > 1:
                yield chain.changed(self.records.of(COPIED, (chain.type,), (made,)))
            yield chain.sent(transfer, made)

    def _put(
        self, chain: _Chain, transfer: Transfer, made: TensorType, offsets: Offsets
    ) -> Iterator[PlannedOp]:
        """The steps that put the part of a device into zeros, which are summed."""
        group = transfer.collective.group
        yield from offsets.of_group(group)
        yield zeros_of(self.records, made, zeros := (chain.number, "zeros"), None)
        record = self.records.of(DynamicUpdateSliceOp.name, (made, chain.type, OFFSET), (made,))
        reads = zeros, chain.name, offsets.place(group)
        chain.name, chain.type = (chain.number, "put"), made
        yield step_of(record, reads, (chain.name,), None)

    def _moved(
        self, chain: _Chain, transfer: Transfer, given: TensorType, made: TensorType, *, is_narrow: bool
    ) -> Iterator[PlannedOp]:
        """The steps of a collective that adds up nothing, which sends rounded elements as they are."""
        element = transfer.collective.element_type
        if (given.element, element) == (_WIDE, _NARROW):
            rounded = TensorType(given.shape, _NARROW)
            if not is_narrow:
                yield chain.changed(self.records.of(ConvertOp.name, (given,), (rounded,)))
            chain.type = given = rounded
        made = TensorType(made.shape, element)
        if transfer.kind != "all_to_all":
            yield chain.sent(transfer, made)
            return
        held = given
        if given.rank != made.rank:
            chain.type = given = TensorType(transfer.collective.held_shape, given.element)
        exchange = exchange_of(shape_of(given), shape_of(made), *chain.own_exchange(transfer))
        if exchange is None:
            yield chain.sent(transfer, made)
            return
        for change, each in sent_as(given, exchange, is_fixed=chain.around.is_given):
            yield chain.changed(self._change(change, chain.type, each))
        yield chain.sent(transfer, chain.type)
        is_read = chain.around.is_read_elementwise
        for change, each in received_as(given, made, exchange, is_read_elementwise=is_read):
            yield chain.changed(self._change(change, chain.type, each))
        made = of_rank(made, held) or made
        if chain.type is not None and chain.type.rank != made.rank:
            yield chain.changed(self._change(OrderChange.RESHAPE, chain.type, made))

    def _change(self, change: OrderChange, given: TensorType | None, made: TensorType) -> OpRecord:
        order = least_order(made)
        if change is OrderChange.TRANSPOSE:
            return self.records.transposed(given, made, minor_to_major=order)
        return self.records.of(_NAMES[change], (given,), (made,), minor_to_major=order)


def zeros_of(records: Records, made: TensorType, name: Name, source: object) -> PlannedOp:
    """Returns the step that makes a value of one element everywhere, of a constant."""
    return spread_of_element(records, made, NOTHING, name, source)


def spread_of_element(
    records: Records, made: TensorType, element: Name, name: Name, source: object
) -> PlannedOp:
    """Returns the step that makes a value of one element everywhere."""
    given = TensorType((), made.element)
    record = records.of(BroadcastInDimOp.name, (given,), (made,), broadcast_dimensions=())
    return step_of(record, (element,), (name,), source)


@dataclass
class _Chain:
    """The steps from what a collective sends to what is made of what is received. name, type: of the last."""

    sends: Sends
    number: int
    node: DeviceNode
    name: Name
    type: TensorType | None
    around: AroundSent
    count: int = field(default=0, init=False)

    def changed(self, record: OpRecord) -> PlannedOp:
        """The step that makes another value of the last one."""
        source, self.name, self.type = self.name, (self.number, self.count), record.results[0]
        self.count += 1
        step = self.node.step
        return step_of(record, (source,), (self.name,), None if step is None else step.source)

    def own_exchange(self, transfer: Transfer) -> tuple[int, int]:
        """How many devices exchange what the program exchanges, and along which dimension."""
        step = self.node.step
        if step is None or TABLE[step.record.name].collective is None:
            return 0, 0
        return transfer.collective.group_size, integer(step.record.attributes, "split_dimension", 0)

    def sent(self, transfer: Transfer, made: TensorType | None) -> PlannedOp:
        """The step that is the collective."""
        name = f"stablehlo.{transfer.kind}"
        order = self._order(transfer, made)
        fixed = {} if order is None else {"minor_to_major": order}
        step = self.changed(self.sends.records.of(name, (self.type,), (made,), **fixed))
        self.sends.sent[id(step)] = [Sent(step, transfer.collective, 0)]
        return step

    def _order(self, transfer: Transfer, made: TensorType | None) -> tuple[int, ...] | None:
        """The order of dimensions in which a collective receives; None if any is as good."""
        if made is not None and transfer.kind == "all_to_all":
            return least_order(made)
        if made is None or self.type is None or transfer.kind != "all_gather":
            return None
        return gathered_order(shape_of(self.type), shape_of(made), made.element)
