"""Answers to `what_if`: the program of a result with other annotations, compared with the result.

    what_if(result, {"%arg1": P(None, "model")}, None, None).changes

Edits of arguments and results of programs that a study supports are answered from one: figures and changes
take a small part of a propagation, and the program is propagated only when `after` is asked for.

Not here: studies (`study.py`), comparing two results (`comparison.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from typing_extensions import override

from shardy_py.api.comparison import ComparedResults, Comparison, pairs_of, replaced_meshes
from shardy_py.api.foreign import MeshLike
from shardy_py.api.program import Edits
from shardy_py.api.propagating import Options
from shardy_py.base.errors import ShardyError
from shardy_py.base.session import without_collection
from shardy_py.report.communication import Partitioner
from shardy_py.report.difference import Change, Difference, Figures, MeshChange, changed
from shardy_py.search.studies import ShardingChange, Study
from shardy_py.xla.targets.stage import CompileStage

if TYPE_CHECKING:
    from shardy_py.api.result import Result


def what_if(
    result: Result,
    edits: Edits,
    mesh: MeshLike | Mapping[str, object] | None,
    partitioner: Partitioner | None,
    stage: CompileStage | None = None,
) -> Comparison:
    """Returns how a result differs if its program has other annotations, or other meshes.

    Raises:
        ShardyError: unknown mesh, or edits that `Program.annotate` rejects.
    """
    study = result.kept(study_of)
    if mesh is None and stage is None and study is not None and study.is_incremental(edits):
        return StudiedComparison(result, study, edits, partitioner)
    meshes = replaced_meshes(result.source, {} if mesh is None else mesh)
    edited = result.source.edited(edits, meshes)
    after = result.again(edited)
    found = Difference(changed(pairs_of(result, after, edited.origin)))
    return ComparedResults(result, after, found, partitioner, stage)


def study_of(result: Result) -> Study | None:
    """Returns the study of the source of a result, with its options; None without options."""
    return Study(result.source, result.options) if isinstance(result.options, Options) else None


class StudiedComparison(Comparison):
    """A what-if that a study answers; it names the values as the result before does."""

    def __init__(
        self, before: Result, study: Study, edits: Edits, partitioner: Partitioner | None = None
    ) -> None:
        super().__init__(before, partitioner)
        self._study = study
        self._edits = dict(edits)

    def __reduce__(self) -> tuple[object, ...]:
        return ComparedResults, (self.before, self.after, Difference(self.changes), self.partitioner)

    @cached_property
    @override
    def after(self) -> Result:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.before.again(self.before.source.edited(self._edits, {}))

    @cached_property
    @override
    @without_collection()
    def changes(self) -> tuple[Change, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return tuple(change for each in self._study.changes(self._edits) for change in self._of(each))

    def _of(self, change: ShardingChange) -> Iterator[Change]:
        """The change, once for each copy of the value that has its former sharding."""
        old, new = (None if side is None else side.value for side in (change.before, change.after))
        entries = self.before.values.table.entries
        for number in dict.fromkeys(self.before.copy_numbers(change.value)):
            entry = entries[number]
            if entry.sharding == old:
                yield Change(entry, entry, old, new)

    @property
    @override
    def mesh_changes(self) -> tuple[MeshChange, ...]:
        return ()

    @cached_property
    @override
    def figures(self) -> tuple[Figures, Figures]:
        wanted = self.partitioner
        if wanted == "xla" or (wanted is None and self.before.source.taken.is_compiled):
            try:
                return self._study.score().figures, self._study.score(self._edits).figures
            except ShardyError:
                if wanted is not None:
                    raise
        return super().figures
