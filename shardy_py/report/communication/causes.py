"""The causes of collectives: the op that requires one, in words, and its source line.

Not here: the collectives (`collect.py`), the events of the passes (`graph/movements.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.dialects.sdy import ReshardOp, ShardingConstraintOp
from shardy_py.errors import Position
from shardy_py.graph.movements import Movement
from shardy_py.graph.value_table import location_text
from shardy_py.ir import written_name
from shardy_py.ops import TABLE
from shardy_py.text.source import position_of


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a collective.

    op: the name of the op that requires it.
    operand: the operand of it that is resharded; -1: its result.
    reason: in words.
    location: of that op in the source, "" if unknown. position: the file position in it, None if unknown.
    is_explicit: whether the program contains it: a collective, a constraint or a reshard.
    made_for: that op itself, in the program before collectives were inserted.
    """

    op: str
    operand: int
    reason: str
    location: str
    position: Position | None = None
    is_explicit: bool = False
    made_for: Operation | None = field(default=None, compare=False, repr=False)


class Causes:
    """The causes of the collectives of a module, from the movements in a record of its passes.

    originals: for each op, that of the program before collectives were inserted.
    """

    def __init__(
        self, record: Iterable[object], originals: Mapping[Operation, Operation] | None = None
    ) -> None:
        self._originals = originals or {}
        self._moved = {id(event.target): event for event in record if isinstance(event, Movement)}

    def of(self, op: Operation) -> Cause:
        """Returns the cause of a collective."""
        collective = TABLE[op.name].collective
        if collective is not None and collective.names_devices:
            return replace(self._cause(op, op.name, -1, "written in the program"), is_explicit=True)
        event = self._movement(op.results[0])
        user = event.op if event is not None else None
        if event is not None and user is not None:
            if event.index >= 0:
                reason = f"operand {event.index} of {written_name(user)} requires another sharding"
            elif collective is not None and collective.reduces:
                reason = f"{written_name(user)} reduces a sharded dimension"
            else:
                reason = f"the result of {written_name(user)} is used with another sharding"
            place = user if location_text(cast(Any, user).location) else op
            return self._cause(place, written_name(user), event.index, reason, user=user)
        source = op.operands[0]
        if isinstance(source, OpResult) and isinstance(source.op, CallOp):
            reason = "the result of a call is used with another sharding"
            return self._cause(op, written_name(source.op), -1, reason, user=source.op)
        moved = event.source if event is not None else None
        if isinstance(moved.op if isinstance(moved, OpResult) else op, ShardingConstraintOp):
            name, reason = ShardingConstraintOp.name, "the program constrains the sharding here"
        else:
            name, reason = ReshardOp.name, "the program reshards here"
        return replace(self._cause(op, name, -1, reason), is_explicit=True)

    def of_halo(self, op: Operation, operand: int) -> Cause:
        """Returns the cause of the halo of an operand."""
        return self._cause(
            op, op.name, operand, f"{op.name} reads beyond the local shard of operand {operand}"
        )

    def _cause(
        self, at: Operation, name: str, operand: int, reason: str, user: Operation | None = None
    ) -> Cause:
        location, made_for = cast(Any, at).location, self._originals.get(user or at, user or at)
        place = location_text(location), position_of(location)
        return Cause(name, operand, reason, *place, made_for=made_for)

    def _movement(self, value: SSAValue) -> Movement | None:
        """Returns the first movement with an op, else the last one, from `value` back through its sources."""
        seen: set[int] = set()
        last = event = self._moved.get(id(value))
        while event is not None and event.op is None and id(event.source) not in seen:
            seen.add(id(event.source))
            last, event = event, self._moved.get(id(event.source))
        return event or last
