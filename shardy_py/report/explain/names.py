"""Names in the final program of what the record holds: values, ops, annotations.

A value that passes replaced goes by the name of its replacement; an erased value by its op and source
location. Not here: names of the values of a module as such (`mlir/value_table.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardy_py.mlir.dialects.traits import data_flow
from shardy_py.mlir.holders import Holder
from shardy_py.mlir.ir import operands_of, owning_op
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.movements import Copies, Merger, Spot
from shardy_py.mlir.record import name_of
from shardy_py.mlir.symbols import function_name
from shardy_py.mlir.value_table import ValueEntry, ValueTable
from shardy_py.propagation.graph.run_record import EDGES, Record
from shardy_py.report.explain.explanation import Annotation, NamedPlace
from shardy_py.report.explain.states import Root, SpotKey, key_of


class Names:
    """Names in one final program, for one record; `table` is that of `module`, if it exists already."""

    def __init__(self, record: Record, module: ModuleOp, table: ValueTable | None = None) -> None:
        self.table = table if table is not None else ValueTable(module)
        self._record = record
        self._places: dict[SpotKey, tuple[Spot, NamedPlace]] = {}
        self._annotations: dict[tuple[object, ...], tuple[Root, Annotation]] = {}

    @cached_property
    def _replaced_by(self) -> dict[SpotKey, Spot]:
        copies = (event.values.items() for event in self._record.events if isinstance(event, Copies))
        return {key_of(old): new for pairs in copies for old, new in pairs if old is not new}

    @cached_property
    def _kept(self) -> dict[int, SSAValue]:
        """For each value of an erased duplicate function, that of the function in its place."""
        kept: dict[int, SSAValue] = {}
        for event in self._record.events:
            if isinstance(event, Merger):
                kept.update(zip(map(id, event.values), event.kept_values, strict=True))
        return kept

    @cached_property
    def _results(self) -> dict[SpotKey, ValueEntry]:
        return {(id(e.op), e.index): e for e in self.table.entries if e.value is None}

    def result(self, function: Operation, index: int) -> ValueEntry | None:
        """Returns a result of a function of the final program."""
        return self._results.get((id(function), index))

    def becoming(self, wanted: Collection[int]) -> dict[int, bool]:
        """Returns whether values have become one of these values of the final program, by their identities.

        wanted: identities. Those of the program that it was before, which passes have copied, are among those
        known; others are not, such as data-flow edges.
        """
        found = dict.fromkeys(self.table.by_value, False)
        found.update((identity, True) for identity in wanted if identity in found)
        seen: set[int] = set()
        for event in reversed(self._record.events):
            for old, new in event.values.items() if isinstance(event, Copies) else ():
                identity = id(old)
                if old is new or identity in seen:
                    continue
                seen.add(identity)
                known = found.get(id(new)) if identity not in found else None
                if known is not None and getattr(old.owner, "name", "") not in EDGES:
                    found[identity] = known
        for old in self._kept:
            found.pop(old, None)
        return found

    def entry(self, spot: Spot) -> ValueEntry | None:
        """Returns the value of the final program that `spot` has become; None if it was erased."""
        if isinstance(spot, Holder):
            return self._results.get(key_of(spot))
        value: Spot | None = self._kept.get(id(spot), spot)
        while isinstance(value, SSAValue):
            entry = self.table.by_value.get(id(value))
            if entry is not None:
                return entry
            op = value.owner
            if isinstance(op, Operation) and op.name in EDGES:
                value = operands_of(op)[0]
            else:
                value = self._replaced_by.get(key_of(value))
        return None

    def place(self, spot: Spot) -> NamedPlace:
        """Returns the name of a value."""
        key = key_of(spot)
        if key not in self._places:  # with the spot, which keeps its identity
            self._places[key] = spot, self._place(spot)
        return self._places[key][1]

    def _place(self, spot: Spot) -> NamedPlace:
        entry = self.entry(spot)
        if entry is not None:
            return NamedPlace(str(entry), name_of(entry.op), location_text(entry.location), entry.label)
        if isinstance(spot, Holder):
            name = f"@{function_name(spot.op)}:result {spot.position}"
            return NamedPlace(name, name_of(spot.op), location_text(spot.op.location))
        op = owning_op(spot)
        if isinstance(spot, BlockArgument):
            return NamedPlace("", "argument", location_text(spot.location))
        return NamedPlace("", "") if op is None else NamedPlace("", name_of(op), location_text(op.location))

    def op(self, op: Operation) -> NamedPlace:
        """Returns the name of an op: that of its first result."""
        if op.name in EDGES:
            owner = owning_op(operands_of(op)[0])
            if isinstance(owner, FuncOp):
                return NamedPlace("", f"call of @{function_name(owner)}", location_text(op.location))
            op = op if owner is None else owner
        name = self.place(op.results[0]).name if op.results else ""
        return NamedPlace(name, name_of(op), location_text(op.location))

    def annotation(self, root: Root) -> Annotation:
        """Returns a root as an annotation; equal roots share it."""
        key = key_of(root.spot), root.dimension, id(root.op), id(root.sharding), id(root.owner)
        if key not in self._annotations:  # with the root, whose objects keep their identity
            self._annotations[key] = root, self._annotation(root)
        return self._annotations[key][1]

    def _annotation(self, root: Root) -> Annotation:
        sharding = root.sharding
        dimensions = () if sharding is None else sharding.dimensions
        priority = dimensions[root.dimension].priority if 0 <= root.dimension < len(dimensions) else None
        if root.op is not None:
            kind, place = _kind_of_result(root.op), self.op(root.op)
        else:
            kind, place = _kind(root.spot, root.owner), self.place(root.spot)
            if isinstance(root.spot, OpResult):  # the op that the user wrote may be another by now
                place = replace(place, op=name_of(root.spot.op))
        text = "" if sharding is None else str(sharding)
        return Annotation(kind, place, text, root.dimension, priority)


def _kind(spot: Spot, owner: Operation | None) -> str:
    if isinstance(spot, Holder):
        return "result sharding"
    op = owning_op(spot) or owner
    if op is None:
        return "sharding"
    flow = data_flow(op)
    in_properties = flow is not None and flow.sharding_properties
    if isinstance(spot.owner, Operation):
        return "out_shardings" if in_properties else _kind_of_result(op)
    return "in_shardings" if in_properties else "argument sharding"


def _kind_of_result(op: Operation) -> str:
    """Returns the name of an sdy op, which is an annotation itself; of other ops the attribute is."""
    dialect, _, name = op.name.partition(".")
    return name.replace("_", " ") if dialect == "sdy" else "sharding"
