"""The slot of each value of a module, and the place that holds the sharding of each slot.

Most values have their own slot. The targets of a data-flow edge share the slot of the edge, or of the owner
if there is no edge. Block arguments without data flow, as in the body of a reduce, have `UNSHARDABLE`.

Not here: steps (`build.py`), reading and writing the places (`holders.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.data_flow import argument_owners, edge_of_owner, edge_targets, result_owners
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.dialects.traits import data_flow_of
from shardy_py.mlir.holders import (
    SHARDING,
    Holder,
    Place,
    attribute_list_shardings,
    function_results,
    read,
    sharding_attributes,
    write_all,
    write_only_results,
)
from shardy_py.mlir.ir import erase, operands_of, type_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.typed import function_type_of
from shardy_py.ops import TABLE, Control, OpRecord
from shardy_py.propagation.flat import UNSHARDABLE, FlatProgram
from shardy_py.sharding import Mesh, TensorSharding


class Slots:
    """The slots of one module, filled op by op in program order.

    values: by slot, its value; None for function results.
    places: by slot, the place of its sharding; not of the only result of an op, see `holder`.
    shardings, ranks: by slot.
    of: the slot by the identity of a value.
    siblings: by slot, the slots of all results of its op.
    aliases: values that share the slot of an owner without an edge, or of an operand.
    function_results: by the identity of a function, the slots of its results.
    """

    def __init__(self) -> None:
        self.values: list[SSAValue | None] = [None]
        self.places: dict[int, Holder] = {}
        self.shardings: list[TensorSharding | None] = [None]
        self.ranks: list[int] = [0]
        self.of: dict[int, int] = {}
        self.siblings: dict[int, tuple[int, ...]] = {}
        self.aliases: list[SSAValue] = []
        self.function_results: dict[int, tuple[int, ...]] = {}
        self._ranks: dict[int, int] = {}
        self._adders: dict[type[Operation], Adder | None] = {}

    def get(self, value: SSAValue) -> int:
        """The slot of `value`."""
        return self.of.get(id(value), UNSHARDABLE)

    def holder(self, slot: int) -> Holder | None:
        """The place of the sharding of a slot; None for slot 0."""
        place = self.places.get(slot)
        if place is None and (value := self.values[slot]) is not None:
            place = Holder(Place.RESULT, cast("OpResult[Attribute]", value).op)
        return place

    def add(self, op: Operation) -> None:
        """Add the results of `op` and the arguments of its regions."""
        results = op.results
        add = self._adder(op.__class__)
        if add is not None:
            add(self, op)
        elif len(results) == 1:
            (result,) = results  # faster than an index: xDSL's tuple has its own `__getitem__`
            self.of[id(result)] = len(self.values)
            self.values.append(result)
            self.shardings.append(self.sharding_of_result(op))
            self.ranks.append(self.rank(type_of(result)))
        elif results:
            slots = [self._new(result, Holder(Place.RESULT, op, i)) for i, result in enumerate(results)]
            self._relate(slots)

    def rank_of_only_result(self, op: Operation) -> int | None:
        """The rank of the only result of `op`; None unless `sdy.sharding` holds just its sharding."""
        if len(op.results) != 1 or self._adder(op.__class__) is not None:
            return None
        (result,) = op.results
        return self.rank(type_of(result))

    def sharding_of_result(self, op: Operation) -> TensorSharding | None:
        """The sharding of the only result of `op`, see `rank_of_only_result`."""
        return read(Holder(Place.RESULT, op)) if SHARDING in op.attributes else None

    def _adder(self, op_class: type[Operation]) -> Adder | None:
        if op_class not in self._adders:
            self._adders[op_class] = _adder_of(op_class)
        return self._adders[op_class]

    def add_property(self, op: Operation) -> None:
        """Add an op that keeps its sharding in a property."""
        if id(op.results[0]) not in self.of:  # the result of an edge has the slot of its owner
            self._new(op.results[0], Holder(Place.PROPERTY, op))

    def add_async(self, op: Operation) -> None:
        """Add an op whose block arguments are its operands."""
        for argument, operand in zip(op.regions[0].blocks[0].args, operands_of(op), strict=True):
            self.of[id(argument)] = self.get(operand)
            self.aliases.append(argument)
        for index, result in enumerate(op.results):
            self._new(result, Holder(Place.RESULT, op, index))

    def rank(self, type_: Attribute) -> int:
        """The rank of a ranked tensor type, 0 for other types."""
        rank = self._ranks.get(id(type_))
        if rank is None:
            tensor = tensor_type(type_)
            rank = self._ranks[id(type_)] = 0 if tensor is None else tensor.rank
        return rank

    def _new(self, value: SSAValue, holder: Holder) -> int:
        return self._append(value, holder, value.type, read(holder))

    def _append(
        self, value: SSAValue | None, holder: Holder, type_: Attribute, sharding: TensorSharding | None
    ) -> int:
        slot = len(self.values)
        if value is not None:
            self.of[id(value)] = slot
        self.values.append(value)
        self.places[slot] = holder
        self.shardings.append(sharding)
        self.ranks.append(self.rank(type_))
        return slot

    def add_function(self, op: Operation) -> None:
        """Add the arguments and results; their shardings are read together, as there may be thousands."""
        types: Sequence[Attribute] = function_type_of(op).outputs.data
        given = attribute_list_shardings(op.properties.get("res_attrs")) or (None,) * len(types)
        places = function_results(op, len(types))
        self.function_results[id(op)] = tuple(map(self._append, repeat(None), places, types, given))
        block = op.regions[0].first_block
        if block is None:
            return
        given = attribute_list_shardings(op.properties.get("arg_attrs")) or (None,) * len(block.args)
        for index, (argument, sharding) in enumerate(zip(block.args, given, strict=True)):
            self._append(argument, Holder(Place.ARGUMENT, op, index), argument.type, sharding)

    def add_data_flow(self, op: Operation) -> None:
        """Add one slot for each edge of `op`, or for its owner if there is no edge."""
        inner, outer = (Place.INNER_ARGUMENT, argument_owners(op)), (Place.OUTER_RESULT, result_owners(op))
        for place, owners in (inner, outer):
            without_edge: list[int] = []
            for index, owner in enumerate(owners):
                edge = edge_of_owner(owner)
                if edge is not None:
                    slot = self._new(edge.results[0], Holder(Place.PROPERTY, edge))
                else:
                    slot = self._new(owner, Holder(place, op, index))
                    without_edge.append(slot)
                for target in edge_targets(owner):
                    self.of[id(target)] = slot
                    if edge is None and target is not owner:
                        self.aliases.append(target)
            if not manual_axes(op):
                self._relate(without_edge)

    def _relate(self, slots: list[int]) -> None:
        if len(slots) > 1:
            self.siblings.update(dict.fromkeys(slots, tuple(slots)))


Adder = Callable[[Slots, Operation], None]


def _adder_of(op_class: type[Operation]) -> Adder | None:
    """The method that adds ops of a class; None if `sdy.sharding` holds a sharding for each result."""
    if op_class is FuncOp:
        return Slots.add_function
    if data_flow_of(op_class) is not None:
        return Slots.add_data_flow
    if sharding_attributes(op_class):
        return Slots.add_property
    return Slots.add_async if TABLE[op_class.name].control is Control.ASYNC else None


@dataclass(frozen=True, slots=True)
class FlatModule:
    """The flat program of a module, with the IR of its slots and steps.

    flat: slots and steps.
    meshes: by symbol.
    step_ops: by step, its op.
    slots: the slots of values.
    dead_ops: in the order in which they can be erased.
    without_rule: for each kind of op without a rule, the first such op with its record.
    """

    module: ModuleOp
    flat: FlatProgram
    meshes: dict[str, Mesh]
    step_ops: Sequence[Operation]
    slots: Slots
    dead_ops: Sequence[Operation]
    without_rule: Sequence[tuple[Operation, OpRecord]]

    def write(
        self,
        shardings: Sequence[TensorSharding | None],
        written: Sequence[TensorSharding | None] | None = None,
    ) -> None:
        """Write the shardings, by slot, that differ from those in the IR, and erase the dead ops.

        written: by slot, the shardings in the IR; None: the initial ones.
        """
        old = self.flat.shardings if written is None else written
        changed = [
            (slot, new)
            for slot, (new, before) in enumerate(zip(shardings, old, strict=True))
            if new is not before and new is not None and new != before
        ]
        places, values = self.slots.places, self.slots.values
        write_all((places[slot], new) for slot, new in changed if slot in places)
        # Slot 0 has no place.
        results = (
            (cast("OpResult[Attribute]", values[slot]), new)
            for slot, new in changed
            if slot not in places and slot
        )
        write_only_results((result.op, new) for result, new in results)
        for op in self.dead_ops:
            if op.parent is not None:  # otherwise it was erased with the op around it
                erase(op)
