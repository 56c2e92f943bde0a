"""The values that are sent by forecast, each with the collective of the partitioner that it was.

Not here: the forecast (`report/communication/`), how compiled values are joined with it (`report/join/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

from xdsl.ir import Attribute, Operation, OpResult

from shardy_py.base.records import dataclass
from shardy_py.hardware.cost import CostModel
from shardy_py.hlo.collectives import Place
from shardy_py.hlo.text import Frame, Origin
from shardy_py.mlir.ir import terminator_of
from shardy_py.mlir.location_names import name_stack
from shardy_py.mlir.text.source import position_of
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.communication.as_compiled import IssuedUses
from shardy_py.report.compiled.places import key_of, places_of
from shardy_py.report.join import SentItem, sizes_of
from shardy_py.xla.buffers.numbered_tensors import location_of
from shardy_py.xla.spmd.from_program import SpmdProgram, source_op
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.combining import Issued
from shardy_py.xla.targets.compiled import Compiler
from shardy_py.xla.targets.model import Transfer
from shardy_py.xla.targets.of_program import CompiledProgram

_NEAR = 3
"""Origins of what makes a value that are kept."""


@dataclass(frozen=True, eq=False)
class ForecastValue:
    """A value that a program sends by forecast.

    use: the collective as compiled, for this value alone. item: the value as the join sees it. issue: the
    number of the op that sends it, maybe with others.
    """

    use: CollectiveUse
    item: SentItem
    issue: int


def forecast_values(program: SpmdProgram, compiler: Compiler, model: CostModel) -> tuple[ForecastValue, ...]:
    """Returns what a program sends as compiled, in the order of XLA.

    Raises:
        ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
    """
    made = CompiledProgram(program, compiler)
    uses = IssuedUses(made.program, model)
    found: list[ForecastValue] = []
    issue = 0
    for function in made.program.entries:
        plan = made.plan(function)
        places = places_of(plan.body)
        for each in plan.issued:
            for part in each.parts:
                use = uses.of(Issued((part,)), function)
                item = _item(part, use, function, places.get(key_of(part), ()))
                found.append(ForecastValue(use, item, issue))
            issue += 1
    return tuple(found)


def reshard_values(uses: Iterable[CollectiveUse]) -> tuple[ForecastValue, ...]:
    """Returns what a program sends by Shardy's partitioner."""
    found: list[ForecastValue] = []
    for number, use in enumerate(uses):
        origins = tuple(_origins_of_use(use))
        sizes = sizes_of(use.type.shape)
        item = SentItem(use.kind, _axes(use), use.type.element, sizes, use.times, origins)
        found.append(ForecastValue(replace(use, before=(use,)), item, number))
    return tuple(found)


def _item(part: Transfer, use: CollectiveUse, function: Operation, place: Place) -> SentItem:
    collective = part.collective
    whole = max(collective.held_shape, collective.made_shape, key=prod)
    origins = dict.fromkeys(origin for member in part.members for origin in _origins(member))
    makers = dict.fromkeys(origin for member in part.members for origin in _makers(member, function))
    return SentItem(
        use.kind,
        _axes(use),
        collective.element_type,
        sizes_of(whole),
        collective.times,
        tuple(origins),
        tuple(makers)[:_NEAR],
        place=place,
    )


def _origins(member: Sent) -> Iterator[Origin]:
    op = source_op(member.step)
    if op is not None:
        yield _origin(op.location)


def _makers(member: Sent, function: Operation) -> Iterator[Origin]:
    """The origins of what makes an operand or result that is resharded, through ops of one operand."""
    op = terminator_of(function.regions[0]) if member.step is None else source_op(member.step)
    operand = member.operand
    for _ in range(_NEAR):
        if op is None or not 0 <= operand < len(op.operands):
            return
        value = op.operands[operand]
        yield _origin(location_of(value))
        op, operand = (value.op if isinstance(value, OpResult) else None), 0
        if op is not None and len(op.operands) != 1:
            return


def _origins_of_use(use: CollectiveUse) -> Iterator[Origin]:
    if use.cause.made_for is not None:
        yield _origin(use.cause.made_for.location)


def _origin(location: Attribute | None) -> Origin:
    place = None if location is None else position_of(location)
    frames = () if place is None else (Frame(place.file, place.line, place.column),)
    return Origin(name_stack(location), frames)


def _axes(use: CollectiveUse) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(use.axes))
