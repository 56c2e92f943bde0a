"""What things in the record are called in the final program: values, ops, annotations.

A value that passes replaced goes by the name of what replaced it; one that is gone goes by its op and source
location. Not here: names of the values of a module as such (`graph/value_table.py`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardy_py.graph.calls import function_name
from shardy_py.graph.holders import Holder
from shardy_py.graph.movements import Copies, Merger, Spot
from shardy_py.graph.run_record import EDGES, Record
from shardy_py.graph.value_table import ValueEntry, ValueTable, location_text
from shardy_py.ir import operands_of, owning_op
from shardy_py.report.explain.explanation import Annotation, Place
from shardy_py.report.explain.tracing import Key, Root, key_of

_KINDS = {
    "sdy.sharding_constraint": "sharding constraint",
    "sdy.reshard": "reshard",
    "sdy.manual_computation": "manual computation",
    "func.call": "sharding of a call",
}


class Names:
    """Names in one final program, for one record."""

    def __init__(self, record: Record, module: ModuleOp, table: ValueTable | None = None) -> None:
        """`table` is that of `module`, if there is one already."""
        self.table = table if table is not None else ValueTable(module)
        self._record = record

    @cached_property
    def _replaced_by(self) -> dict[Key, Spot]:
        copies = (event.values.items() for event in self._record.events if isinstance(event, Copies))
        return {key_of(old): new for pairs in copies for old, new in pairs if old is not new}

    @cached_property
    def _kept(self) -> dict[int, SSAValue]:
        """By values of functions that are gone, those of the functions that stand for them."""
        found: dict[int, SSAValue] = {}
        for event in self._record.events:
            if isinstance(event, Merger):
                found.update(zip(map(id, event.values), event.kept_values, strict=True))
        return found

    @cached_property
    def _results(self) -> dict[Key, ValueEntry]:
        return {(id(e.op), e.index): e for e in self.table.entries if e.value is None}

    def result(self, function: Operation, index: int) -> ValueEntry | None:
        """A result of a function of the final program."""
        return self._results.get((id(function), index))

    def entry(self, spot: Spot) -> ValueEntry | None:
        """The value of the final program that `spot` is now; None if it is gone."""
        if isinstance(spot, Holder):
            return self._results.get(key_of(spot))
        value: Spot | None = self._kept.get(id(spot), spot)
        while isinstance(value, SSAValue):
            found = self.table.by_value.get(id(value))
            if found is not None:
                return found
            op = value.owner
            if isinstance(op, Operation) and op.name in EDGES:
                value = operands_of(op)[0]
            else:
                value = self._replaced_by.get(key_of(value))
        return None

    def place(self, spot: Spot) -> Place:
        """What a value is called."""
        entry = self.entry(spot)
        if entry is not None:
            return Place(str(entry), entry.op.name, location_text(entry.location), entry.label)
        if isinstance(spot, Holder):
            name = f"@{function_name(spot.op)}:result {spot.position}"
            return Place(name, spot.op.name, location_text(spot.op.location))
        op = owning_op(spot)
        if isinstance(spot, BlockArgument):
            return Place("", "argument", location_text(spot.location))
        return Place("", "", "") if op is None else Place("", op.name, location_text(op.location))

    def op(self, op: Operation) -> Place:
        """What an op is called: by its first result."""
        if op.name in EDGES:
            owner = owning_op(operands_of(op)[0])
            if owner is not None and owner.name == "func.func":
                return Place("", f"call of @{function_name(owner)}", location_text(op.location))
            op = op if owner is None else owner
        if op.results:
            place = self.place(op.results[0])
            if place.name:
                return Place(place.name, op.name, location_text(op.location))
        return Place("", op.name, location_text(op.location))

    def annotation(self, root: Root) -> Annotation:
        """What the user wrote there."""
        sharding = root.sharding
        dimensions = () if sharding is None else sharding.dimensions
        priority = dimensions[root.dimension].priority if 0 <= root.dimension < len(dimensions) else None
        text = "" if sharding is None else str(sharding)
        if root.op is not None:
            return Annotation(
                _KINDS.get(root.op.name, "sharding"), self.op(root.op), text, root.dimension, priority
            )
        place = self.place(root.spot)
        op = None if isinstance(root.spot, Holder) else owning_op(root.spot) or root.owner
        # What the user called a constraint may be a reshard by now.
        place = replace(place, op=op.name) if op is not None and isinstance(root.spot, OpResult) else place
        return Annotation(self._kind(root.spot, root.owner), place, text, root.dimension, priority)

    def _kind(self, spot: Spot, owner: Operation | None) -> str:
        if isinstance(spot, Holder):
            return "result sharding"
        op = owning_op(spot) or owner
        if op is None:
            return "sharding"
        if isinstance(spot.owner, Operation):
            return "out_shardings" if op.name == "sdy.manual_computation" else _KINDS.get(op.name, "sharding")
        return "in_shardings" if op.name == "sdy.manual_computation" else "argument sharding"
