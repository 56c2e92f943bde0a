"""Which slot each value of a module shares, and where that slot's sharding is kept.

Most values have a slot of their own. The targets of a data-flow edge share the edge's; without an edge,
block arguments share the slot of the owner. Block arguments that no edge can reach, as in the body of a
reduce, have `UNSHARDABLE`.

Not here: steps (`build.py`), reading and writing the places (`holders.py`).
"""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.graph.data_flow import DATA_FLOW, argument_owners, edge_of_owner, edge_targets, result_owners
from shardy_py.graph.holders import (
    PROPERTY_OF,
    SHARDING,
    Holder,
    Place,
    attribute_list_shardings,
    manual_axes,
    read,
)
from shardy_py.graph.plain import tensor_type
from shardy_py.ir import operands_of
from shardy_py.propagation.flat import UNSHARDABLE
from shardy_py.sharding import TensorSharding


class Slots:
    """The slots of one module, filled op by op in program order.

    values: by slot, the value that it stands for; None for function results.
    holders: by slot, where its sharding is kept; None for slot 0.
    shardings, ranks: by slot.
    of: the slot by the identity of a value.
    siblings: by slot, the slots of the other results of its op, when it has several.
    aliases: values that share the slot of an owner that has no edge, or of an operand.
    function_results: by the identity of a function, the slots of its results.
    """

    def __init__(self) -> None:
        """Start with `UNSHARDABLE` alone."""
        self.values: list[SSAValue | None] = [None]
        self.holders: list[Holder | None] = [None]
        self.shardings: list[TensorSharding | None] = [None]
        self.ranks: list[int] = [0]
        self.of: dict[int, int] = {}
        self.siblings: dict[int, tuple[int, ...]] = {}
        self.aliases: list[SSAValue] = []
        self.function_results: dict[int, tuple[int, ...]] = {}
        self._ranks: dict[int, int] = {}
        self._special = _special_ops()

    def get(self, value: SSAValue) -> int:
        """The slot of `value`."""
        return self.of.get(id(value), UNSHARDABLE)

    def add(self, op: Operation) -> None:
        """Make slots for what `op` defines: results, and the arguments of its regions."""
        results = op.results
        if op.name in self._special:
            self._add_special(op)
        elif len(results) == 1:
            # By far the most frequent case, hence written out.
            (result,) = results  # faster than an index: xDSL's tuple has its own `__getitem__`
            type_ = result.type
            given = op.attributes.get(SHARDING)
            self.of[id(result)] = len(self.values)
            self.values.append(result)
            self.holders.append(Holder(Place.RESULT, op))
            self.shardings.append(None if given is None else read(Holder(Place.RESULT, op)))
            rank = self._ranks.get(id(type_))
            self.ranks.append(self.rank(type_) if rank is None else rank)
        elif results:
            slots = [self._new(result, Holder(Place.RESULT, op, i)) for i, result in enumerate(results)]
            self._relate(slots)

    def _add_special(self, op: Operation) -> None:
        if op.name == "func.func":
            self._add_function(op)
        elif op.name in DATA_FLOW:
            self._add_owners(op)
        elif op.name in PROPERTY_OF:
            if id(op.results[0]) not in self.of:  # an edge's result got its slot with the owner
                self._new(op.results[0], Holder(Place.PROPERTY, op))
        else:
            for argument, operand in zip(op.regions[0].blocks[0].args, operands_of(op), strict=True):
                self.of[id(argument)] = self.get(operand)
                self.aliases.append(argument)
            for index, result in enumerate(op.results):
                self._new(result, Holder(Place.RESULT, op, index))

    def rank(self, type_: Attribute) -> int:
        """The rank of a type, 0 for what is no ranked tensor."""
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
        self.holders.append(holder)
        self.shardings.append(sharding)
        self.ranks.append(self.rank(type_))
        return slot

    def _add_function(self, op: Operation) -> None:
        """Slots for arguments and results; their shardings are read in one go, for there can be thousands."""
        types = _output_types(op)
        given = attribute_list_shardings(op.properties.get("res_attrs")) or (None,) * len(types)
        self.function_results[id(op)] = tuple(
            self._append(None, Holder(Place.FUNCTION_RESULT, op, index), type_, sharding)
            for index, (type_, sharding) in enumerate(zip(types, given, strict=True))
        )
        block = op.regions[0].first_block
        if block is None:
            return
        given = attribute_list_shardings(op.properties.get("arg_attrs")) or (None,) * len(block.args)
        for index, (argument, sharding) in enumerate(zip(block.args, given, strict=True)):
            self._append(argument, Holder(Place.ARGUMENT, op, index), argument.type, sharding)

    def _add_owners(self, op: Operation) -> None:
        """One slot for each edge of `op`, or for its owner when there is no edge."""
        places = ((Place.INNER_ARGUMENT, argument_owners(op)), (Place.OUTER_RESULT, result_owners(op)))
        for place, owners in places:
            ownerless: list[int] = []
            for index, owner in enumerate(owners):
                edge = edge_of_owner(owner)
                if edge is not None:
                    slot = self._new(edge.results[0], Holder(Place.PROPERTY, edge))
                else:
                    slot = self._new(owner, Holder(place, op, index))
                    ownerless.append(slot)
                for target in edge_targets(owner):
                    self.of[id(target)] = slot
                    if edge is None and target is not owner:
                        self.aliases.append(target)
            if not manual_axes(op):
                self._relate(ownerless)

    def _relate(self, slots: list[int]) -> None:
        if len(slots) > 1:
            for slot in slots:
                self.siblings[slot] = tuple(other for other in slots if other != slot)


def _special_ops() -> frozenset[str]:
    """The ops whose results do not each get a slot of their own, kept in `sdy.sharding`, and no more."""
    return frozenset({"func.func", "stablehlo.async_start", *DATA_FLOW, *PROPERTY_OF})


def _output_types(function: Operation) -> tuple[Attribute, ...]:
    type_ = function.properties["function_type"]
    return tuple(getattr(type_, "outputs").data)  # noqa: B009 (typed as Attribute)
