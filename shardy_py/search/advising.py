"""The adviser of a result: edits its source program, propagates it again, and counts what is sent.

Not here: what is tried (`shardy_py.search.advice`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.ir import OpResult, SSAValue

from shardy_py.api.sharding import Sharding
from shardy_py.api.values import Value
from shardy_py.base.errors import ShardyError
from shardy_py.hardware.tensor_bytes import tensor_size
from shardy_py.mlir.dialects.sdy import ReshardOp, ShardingConstraintOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.movements import Copies
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.typed import op_of
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.report.communication import CollectiveUse, CommunicationReport
from shardy_py.report.communication.of_program import communication
from shardy_py.search.advice import (
    MOST_VALUES,
    NO_ADVICE,
    NO_PLACEMENTS,
    Advice,
    AdvisedProgram,
    Adviser,
    Holding,
    Language,
    Outcome,
    PlacementRemedies,
    Proposal,
    Sites,
    outcome_of,
    placements,
    placing,
)
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import meshes_with_axes

if TYPE_CHECKING:
    from shardy_py.api.program import Program
    from shardy_py.api.result import Result
    from shardy_py.search.advice import SuggestedRewrite


class ResultAdvice:
    """The advice on one result, with what it has found out so far: get it by `result.kept(ResultAdvice)`."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._advisers: dict[int, Adviser | None] = {}
        """By the identity of a report."""

    @cached_property
    def sources(self) -> Sources | None:
        """The source values of those of the propagated program; None without exactly one mesh."""
        return Sources.of_result(self._result)

    def advice(self, report: CommunicationReport, use: CollectiveUse, tries: int | None) -> Advice:
        """Returns the best remedies for a collective of a report; see `Result.advice`."""
        if tries is not None:
            adviser = self._adviser(report, tries)
        else:
            if id(report) not in self._advisers:
                self._advisers[id(report)] = self._adviser(report, None)
            adviser = self._advisers[id(report)]
        return NO_ADVICE if adviser is None else adviser.advice(use)

    def _adviser(self, report: CommunicationReport, tries: int | None) -> Adviser | None:
        """The adviser on the collectives of a report.

        None for programs without exactly one mesh, and for those with more than `MOST_VALUES` unless a number
        of tries is asked for.
        """
        result, sources = self._result, self.sources
        if sources is None or (tries is None and len(result.values) > MOST_VALUES):
            return None

        def trial(proposal: Proposal) -> Outcome | None:
            try:
                after = sources.after(proposal, record=False).program.module
                by, stage = report.partitioner, report.stage
                uses = communication(after, report.model, partitioner=by, stage=stage)[1].sending
            except ShardyError:
                return None
            return outcome_of(after, uses)

        before = outcome_of(result.program.module, report.sending)
        return Adviser(before, sources.advised, trial, _language(result.source), tries)

    def placements(self, value: Value, dimensions: Sequence[int], axis: str) -> PlacementRemedies:
        """Returns annotations after which a value is sharded along an axis, in one of `dimensions`, as tried.

        None are tried for values that the source does not have, and for programs without exactly one mesh.
        """
        result, sources = self._result, self.sources
        entry = None if sources is None else sources.entry(value)
        if sources is None or entry is None:
            return NO_PLACEMENTS

        def trial(proposal: Proposal) -> Holding | None:
            try:
                after = sources.after(proposal, record=True)
                own = after.copies(after.source.counterpart(Value(entry, value.meshes), after.source.origin))
                if not own or not _is_along(own[0].sharding, dimensions, axis):
                    return None
                return Holding(_held_bytes(own[0]), after.communication().total.bytes)
            except ShardyError:
                return None

        before = Holding(_held_bytes(value), result.communication().total.bytes)
        proposals = placing(sources.advised, entry, dimensions, axis)
        return placements(proposals, before, trial, _language(result.source))


def _language(source: Program) -> Language:
    if not source.is_by_jax:
        return "mlir"
    return "jax with explicit axes" if source.has_explicit_axes else "jax"


def _held_bytes(value: Value) -> int:
    type_ = tensor_type(value.entry.type)
    sharding = None if value.sharding is None else value.sharding.value
    return 0 if type_ is None else tensor_size(type_, sharding, value.meshes, "linear").bytes.local_bytes


def _is_along(sharding: Sharding | None, dimensions: Iterable[int], axis: str) -> bool:
    if sharding is None:
        return False
    return any(each.name == axis for number in dimensions for each in sharding.dimensions[number].axes)


def _rewritten(source: Program, rewrites: Iterable[tuple[ValueEntry, SuggestedRewrite]]) -> Program:
    """A copy of a program in which ops are rewritten."""
    copy = source.copy()
    for entry, rewrite in rewrites:
        if entry.value is not None:
            rewrite.apply(op_of(copy.origin[entry.value]))
    return copy


class Sources:
    """The values of the source program of those of a result."""

    def __init__(self, result: Result, mesh_name: str, mesh: Mesh) -> None:
        self._result, self._mesh = result, mesh
        self._old = {id(new): old for old, new in result.program.origin.items()}
        events = () if result.record is None else result.record.events
        self._copied = {
            id(new): old for event in events if isinstance(event, Copies) for old, new in event.values.items()
        }

        table = result.source.values.table
        self.advised = AdvisedProgram(
            *(table, Sites(table, result.source.sources), mesh_name, mesh, self.of, self.final_sharding),
            lambda use: result.sides(use),
            result.source.has_explicit_axes,
        )

    @staticmethod
    def of_result(result: Result) -> Sources | None:
        """Returns the sources of a recorded result with one mesh; None of another."""
        meshes = meshes_with_axes(result.source.meshes)
        if len(meshes) != 1 or result.record is None:
            return None
        ((name, mesh),) = meshes.items()
        return Sources(result, name, mesh)

    def after(self, proposal: Proposal, *, record: bool) -> Result:
        """Returns the result of the edited program. Raises `ShardyError` if it is invalid."""
        source = self._result.source
        rewrites = [(entry, edit.rewrite) for edit in proposal if edit.rewrite for entry in edit.values]
        if rewrites:
            return self._result.again(_rewritten(source, rewrites), record=record)
        edits = {
            Value(entry, source.meshes): None
            if edit.sharding is None
            else Sharding(self._mesh, edit.sharding)
            for edit in proposal
            for entry in edit.values
        }
        return self._result.again(source.edited(edits, {}), record=record)

    def entry(self, value: Value) -> ValueEntry | None:
        """Returns the source of a value; None if it has none."""
        entry, table = value.entry, self._result.source.values.table
        if entry.value is not None:
            return self.of(entry.value)
        found = table.find_all(f"@{entry.function}:{entry.name}")
        return found[0] if found else None

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
