"""The source program of a result, edited: its values by those of the propagated program, and edits applied.

Not here: which edits are tried (`shardy_py.search.advice`), what is made of them (`advising.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.ir import OpResult, SSAValue

from shardy_py.api.sharding import Sharding
from shardy_py.api.values import Value
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import ReshardOp, ShardingConstraintOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.movements import Copies
from shardy_py.mlir.typed import op_of
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.search.advice import AdvisedProgram, Language, Proposal, Sites
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import meshes_with_axes

if TYPE_CHECKING:
    from shardy_py.api.program import Program
    from shardy_py.api.result import Result
    from shardy_py.xla.spmd.from_program import SpmdProgram


def language_of(source: Program) -> Language:
    """Returns whose terms instructions on a program are in."""
    if not source.is_by_jax:
        return "torch" if source.is_by_torch else "mlir"
    return "jax with explicit axes" if source.has_explicit_axes else "jax"


@dataclass(frozen=True, eq=False)
class EditedProgram:
    """A source program after edits.

    program: with the edits. origin: from values of the source to those of the program; of rewritten ops, to
    values that are gone.
    """

    program: Program
    origin: Mapping[SSAValue, SSAValue]

    def entry(self, entry: ValueEntry) -> ValueEntry | None:
        """Returns the value that one of the source became; None if it is gone."""
        table = self.program.values.table
        if entry.value is None:
            found = table.find_all(f"@{entry.function}:{entry.name}")
            return found[0] if found else None
        return table.by_value.get(id(self.origin.get(entry.value)))

    @cached_property
    def _sources(self) -> dict[int, SSAValue]:
        return {id(new): old for old, new in self.origin.items()}

    def source_value(self, entry: ValueEntry) -> SSAValue | None:
        """Returns the value of the source that a value was; None of one that edits have added."""
        return None if entry.value is None else self._sources.get(id(entry.value))


class Sources:
    """The values of the source program of those of a result."""

    def __init__(self, result: Result, mesh_name: str, mesh: Mesh) -> None:
        self._result, self.mesh = result, mesh
        table = result.source.values.table
        self.advised = AdvisedProgram(
            *(table, Sites(table, result.source.sources), mesh_name, mesh, self.of, self.final_sharding),
            lambda use: result.sides(use),
            result.source.has_explicit_axes,
        )

    @cached_property
    def _old(self) -> dict[int, SSAValue]:
        """The values of the source, by the identities of those of the propagated program."""
        return {id(new): old for old, new in self._result.program.origin.items()}

    @cached_property
    def _copied(self) -> dict[int, SSAValue]:
        """By the identity of a copy, the value that was copied."""
        events = () if self._result.record is None else self._result.record.events
        copies = (event for event in events if isinstance(event, Copies))
        return {id(new): old for event in copies for old, new in event.values.items()}

    @staticmethod
    def of_result(result: Result) -> Sources | None:
        """Returns the sources of a recorded result with one mesh; None of another."""
        meshes = meshes_with_axes(result.source.meshes)
        if len(meshes) != 1 or result.record is None:
            return None
        ((name, mesh),) = meshes.items()
        return Sources(result, name, mesh)

    def edited(self, proposal: Proposal) -> EditedProgram:
        """Returns the source with edits: ops rewritten first. Raises `ShardyError` if it is invalid."""
        source = self._result.source
        rewrites = [(entry, edit.rewrite) for edit in proposal if edit.rewrite for entry in edit.values]
        if not rewrites:
            after = source.edited(self.annotations(proposal, source, lambda entry: entry), {})
            return EditedProgram(after, after.origin)
        copy = source.copy()
        for entry, rewrite in rewrites:
            if entry.value is not None:
                rewrite.apply(op_of(copy.origin[entry.value]))
        rewritten = EditedProgram(copy, copy.origin)
        annotations = self.annotations(proposal, copy, rewritten.entry)
        if not annotations:
            return rewritten
        after = copy.edited(annotations, {})
        moved = ((old, after.origin.get(new)) for old, new in copy.origin.items())
        return EditedProgram(after, {old: new for old, new in moved if new is not None})

    @property
    def source(self) -> Program:
        """The source program."""
        return self._result.source

    @property
    def planned(self) -> SpmdProgram:
        """The propagated program with the collectives that XLA's partitioner adds."""
        return self._result.forecasts.planned_by_xla

    @property
    def options(self) -> object:
        """The options of the propagation."""
        return self._result.options

    def annotations(
        self, proposal: Proposal, program: Program, own: Callable[[ValueEntry], ValueEntry | None]
    ) -> dict[Value, Sharding | None]:
        """Returns the edits of annotations, by the values of a program that those of the source are in it."""
        return {
            Value(found, program.meshes): None
            if edit.sharding is None
            else Sharding(self.mesh, edit.sharding)
            for edit in proposal
            if not edit.rewrite
            for entry in edit.values
            if (found := own(entry)) is not None
        }

    def after(self, proposal: Proposal, *, record: bool, in_place: bool = False) -> Result:
        """Returns the result of the edited program. Raises `ShardyError` if it is invalid.

        in_place: whether the edited program is propagated itself, so that the result has no source.
        """
        program = self.edited(proposal).program
        return self._result.again(program, record=record, in_place=in_place)

    def advised_after(self, edited: EditedProgram, result: Result) -> AdvisedProgram:
        """Returns the source program to propose further edits for, with what its edited form's result tells.

        Values that the edits have added are not among those that are edited further.
        """
        later = Sources.of_result(result)
        if later is None:
            return self.advised
        own, table, sides = later, self._result.source.values.table, result.sides

        def source_of(value: SSAValue) -> ValueEntry | None:
            entry = own.of(value)
            old = None if entry is None else edited.source_value(entry)
            return None if old is None else table.by_value.get(id(old))

        def final_sharding(entry: ValueEntry) -> TensorSharding | None:
            found = edited.entry(entry)
            return None if found is None else own.final_sharding(found)

        return replace(
            self.advised,
            source_of=source_of,
            final_sharding=final_sharding,
            sides=sides,
        )

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
