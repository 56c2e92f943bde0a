"""The record of a run of passes: what they did to shardings, in order, propagation with its journal.

    with recording() as record:                  from shardy_py.passes.runner
        run passes
    record.propagations[0].journal.entries

Filled while passes run, read afterwards: `propagation/arrivals.py` (which axis came from where) and
`report/explain/` (all the way from the user's annotations). Not here: events (`movements.py`) and the journal
(`propagation/journal.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.ir import Operation, SSAValue

from shardy_py.graph.build import FUNCTION_EDGE, Program
from shardy_py.graph.data_flow import EDGE_NAME, edge_targets
from shardy_py.ir import owning_op
from shardy_py.propagation.arrivals import Arrivals
from shardy_py.propagation.flat import ManualBoundary
from shardy_py.propagation.journal import Journal

EDGES = frozenset({EDGE_NAME, FUNCTION_EDGE})
"""The ops that stand for values elsewhere."""


@dataclass(eq=False)
class Propagation:
    """One propagation: the program as it was, and what happened.

    edge_values: by identity, the targets of data-flow edges, which are no slot's value, with the op that
        defines them: they may be gone afterwards.
    edge_owners: by slot of an edge, its owner, which passes may replace afterwards.
    """

    program: Program
    journal: Journal
    edge_values: Mapping[int, tuple[SSAValue, Operation | None]] = field(
        default_factory=dict[int, "tuple[SSAValue, Operation | None]"]
    )
    edge_owners: Mapping[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    @staticmethod
    def of(program: Program, journal: Journal) -> Propagation:
        """The record of a propagation through `program` that is about to begin."""
        values: dict[int, tuple[SSAValue, Operation | None]] = {}
        owners: dict[int, SSAValue] = {}
        for slot, holder in enumerate(program.holders):
            if holder is not None and holder.op.name in EDGES:
                owner = owners[slot] = holder.op.operands[0]
                for value in edge_targets(owner) if holder.op.name == EDGE_NAME else (owner,):
                    values[id(value)] = (value, owning_op(value))
        return Propagation(program, journal, values, owners)

    @cached_property
    def arrivals(self) -> Arrivals:
        """Which axis came where from; read from the journal when first asked for."""
        return Arrivals(self.program.flat, self.journal)

    @cached_property
    def boundaries(self) -> dict[int, ManualBoundary]:
        """By the slot of a data-flow edge, the border of the manual computation it stands at."""
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
    """What happened to shardings: `Movement`s and `Propagation`s, in order."""

    events: list[object] = field(default_factory=list[object])

    @property
    def propagations(self) -> tuple[Propagation, ...]:
        """The propagations, in order."""
        return tuple(event for event in self.events if isinstance(event, Propagation))
