"""The collectives of a program as the compiler of a device leaves them, with those that they were before.

Not here: what compilers change (`xla/targets/`), collectives as partitioned (`by_xla.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.func import FuncOp

from shardy_py.hardware.cost import Cost, CostModel
from shardy_py.report.communication.by_xla import PlannedUses, is_written
from shardy_py.report.communication.collect import CollectiveUse, collectives_by_op
from shardy_py.report.tables import bytes_text, seconds_text, table
from shardy_py.xla.spmd.from_program import SpmdProgram, source_op
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.combining import Issued
from shardy_py.xla.targets.of_program import CompiledProgram

_SHOWN = 20
_MAY_OVERLAP = "may overlap with what is computed"


def compiled_uses(
    made: CompiledProgram, model: CostModel, planned: PlannedUses | None = None
) -> tuple[CollectiveUse, ...]:
    """Returns the collectives of a program as compiled, in the order of XLA.

    planned: those as partitioned, if known.

    Raises:
        ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
    """
    uses = IssuedUses(made.program, model, planned)
    return tuple(
        uses.of(each, function) for function in made.program.entries for each in made.plan(function).issued
    )


class IssuedUses:
    """Collectives as compiled, with their axes, costs and causes."""

    def __init__(
        self,
        program: SpmdProgram,
        model: CostModel,
        planned: PlannedUses | None = None,
        written: Mapping[int, Sequence[CollectiveUse]] | None = None,
    ) -> None:
        """planned, written: the collectives of the partitioner, and of the program itself, if known."""
        self.program, self.model = program, model
        self.planned = planned or PlannedUses(program, model)
        self.written: Mapping[int, Sequence[CollectiveUse]] = (
            collectives_by_op(program.module, model, program.meshes, only_written=True, table=program.values)
            if written is None
            else written
        )

    def of(self, issued: Issued, function: FuncOp) -> CollectiveUse:
        """Returns a collective with those that it does the work of."""
        members = [member for part in issued.parts for member in part.members]
        before = tuple([self._planned(member, function) for member in members])
        first, template = issued.parts[0], before[0]
        collective = first.collective
        axes = template.axes
        if collective.group != first.members[0].collective.group:
            moved = replace(first.members[0], collective=replace(collective, kind=template.kind))
            axes = self.planned.of(moved, function, self.program).axes
        held = sum(part.collective.held_bytes for part in issued.parts)
        cost: Cost = getattr(self.model, issued.kind)(axes, held)
        type_ = replace(template.type, shape=collective.held_shape, element=collective.element_type)
        changes = dict.fromkeys(change for part in issued.parts for change in part.changes)
        return replace(
            template,
            kind=issued.kind,
            axes=axes,
            type=type_,
            held_bytes=held,
            cost=cost,
            times=issued.times,
            is_scattered=False,
            before=before,
            changes=tuple(changes),
            exposed=issued.exposed,
        )

    def _planned(self, sent: Sent, function: FuncOp) -> CollectiveUse:
        """A collective as partitioned; of the program's own that of its op, of a loop what it stands for."""
        if sent.collective.instead is not None:
            sent = replace(sent, collective=sent.collective.instead)
        op = source_op(sent.step)
        own = self.written.get(id(op), ()) if is_written(sent) and op is not None else ()
        return own[0] if len(own) == 1 else self.planned.of(sent, function, self.program)


def changes_text(uses: Iterable[CollectiveUse]) -> str:
    """Returns a table of what passes changed: what became what, how often, and why."""
    rows = Counter(row for use in uses for row in _changes(use))
    header = ("changed by", "collectives", "into", "count", "reason", "location")
    cells = [(*row[:3], f"{count:,}", *row[3:]) for row, count in rows.items()]
    return table([header, *cells[:_SHOWN]], (0, 1, 2, 4, 5), omitted=len(cells) - _SHOWN) if cells else ""


def _changes(use: CollectiveUse) -> Iterator[tuple[str, ...]]:
    kinds = Counter(each.kind for each in use.before)
    before = ", ".join(kind if count == 1 else f"{count} {kind}" for kind, count in kinds.items())
    for change in use.changes:
        yield change.made_by, before, use.kind, change.reason, use.cause.location


def exposure_text(uses: Iterable[CollectiveUse]) -> str:
    """Returns a table of the lines whose collectives a device waits for, most time first, and why."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for use in uses:
        key = use.kind, use.exposed or _MAY_OVERLAP, use.cause.location
        total = found.setdefault(key, [0, 0.0])
        total[0] += use.times
        total[1] += use.total.seconds
    rows = sorted(found.items(), key=lambda item: (item[0][1] == _MAY_OVERLAP, -item[1][1]))
    cells = [
        (kind, f"{runs:,.0f}", seconds_text(seconds), why, place)
        for (kind, why, place), (runs, seconds) in rows
    ]
    header = ("exposed", "runs", "time", "because", "location")
    return table([header, *cells[:_SHOWN]], (0, 3, 4), omitted=len(cells) - _SHOWN)


def totals_text(before: Iterable[CollectiveUse], after: Iterable[CollectiveUse]) -> str:
    """Returns a table of both stages: by kind the number, runs and bytes of collectives."""
    stages = [_totals(uses) for uses in (before, after)]
    kinds = dict.fromkeys(kind for stage in stages for kind in stage)
    header = ("collective", "as partitioned", "runs", "bytes", "as compiled", "runs", "bytes")
    rows = [
        (kind, *(cell for stage in stages for cell in stage.get(kind, ("-", "-", "-")))) for kind in kinds
    ]
    return table([header, *rows])


def _totals(uses: Iterable[CollectiveUse]) -> dict[str, tuple[str, str, str]]:
    return kind_totals((use.kind, use.times, use.total.bytes) for use in uses)


def kind_totals(uses: Iterable[tuple[str, int, int]]) -> dict[str, tuple[str, str, str]]:
    """Returns the number, the runs and the bytes of each kind as cells, given these of each collective."""
    found: dict[str, list[int]] = {}
    for kind, runs, size in uses:
        total = found.setdefault(kind, [0, 0, 0])
        total[0] += 1
        total[1] += runs
        total[2] += size
    return {
        kind: (f"{count:,}", f"{runs:,}", bytes_text(size)) for kind, (count, runs, size) in found.items()
    }
