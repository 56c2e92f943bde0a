"""Two results and their differences: what changed, and what both cost.

Not here: how shardings are matched (`report/difference.py`), what-ifs (`what_if.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import override
from xdsl.ir import SSAValue

from shardy_py.api.arguments import expect
from shardy_py.api.foreign import as_mesh, has_sizes
from shardy_py.base.errors import ShardyError
from shardy_py.base.rows import Rows, Tabular
from shardy_py.base.session import without_collection
from shardy_py.mlir.value_table import ValueEntry
from shardy_py.report.communication import Partitioner
from shardy_py.report.difference import (
    Change,
    Difference,
    Figures,
    MeshChange,
    changed_meshes,
    difference_text,
)
from shardy_py.report.difference_shown import COLUMNS as CHANGE_COLUMNS
from shardy_py.report.difference_shown import change_rows
from shardy_py.sharding import Mesh
from shardy_py.sharding.meshes import meshes_with_axes
from shardy_py.xla.targets.stage import CompileStage

if TYPE_CHECKING:
    from shardy_py.api.program import Program
    from shardy_py.api.result import Result
    from shardy_py.viewer.explorer_file import Explorer


class Comparison(Tabular, ABC):
    """Two results, usually of one source program; `changes` are in its order.

    partitioner: whose collectives are compared; None: those of `communication`, the same for both. stage: the
    device whose compiler's collectives they are; None: they are as partitioned.
    removed, added: values of one program only, if the source programs differ.
    """

    removed: tuple[ValueEntry, ...] = ()
    added: tuple[ValueEntry, ...] = ()

    def __init__(
        self, before: Result, partitioner: Partitioner | None, stage: CompileStage | None = None
    ) -> None:
        self.before = before
        self.partitioner: Partitioner | None = partitioner
        self.stage = stage

    @property
    @abstractmethod
    def after(self) -> Result:
        """The other result."""

    @property
    @abstractmethod
    def changes(self) -> tuple[Change, ...]:
        """The values whose shardings differ."""

    @cached_property
    @without_collection()
    def figures(self) -> tuple[Figures, Figures]:
        """The costs before and after: collectives, bytes received per device, seconds, memory."""
        results = (self.before, self.after)
        target = None if self.stage is None else self.stage.placement
        bills = [result.communication(target=target, partitioner=self.partitioner) for result in results]
        if bills[0].partitioner != bills[1].partitioner:
            bills = [result.communication(target=target, partitioner="shardy") for result in results]
        layouts = "linear" if target is None else target
        old, new = (
            Figures.of(bill, result.memory(layouts, partitioner=bill.partitioner))
            for bill, result in zip(bills, results, strict=True)
        )
        return old, new

    @property
    def mesh_changes(self) -> tuple[MeshChange, ...]:
        """The meshes that differ."""
        return changed_meshes(self.before.program.meshes, self.after.program.meshes)

    def explorer(self) -> Explorer:
        """Returns an HTML file that shows both results, side by side or one at a time."""
        target = None if self.stage is None else self.stage.placement
        titles, by = ("before", "after"), self.partitioner
        return self.before.explorer(self.after, titles=titles, target=target, partitioner=by)

    @property
    def moved_bytes(self) -> int:
        """The increase of bytes received per device."""
        return self.figures[1].bytes - self.figures[0].bytes

    @property
    def memory_bytes(self) -> int:
        """The increase of memory on each device, as of `Result.memory`."""
        return self.figures[1].memory_bytes - self.figures[0].memory_bytes

    columns = CHANGE_COLUMNS

    def to_rows(self) -> Rows:
        """Returns a row for each changed value."""
        return change_rows(self.changes)

    def _repr_html_(self) -> str:
        from shardy_py.api.notebook import comparison_html

        return comparison_html(self)

    def __repr__(self) -> str:
        return f"<Comparison: {len(self.changes)} changed>"

    def __str__(self) -> str:
        delta = Difference(self.changes, self.removed, self.added, self.mesh_changes)
        return difference_text(delta, *self.figures)


class ComparedResults(Comparison):
    """A comparison of two results at hand."""

    def __init__(
        self,
        before: Result,
        after: Result,
        found: Difference,
        partitioner: Partitioner | None,
        stage: CompileStage | None = None,
    ) -> None:
        super().__init__(before, partitioner, stage)
        self._after = after
        self._changes, self.removed, self.added = found.changes, found.removed, found.added

    @property
    @override
    def after(self) -> Result:
        return self._after

    @property
    @override
    def changes(self) -> tuple[Change, ...]:
        return self._changes


def pairs_of(
    before: Result, after: Result, origin: Mapping[SSAValue, SSAValue]
) -> Iterator[tuple[ValueEntry, ValueEntry]]:
    """Returns each source value in both results, use by use: an edit may constrain some uses only.

    origin: from values of the first result's source to those of the second's.
    """
    old, new = before.values.table.entries, after.values.table.entries
    for value in before.source.values:
        first = before.copy_numbers(value)
        second = after.copy_numbers(after.source.counterpart(value, origin))
        if first and second:
            uses = zip_longest(first, second)
            filled = ((first[-1] if a is None else a, second[-1] if b is None else b) for a, b in uses)
            yield from ((old[a], new[b]) for a, b in dict.fromkeys(filled))


def replaced_meshes(source: Program, given: object) -> Mapping[str, Mesh]:
    """Returns meshes by the names of those that they replace; "mesh" if the program has none."""
    known = source.meshes
    by_name = cast("Mapping[str, Any]", given)
    if not isinstance(by_name, Mapping) or has_sizes(by_name):  # pyright: ignore[reportUnnecessaryIsInstance]
        names = [*meshes_with_axes(known)] or [name for name in known if not known[name].is_maximal]
        if len(names) > 1:
            listed = ", ".join(f"@{name}" for name in names)
            raise ShardyError(f"the program has {len(names)} meshes, {listed}; pass the new one by name")
        return {(names or ["mesh"])[0]: as_mesh(given)}
    named: dict[str, Mesh] = {}
    for name, mesh in by_name.items():
        expect(name, str, "the name of a mesh", what="meshes by name")
        if name.removeprefix("@") not in known:
            raise ShardyError.unknown("mesh", f"@{name.removeprefix('@')}", [f"@{n}" for n in known])
        named[name] = as_mesh(mesh)
    return named
