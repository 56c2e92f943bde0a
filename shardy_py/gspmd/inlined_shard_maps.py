"""Shard maps whose bodies XLA has put in place of their calls, made calls again.

    before  %1 = custom_call @SPMDFullToShardShape(%0)     after  %1 = custom_call @SPMDFullToShardShape(%0)
            %2 = negate %1                                        %2 = call @shmap_body(%1)
            %3 = custom_call @SPMDShardToFullShape(%2)            %3 = custom_call @SPMDShardToFullShape(%2)

A body is what uses the parts that come in, up to those that go out, and copies of the constants that it uses.
Values of one shard map that have nothing to do with each other come apart, as two shard maps.
Not here: manual computations of such calls (`shard_maps.py`).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from shardy_py.dialects.sdy import ManualAxesAttr
from shardy_py.dialects.traits import is_dead_when_unused
from shardy_py.errors import ShardyError
from shardy_py.graph.cloning import Mapping, clone
from shardy_py.graph.op_errors import error_at
from shardy_py.graph.symbols import Symbols
from shardy_py.gspmd.frontend_attributes import (
    CUSTOM_CALL,
    FULL_TO_SHARD,
    MANUAL_AXES,
    SHARD_TO_FULL,
    SHARDING_TARGET,
    call_target,
)
from shardy_py.gspmd.shard_maps import private_function, producer, users
from shardy_py.ir import (
    append_arguments,
    build_operation,
    erase,
    find_ops,
    free_values,
    operands_of,
    place_after,
    place_at_end,
    place_before,
    replace_operand,
    take_out,
)

_NAME = "shmap_body"


def outline_shard_maps(module: ModuleOp, symbols: Symbols) -> None:
    """Make calls of all bodies that stand between custom calls, the innermost first.

    Raises a `ShardyError` where a value comes in or leaves otherwise.
    """
    borders = find_ops(module, CUSTOM_CALL)
    entries = [op for op in borders if call_target(op) == FULL_TO_SHARD]
    exits = [op for op in borders if call_target(op) == SHARD_TO_FULL]
    without_entries = [op for op in exits if _is_constant(operands_of(op)[0])]
    for op in without_entries:
        _outline(_Part(exits=[op]), symbols)
    left = set(exits).difference(without_entries)
    for depth in sorted({_depth(op) for op in entries}, reverse=True):
        for block in dict.fromkeys(op.parent for op in entries if _depth(op) == depth):
            assert block is not None
            for part in _parts(block, depth, left):
                _outline(part, symbols)
                left.difference_update(part.exits)
    for op in exits:
        if op in left:
            raise error_at(op, ShardyError(f"joins a value that no @{FULL_TO_SHARD} has cut"))


def _depth(entry: Operation) -> int:
    """How many axes are manual behind it."""
    mark = entry.attributes.get(MANUAL_AXES)
    return len(mark.data) if isinstance(mark, ManualAxesAttr) else 0


@dataclass(eq=False)
class _Part:
    """A shard map: what brings values in, the ops of its body, what takes values out; each in order."""

    entries: list[Operation] = field(default_factory=list[Operation])
    members: list[Operation] = field(default_factory=list[Operation])
    exits: list[Operation] = field(default_factory=list[Operation])


def _parts(block: Block, depth: int, exits: Container[Operation]) -> list[_Part]:
    """The shard maps of a depth in a block: all that depends on common entries is of one."""
    place = {op: index for index, op in enumerate(block.ops)}
    part_of: dict[Operation, _Part] = {}
    for op in place:
        if call_target(op) == FULL_TO_SHARD and _depth(op) == depth:
            part_of[op] = _Part(entries=[op])
            continue
        made = (value.op for value in _captured(op) if isinstance(value, OpResult))
        found = list(dict.fromkeys(part_of[maker] for maker in made if maker in part_of))
        if not found:
            continue
        part = found[0]
        for other in found[1:]:
            part_of.update(dict.fromkeys((*other.entries, *other.members), part))
            part.entries += other.entries
            part.members += other.members
            part.exits += other.exits
        if op is block.last_op:
            raise error_at(op, ShardyError(f"takes a part of a tensor that no @{SHARD_TO_FULL} has joined"))
        if op in exits:
            part.exits.append(op)
        else:
            part.members.append(op)
            part_of[op] = part
    parts = list(dict.fromkeys(part_of.values()))
    for part in parts:
        for ops in (part.entries, part.members, part.exits):
            ops.sort(key=place.__getitem__)
    return parts


def _is_constant(value: SSAValue) -> bool:
    """Whether a value depends on no argument, and on nothing that comes in."""
    pending, seen = [value], {value}
    while pending:
        op = _constant_op(pending.pop())
        if op is None:
            return False
        new = [operand for operand in _captured(op) if operand not in seen]
        seen.update(new)
        pending += new
    return True


def _constant_op(value: SSAValue) -> Operation | None:
    """What makes a value, if it may be copied."""
    op = value.op if isinstance(value, OpResult) else None
    return op if op is not None and is_dead_when_unused(op) and call_target(op) != FULL_TO_SHARD else None


def _captured(op: Operation) -> list[SSAValue]:
    """The values that an op, or what is in its regions, uses from outside of it."""
    return [*operands_of(op), *free_values(op)]


def _outline(part: _Part, symbols: Symbols) -> None:
    """Move the members to a function, and call it behind the last entry."""
    constraints = (producer(operands_of(op)[0], SHARDING_TARGET) for op in part.exits)
    takers = dict.fromkeys(  # of what the body returns: a constraint if only exits use it
        constraint if constraint is not None and set(users(constraint.results[0])) <= set(part.exits) else op
        for op, constraint in zip(part.exits, constraints, strict=True)
    )
    body = _Body(part.entries)
    members = [op for op in part.members if op not in takers]
    for op in members:
        body.add(op)
    returned = [body.value(operands_of(op)[0], op) for op in takers]
    anchor = part.entries[-1] if part.entries else next(iter(takers))
    function = body.function(returned, anchor.location)
    callee: dict[str, Attribute] = {"callee": SymbolRefAttr(symbols.insert(function))}
    arguments = [entry.results[0] for entry in part.entries]
    types = [value.type for value in returned]
    call = build_operation(CallOp, arguments, types, callee, {}, anchor.location)
    (place_after if part.entries else place_before)(call, anchor)
    for op in reversed([*dict.fromkeys((*takers, *part.exits))]):
        if op.is_before_in_block(call):
            _move_behind(op, call)
    for op, result in zip(takers, call.results, strict=True):
        replace_operand(op, 0, result)
    for op in (*reversed(members), *reversed(body.copied)):
        if not any(result.first_use for result in op.results):
            erase(op)


def _move_behind(op: Operation, call: Operation) -> None:
    """Take an op that takes values out behind the call, which stands behind all that brings values in."""
    block = call.parent
    assert block is not None
    ancestors = (block.find_ancestor_op_in_block(user) for user in users(op.results[0]))
    if any(user is not None and user.is_before_in_block(call) for user in ancestors):
        fact = (
            f"is used before the last @{FULL_TO_SHARD} of its shard map; expected all values to come in first"
        )
        raise error_at(op, ShardyError(fact))
    take_out(op)
    place_after(op, call)


class _Body:
    """The body of a function that is filled op by op with copies.

    copied: the constants of which it has copies, each behind those that it uses.
    """

    def __init__(self, entries: Sequence[Operation]) -> None:
        self._block = Block()
        types = [(entry.results[0].type, entry.location) for entry in entries]
        arguments = append_arguments(self._block, types)
        self._copies: Mapping = dict(zip((entry.results[0] for entry in entries), arguments, strict=True))
        self.copied: list[Operation] = []

    def add(self, op: Operation) -> None:
        """Copy an op, and before it the constants that it uses."""
        for value in _captured(op):
            self.value(value, op)
        place_at_end(clone(op, self._copies), self._block)

    def value(self, value: SSAValue, user: Operation) -> SSAValue:
        """What stands for a value here."""
        pending = [value]
        while pending:
            op = _constant_op(pending[-1])
            if pending[-1] in self._copies:
                pending.pop()
            elif op is None:
                fact = f"uses a value, not a constant, that no @{FULL_TO_SHARD} brings into its shard map"
                raise error_at(user, ShardyError(fact))
            elif missing := [operand for operand in _captured(op) if operand not in self._copies]:
                pending += missing
            else:
                place_at_end(clone(op, self._copies), self._block)
                self.copied.append(op)
        return self._copies[value]

    def function(self, returned: Sequence[SSAValue], location: Attribute) -> Operation:
        """The function of this body that returns values here."""
        return private_function(_NAME, Region([self._block]), returned, location)
