"""The causes of collectives: the op that requires one, in words, and its source line.

Not here: the collectives (`collect.py`), the events of the passes (`mlir/movements.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.errors import Position
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import ReshardOp, ShardingConstraintOp
from shardy_py.mlir.ir import written_name
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.movements import Copies, Insertion, Movement
from shardy_py.mlir.record import row_of_op
from shardy_py.mlir.text.source import position_of
from shardy_py.ops import TABLE, Collective


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

    def __reduce__(self) -> tuple[object, ...]:
        """The cause without its op: a pickle has no program."""
        words = self.op, self.operand, self.reason, self.location
        return Cause, (*words, self.position, self.is_explicit)


class Causes:
    """The causes of the collectives of a module, from the movements in a record of its passes.

    originals: for each op, that of the program before collectives were inserted.
    """

    def __init__(
        self, record: Iterable[object], originals: Mapping[Operation, Operation] | None = None
    ) -> None:
        self._originals = originals or {}
        events = tuple(record)
        self._moved = {id(event.target): event for event in events if isinstance(event, Movement)}
        self._inserted = {id(event.op): event.made_for for event in events if isinstance(event, Insertion)}
        self._copied = {
            id(new): old
            for event in events
            if isinstance(event, Copies)
            for old, new in event.values.items()
            if isinstance(old, OpResult) and isinstance(new, OpResult) and old.op.name == new.op.name
        }

    def of(self, op: Operation, asked: tuple[Operation, ...] = ()) -> Cause:
        """Returns the cause of a collective.

        asked: the reshards and collectives that were made for it; an op among them is its own cause.
        """
        collective = row_of_op(op).collective
        while (copied := self._copied.get(id(op.results[0]))) is not None and copied.op is not op:
            op = copied.op
        if collective is not None and collective.names_devices and id(op) not in self._inserted:
            return replace(self._cause(op, op.name, -1, "written in the program"), is_explicit=True)
        event, chain = self._movement(op.results[0])
        asked = (*asked, op)
        if event is not None and event.op is not None and event.op not in asked:
            return self._of_user(asked, event.op, event.index, collective)
        made_for = next((self._inserted[id(made)] for made in chain if id(made) in self._inserted), None)
        if made_for is not None and made_for not in asked:
            return self._of_inserted(asked, made_for, collective)
        source = op.operands[0]
        if isinstance(source, OpResult) and isinstance(source.op, CallOp):
            reason = "the result of a call is used with another sharding"
            return self._cause(op, written_name(source.op), -1, reason, user=source.op)
        if any(isinstance(made, ShardingConstraintOp) for made in chain):
            name, reason = ShardingConstraintOp.name, "the program constrains the sharding here"
        else:
            name, reason = ReshardOp.name, "the program reshards here"
        original = next((made for made in chain if made in self._originals), None)
        return replace(self._cause(op, name, -1, reason, user=original), is_explicit=True)

    def _of_user(
        self, asked: tuple[Operation, ...], user: Operation, index: int, collective: Collective | None
    ) -> Cause:
        """Returns the cause of a reshard, the last of `asked`: operand `index` of an op, or its result."""
        if isinstance(user, ReshardOp):
            return self.of(user, asked)
        if index >= 0:
            reason = f"operand {index} of {written_name(user)} requires another sharding"
        elif collective is not None and collective.reduces:
            reason = f"{written_name(user)} reduces a sharded dimension"
        else:
            reason = f"the result of {written_name(user)} is used with another sharding"
        place = user if location_text(user.location) else asked[-1]
        return self._cause(place, written_name(user), index, reason, user=user)

    def _of_inserted(
        self, asked: tuple[Operation, ...], made_for: Operation, collective: Collective | None
    ) -> Cause:
        """Returns the cause of a collective that the partitioner inserted for an op, or in place of one."""
        row = TABLE[made_for.name].collective
        if row is not None and not row.names_devices:
            return self.of(made_for, asked)
        name = written_name(made_for)
        if row is not None:
            return replace(self._cause(made_for, name, -1, "written in the program"), is_explicit=True)
        if collective is not None and collective.reduces:
            reason = f"{name} reduces a sharded dimension"
        elif collective is not None and collective.kind == "collective_permute":
            reason = f"{name} reads beyond the local shards of its operands"
        else:
            reason = f"{name} is computed with other shardings of its tensors"
        place = made_for if location_text(made_for.location) else asked[-1]
        return self._cause(place, name, -1, reason, user=made_for)

    def of_halo(self, op: Operation, operand: int) -> Cause:
        """Returns the cause of the halo of an operand."""
        return self._cause(
            op, op.name, operand, f"{op.name} reads beyond the local shard of operand {operand}"
        )

    def _cause(
        self, at: Operation, name: str, operand: int, reason: str, user: Operation | None = None
    ) -> Cause:
        location, made_for = at.location, self._originals.get(user or at, user or at)
        place = location_text(location), position_of(location)
        return Cause(name, operand, reason, *place, made_for=made_for)

    def _movement(self, value: SSAValue) -> tuple[Movement | None, list[Operation]]:
        """Returns the first movement with an op, from `value` back through its sources, None if none has one.

        And the ops that define these values, that of `value` first.
        """
        chain: list[Operation] = []
        seen: set[int] = set()
        while id(value) not in seen:
            seen.add(id(value))
            if isinstance(value, OpResult):
                chain.append(value.op)
            event = self._moved.get(id(value))
            if event is None or not isinstance(event.source, SSAValue):
                break
            if event.op is not None:
                return event, chain
            value = event.source
        return None, chain
