"""The adviser of a result: edits its source program, propagates it again, and counts what is sent.

Not here: what is tried (`shardy_py.advice`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import OpResult, SSAValue

from shardy_py.advice import Adviser, Outcome, Proposal, Proposer, Sites, outcome_of
from shardy_py.api.sharding import Sharding
from shardy_py.api.values import Value
from shardy_py.dialects.sdy import ReshardOp, ShardingConstraintOp
from shardy_py.errors import ShardyError
from shardy_py.graph.movements import Copies
from shardy_py.graph.value_table import ValueEntry
from shardy_py.ir import operands_of
from shardy_py.pipeline import communication
from shardy_py.report.communication import CommunicationReport
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import meshes_with_axes
from shardy_py.xla.written_by_jax import is_written_by_jax

if TYPE_CHECKING:
    from shardy_py.api.result import Result


def adviser_of(result: Result, report: CommunicationReport, tries: int | None = None) -> Adviser | None:
    """Returns the adviser on the collectives of a report; None for programs without exactly one mesh.

    tries: how many edits are tried at most; None: by the size of the program.
    """
    meshes = meshes_with_axes(result.source.meshes)
    if len(meshes) != 1 or result.record is None:
        return None
    ((name, mesh),) = meshes.items()
    sources = _Sources(result)
    table = result.source.values.table
    proposer = Proposer(
        table, Sites(table), name, mesh, sources.of, sources.final_sharding, lambda use: result.sides(use)
    )

    def trial(proposal: Proposal) -> Outcome | None:
        edits = {
            Value(entry, result.source.meshes): None
            if edit.sharding is None
            else Sharding(mesh, edit.sharding)
            for edit in proposal
            for entry in edit.values
        }
        try:
            after = result.again(result.source.edited(edits, {}), record=False).program.module
            uses = communication(after, report.model, (), partitioner=report.partitioner)[1].sending
        except ShardyError:
            return None
        return outcome_of(after, uses)

    before = outcome_of(result.program.module, report.sending)
    return Adviser(before, proposer, trial, is_written_by_jax(result.source.module), tries)


class _Sources:
    """The values of the source program of those of a result."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._old = {id(new): old for old, new in result.program.origin.items()}
        events = () if result.record is None else result.record.events
        self._copied = {
            id(new): old for event in events if isinstance(event, Copies) for old, new in event.values.items()
        }

    def of(self, value: SSAValue) -> ValueEntry | None:
        """Returns the source of a value of the propagated program."""
        seen: set[int] = set()
        table = self._result.source.values.table
        while id(value) not in seen:
            seen.add(id(value))
            if id(value) in self._old:
                return table.by_value.get(id(self._old[id(value)]))
            if id(value) in self._copied:
                value = self._copied[id(value)]
            elif isinstance(value, OpResult) and isinstance(value.op, ReshardOp | ShardingConstraintOp):
                value = operands_of(value.op)[0]
        return None

    def final_sharding(self, entry: ValueEntry) -> TensorSharding | None:
        """Returns the sharding of a source value after propagation; None if it has none."""
        value = Value(entry, self._result.source.meshes)
        copies = self._result.copies(value)
        sharding = copies[0].sharding if copies else None
        return None if sharding is None else sharding.value
