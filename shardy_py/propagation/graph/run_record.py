"""The record of a run of passes: their events (`movements.py`) and journals of propagation, in order.

Filled while passes run within `recording` (`passes/runner.py`), read afterwards by `report/explain/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.data_flow import edge_targets
from shardy_py.mlir.dialects.sdy import DataFlowEdgeOp, FuncDataFlowEdgeOp
from shardy_py.mlir.ir import owning_op
from shardy_py.mlir.movements import Copies, Merger
from shardy_py.mlir.value_table import ValueEntry, ValueTable
from shardy_py.propagation.flat import ManualBoundary
from shardy_py.propagation.graph.slots import FlatModule
from shardy_py.propagation.journal import Arrivals, Journal

EDGES = frozenset({DataFlowEdgeOp.name, FuncDataFlowEdgeOp.name})
"""The ops that hold the shardings of other values."""


@dataclass(eq=False)
class Propagation:
    """One propagation: the program before it, and its journal.

    edge_values: by identity, the targets of data-flow edges, which have no slot of their own, with their
        defining op: later passes may erase them.
    edge_owners: by slot of an edge, its owner, which later passes may replace.
    """

    program: FlatModule
    journal: Journal
    edge_values: Mapping[int, tuple[SSAValue, Operation | None]] = field(
        default_factory=dict[int, tuple[SSAValue, Operation | None]]
    )
    edge_owners: Mapping[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    def __repr__(self) -> str:
        return f"<Propagation: {len(self.journal.entries):,} changes>"

    @staticmethod
    def of(program: FlatModule, journal: Journal) -> Propagation:
        """The record of a propagation through `program`, before it runs."""
        values: dict[int, tuple[SSAValue, Operation | None]] = {}
        owners: dict[int, SSAValue] = {}
        for slot, holder in program.slots.places.items():
            if holder.op.name in EDGES:
                owner = owners[slot] = holder.op.operands[0]
                for value in edge_targets(owner) if isinstance(holder.op, DataFlowEdgeOp) else (owner,):
                    values[id(value)] = (value, owning_op(value))
        return Propagation(program, journal, values, owners)

    @cached_property
    def arrivals(self) -> Arrivals:
        """The arrivals of axes, computed from the journal on demand."""
        return Arrivals(self.program.flat, self.journal)

    @cached_property
    def boundaries(self) -> dict[int, ManualBoundary]:
        """By the slot of a data-flow edge, the boundary of its manual computation."""
        flat = self.program.flat
        pairs = zip(flat.step_kinds, flat.step_slots, strict=True)
        found = ((flat.kinds[kind].boundary, slots) for kind, slots in pairs)
        return {slots[-1]: boundary for boundary, slots in found if boundary is not None}

    @cached_property
    def steps_at(self) -> dict[int, list[int]]:
        """By slot, the steps that read or write it, in program order."""
        found: dict[int, list[int]] = {}
        for step, slots in enumerate(self.program.flat.step_slots):
            for slot in slots:
                known = found.get(slot)
                if known is None:
                    found[slot] = [step]
                elif known[-1] != step:
                    known.append(step)
        return found


@dataclass(eq=False)
class Record:
    """The changes of shardings in one run: `Movement`s, `Propagation`s and others, in order."""

    events: list[object] = field(default_factory=list[object])

    @property
    def propagations(self) -> tuple[Propagation, ...]:
        """The events that are propagations."""
        return tuple(event for event in self.events if isinstance(event, Propagation))

    def __repr__(self) -> str:
        return f"<Record: {len(self.events):,} events>"


@dataclass(eq=False)
class Lineage:
    """Maps the values of a program to those of the final one, which passes made from a copy of it.

    origin: from values of the source to those of the copy. events: of the passes (`movements.py`).
    """

    source: ValueTable
    final: ValueTable
    origin: Mapping[SSAValue, SSAValue]
    events: Sequence[object]

    def counterparts(self, entry: ValueEntry) -> Sequence[int]:
        """The indices, in the final table, of the values that correspond to one of the source.

        A value that replaces several copies occurs several times. The order depends only on the copies that
        the passes make, not on how they are merged afterwards.
        """
        if entry.value is not None:
            return self._counterparts.get(id(self.origin[entry.value]), ())
        found = ((function, entry.index) for function in self._functions[entry.function])
        return [self._results[key] for key in found if key in self._results]

    @cached_property
    def _counterparts(self) -> dict[int, list[int]]:
        """By identity of a value, the indices of its counterparts.

        Events are read backwards: the counterparts of a copy are counterparts of the copied value before.
        """
        found = {id(entry.value): [place] for place, entry in enumerate(self.final.entries)}
        for event in reversed(self.events):
            pairs: Iterable[tuple[SSAValue, SSAValue]] = ()
            if isinstance(event, Copies):
                pairs = event.values.items()
            elif isinstance(event, Merger):
                pairs = zip(event.values, event.kept_values, strict=True)
            for old, new in pairs:
                if old is not new and id(new) in found:
                    found.setdefault(id(old), []).extend(found[id(new)])
        return found

    @cached_property
    def _functions(self) -> dict[str, Sequence[str]]:
        """By function of the source, the final functions that contain the counterparts of its values."""
        found: dict[str, Sequence[str]] = dict.fromkeys(self.source.functions, ())
        for entry in self.source.entries:
            parent = entry.op if entry.role == "argument" else entry.op.parent_op()
            if entry.value is not None and parent is not None and isinstance(parent.parent_op(), ModuleOp):
                around = [self.final.entries[place].function for place in self.counterparts(entry)]
                found[entry.function] = max(found[entry.function], around, key=len)
        return found

    @cached_property
    def _results(self) -> dict[tuple[str, int], int]:
        """The indices of the results of functions."""
        entries = enumerate(self.final.entries)
        return {(entry.function, entry.index): place for place, entry in entries if entry.value is None}
