"""Outlines shard maps whose bodies XLA has inlined, so that all of them are calls.

    before  %1 = custom_call @SPMDFullToShardShape(%0)     after  %1 = custom_call @SPMDFullToShardShape(%0)
            %2 = negate %1                                        %2 = call @shmap_body(%1)
            %3 = custom_call @SPMDShardToFullShape(%2)            %3 = custom_call @SPMDShardToFullShape(%2)

A body consists of the ops that use sliced values, up to those that are joined, and copies of the constants
that they use. Independent values of one shard map become several shard maps. Not here: manual computations of
such calls (`shard_maps.py`).
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from shardy_py.dialects.sdy import ManualAxesAttr
from shardy_py.dialects.traits import is_dead_when_unused
from shardy_py.errors import ShardyError
from shardy_py.graph.cloning import Mapping, clone
from shardy_py.graph.nesting import free_values
from shardy_py.graph.op_errors import error_at
from shardy_py.graph.symbols import Symbols
from shardy_py.gspmd.custom_calls import call_target, calls_of, erase_unused, producer, users
from shardy_py.gspmd.encoding import FULL_TO_SHARD, MANUAL_MARK, SHARD_TO_FULL, SHARDING_TARGET
from shardy_py.gspmd.shard_maps import GSPMD_BODY, call_of_body
from shardy_py.ir import (
    append_arguments,
    operands_of,
    place_after,
    place_at_end,
    place_before,
    replace_operand,
    take_out,
)


def outline_shard_maps(module: ModuleOp, symbols: Symbols) -> None:
    """Outlines all inlined bodies, the innermost first.

    Raises:
        ShardyError: a value enters or leaves a body other than through the custom calls.
    """
    entries, exits = calls_of(module, (FULL_TO_SHARD,)), calls_of(module, (SHARD_TO_FULL,))
    constant_exits = [op for op in exits if _is_constant(operands_of(op)[0])]
    for op in constant_exits:
        _outline(_Part(exits=[op]), symbols)
    left = set(exits).difference(constant_exits)
    for depth in sorted({_depth(op) for op in entries}, reverse=True):
        for block in dict.fromkeys(op.parent for op in entries if _depth(op) == depth):
            assert block is not None
            for part in _parts(block, depth, left):
                _outline(part, symbols)
                left.difference_update(part.exits)
    for op in exits:
        if op in left:
            raise error_at(op, ShardyError(f"joins a value that does not depend on @{FULL_TO_SHARD}"))


def _depth(entry: Operation) -> int:
    """The number of manual axes of the result of an entry."""
    mark = entry.attributes.get(MANUAL_MARK)
    return len(mark.data) if isinstance(mark, ManualAxesAttr) else 0


@dataclass(eq=False)
class _Part:
    """A shard map: the ops that slice values, its body, the ops that join values; each in program order."""

    entries: list[Operation] = field(default_factory=list[Operation])
    members: list[Operation] = field(default_factory=list[Operation])
    exits: list[Operation] = field(default_factory=list[Operation])


def _parts(block: Block, depth: int, exits: Container[Operation]) -> list[_Part]:
    """The shard maps of a depth in a block: ops that depend on common entries are in one."""
    position = {op: index for index, op in enumerate(block.ops)}
    part_of: dict[Operation, _Part] = {}
    for op in position:
        if call_target(op) == FULL_TO_SHARD and _depth(op) == depth:
            part_of[op] = _Part(entries=[op])
            continue
        producers = (value.op for value in _used_values(op) if isinstance(value, OpResult))
        found = list(dict.fromkeys(part_of[producer] for producer in producers if producer in part_of))
        if not found:
            continue
        part = found[0]
        for other in found[1:]:
            part_of.update(dict.fromkeys((*other.entries, *other.members), part))
            part.entries += other.entries
            part.members += other.members
            part.exits += other.exits
        if op is block.last_op:
            raise error_at(op, ShardyError(f"uses a sliced value that @{SHARD_TO_FULL} does not join"))
        if op in exits:
            part.exits.append(op)
        else:
            part.members.append(op)
            part_of[op] = part
    parts = list(dict.fromkeys(part_of.values()))
    for part in parts:
        for ops in (part.entries, part.members, part.exits):
            ops.sort(key=position.__getitem__)
    return parts


def _is_constant(value: SSAValue) -> bool:
    """Whether a value depends on no argument and no entry."""
    pending, seen = [value], {value}
    while pending:
        op = _copyable_op(pending.pop())
        if op is None:
            return False
        new = [operand for operand in _used_values(op) if operand not in seen]
        seen.update(new)
        pending += new
    return True


def _copyable_op(value: SSAValue) -> Operation | None:
    """The op that defines a value; None if it may not be copied into a body."""
    op = value.op if isinstance(value, OpResult) else None
    return op if op is not None and is_dead_when_unused(op) and call_target(op) != FULL_TO_SHARD else None


def _used_values(op: Operation) -> list[SSAValue]:
    """The values that an op and its regions use from outside of it."""
    return [*operands_of(op), *free_values(op)]


def _outline(part: _Part, symbols: Symbols) -> None:
    """Moves the members to a function, and calls it after the last entry."""
    constraints = (producer(operands_of(op)[0], SHARDING_TARGET) for op in part.exits)
    takers = dict.fromkeys(  # the users of the results of the call: a constraint if only exits use it
        constraint if constraint is not None and set(users(constraint.results[0])) <= set(part.exits) else op
        for op, constraint in zip(part.exits, constraints, strict=True)
    )
    members = [op for op in part.members if op not in takers]
    arguments = [entry.results[0] for entry in part.entries]
    body = _Body(part.entries)
    for op in members:
        body.add(op)
    returned = [body.value(operands_of(op)[0], op) for op in takers]
    anchor = part.entries[-1] if part.entries else next(iter(takers))
    call = call_of_body(Region([body.block]), returned, GSPMD_BODY, arguments, symbols, anchor.location)
    (place_after if part.entries else place_before)(call, anchor)
    for op in reversed([*dict.fromkeys((*takers, *part.exits))]):
        if op.is_before_in_block(call):
            _move_after(op, call)
    for op, result in zip(takers, call.results, strict=True):
        replace_operand(op, 0, result)
    erase_unused((*reversed(members), *reversed(body.copied)))


def _move_after(op: Operation, call: Operation) -> None:
    """Moves an op that joins a value behind the call, which is behind all entries."""
    block = call.parent
    assert block is not None
    ancestors = (block.find_ancestor_op_in_block(user) for user in users(op.results[0]))
    if any(user is not None and user.is_before_in_block(call) for user in ancestors):
        fact = f"is used before the last @{FULL_TO_SHARD} of its shard map"
        raise error_at(op, ShardyError(fact))
    take_out(op)
    place_after(op, call)


class _Body:
    """The block of a function that is filled with copies of ops.

    copied: the constants that it has copies of, each after those that it uses.
    """

    def __init__(self, entries: list[Operation]) -> None:
        self.block = Block()
        types = [(entry.results[0].type, entry.location) for entry in entries]
        arguments = append_arguments(self.block, types)
        self._copies: Mapping = dict(zip((entry.results[0] for entry in entries), arguments, strict=True))
        self.copied: list[Operation] = []

    def add(self, op: Operation) -> None:
        """Copies an op, and before it the constants that it uses."""
        for value in _used_values(op):
            self.value(value, op)
        place_at_end(clone(op, self._copies), self.block)

    def value(self, value: SSAValue, user: Operation) -> SSAValue:
        """The copy of a value; constants are copied when they are first used."""
        pending = [value]
        while pending:
            op = _copyable_op(pending[-1])
            if pending[-1] in self._copies:
                pending.pop()
            elif op is None:
                fact = f"uses a value, not a constant, that @{FULL_TO_SHARD} does not slice for its shard map"
                raise error_at(user, ShardyError(fact))
            elif missing := [operand for operand in _used_values(op) if operand not in self._copies]:
                pending += missing
            else:
                place_at_end(clone(op, self._copies), self.block)
                self.copied.append(op)
        return self._copies[value]
