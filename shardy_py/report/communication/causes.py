"""Why a collective is there: for the sake of which op, in words, at which line of the source.

Not here: the collectives (`collect.py`), what the passes note (`graph/movements.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.errors import Position
from shardy_py.graph.movements import Movement
from shardy_py.graph.value_table import location_text
from shardy_py.report.communication.user_collectives import USER_KINDS
from shardy_py.text.source import position_of


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a collective is there.

    op: the name of the op for whose sake.
    operand: which operand of it is brought to another sharding; -1: its result is.
    reason: in words.
    location: of that op in the source, "" if unknown. position: the file position in it, None if unknown.
    is_explicit: whether the program itself asks for it: a collective, a constraint or a reshard.
    made_for: that op itself, as the program before collectives were put in has it.
    """

    op: str
    operand: int
    reason: str
    location: str
    position: Position | None = None
    is_explicit: bool = False
    made_for: Operation | None = field(default=None, compare=False, repr=False)


class Causes:
    """The causes of the collectives of a module, from what the passes noted."""

    def __init__(
        self, record: Iterable[object], originals: Mapping[Operation, Operation] | None = None
    ) -> None:
        """Keep the `Movement`s of a record. originals: by op, that of the program before collectives."""
        self._originals = originals or {}
        self._moved = {id(event.target): event for event in record if isinstance(event, Movement)}

    def of(self, op: Operation) -> Cause:
        """Why a collective is there."""
        return self._kept(self._of(op))

    def of_halo(self, op: Operation, operand: int) -> Cause:
        """Why an op takes in a halo of an operand."""
        reason = f"{op.name} reads beyond each device's part of operand {operand}"
        return self._kept(_cause_at(op, op.name, operand, reason))

    def _kept(self, cause: Cause) -> Cause:
        """The cause with the op that the program before collectives has."""
        made_for = cause.made_for
        return cause if made_for is None else replace(cause, made_for=self._originals.get(made_for, made_for))

    def _of(self, op: Operation) -> Cause:
        if op.name in USER_KINDS:
            return _cause_at(op, op.name, -1, "written in the program", is_explicit=True)
        event = self._movement(op.results[0])
        cause_op = event.op if event is not None and event.op is not None else None
        if event is not None and cause_op is not None:
            if event.index >= 0:
                reason = f"operand {event.index} of {cause_op.name} is needed in another sharding"
            elif op.name in ("sdy.all_reduce", "sdy.reduce_scatter"):
                reason = f"{cause_op.name} sums over a sharded dimension"
            else:
                reason = f"the result of {cause_op.name} is used in another sharding"
            place = cause_op if location_text(_location(cause_op)) else op
            return replace(_cause_at(place, cause_op.name, event.index, reason), made_for=cause_op)
        return self._cause_alone(op, event)

    def _cause_alone(self, op: Operation, event: Movement | None) -> Cause:
        """The cause of what no other op brought about."""
        source = op.operands[0]
        if isinstance(source, OpResult) and source.op.name == "func.call":
            reason = "a call gives another sharding than its user takes"
            return replace(_cause_at(op, source.op.name, -1, reason), made_for=source.op)
        wanted = event.source if event is not None else None
        name = wanted.op.name if isinstance(wanted, OpResult) else op.name
        if name == "sdy.sharding_constraint":
            return _cause_at(op, name, -1, "the program constrains the sharding here", is_explicit=True)
        return _cause_at(op, "sdy.reshard", -1, "the program reshards here", is_explicit=True)

    def _movement(self, value: SSAValue) -> Movement | None:
        """The first note that names an op, else the last one, from `value` back through what it replaced."""
        seen: set[int] = set()
        found = event = self._moved.get(id(value))
        while event is not None and event.op is None and id(event.source) not in seen:
            seen.add(id(event.source))
            found, event = event, self._moved.get(id(event.source))
        return event or found


def _cause_at(
    place: Operation, op_name: str, operand: int, reason: str, *, is_explicit: bool = False
) -> Cause:
    """A cause at the place of an op."""
    location = _location(place)
    return Cause(op_name, operand, reason, location_text(location), position_of(location), is_explicit, place)


def _location(op: Operation) -> Any:
    return cast(Any, op).location
