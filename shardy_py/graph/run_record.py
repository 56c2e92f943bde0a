"""The record of a run of passes: their events (`movements.py`) and journals of propagation, in order.

Filled while passes run within `recording` (`passes/runner.py`), read afterwards by `report/explain/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from xdsl.ir import Operation, SSAValue

from shardy_py.dialects.sdy import DataFlowEdgeOp, FuncDataFlowEdgeOp
from shardy_py.graph.data_flow import edge_targets
from shardy_py.graph.slots import Program
from shardy_py.ir import owning_op
from shardy_py.propagation.arrivals import Arrivals
from shardy_py.propagation.flat import ManualBoundary
from shardy_py.propagation.journal import Journal

EDGES = frozenset({DataFlowEdgeOp.name, FuncDataFlowEdgeOp.name})
"""The ops that hold the shardings of other values."""


@dataclass(eq=False)
class Propagation:
    """One propagation: the program before it, and its journal.

    edge_values: by identity, the targets of data-flow edges, which have no slot of their own, with their
        defining op: later passes may erase them.
    edge_owners: by slot of an edge, its owner, which later passes may replace.
    """

    program: Program
    journal: Journal
    edge_values: Mapping[int, tuple[SSAValue, Operation | None]] = field(default_factory=dict[int, Any])
    edge_owners: Mapping[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    @staticmethod
    def of(program: Program, journal: Journal) -> Propagation:
        """The record of a propagation through `program`, before it runs."""
        values: dict[int, tuple[SSAValue, Operation | None]] = {}
        owners: dict[int, SSAValue] = {}
        for slot, holder in enumerate(program.slots.holders):
            if holder is not None and holder.op.name in EDGES:
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
            for slot in dict.fromkeys(slots):
                found.setdefault(slot, []).append(step)
        return found


@dataclass(eq=False)
class Record:
    """The changes of shardings in one run: `Movement`s, `Propagation`s and others, in order."""

    events: list[object] = field(default_factory=list[object])

    @property
    def propagations(self) -> tuple[Propagation, ...]:
        """Those among the events."""
        return tuple(event for event in self.events if isinstance(event, Propagation))
