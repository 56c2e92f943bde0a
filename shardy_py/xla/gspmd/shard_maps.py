"""Manual computations as XLA has them: a call of a private function between custom calls, and back.

    %l = custom_call @ToLocal(%g)                 sdy.manual_computation(%g) ... { body }
    %r = call @body(%l)                     <->
    %h = custom_call @ToGlobal(%r)

`outline_body` moves a body to a function; `to_manual_computation` builds the op from the parts of a call.
Bodies that XLA has inlined become calls first (`outline_shard_maps`): they consist of the ops that use sliced
values, up to those that are joined, and copies of the constants that they use. Independent values of one
shard map become several shard maps. Not here: which custom calls there are (`passes/`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import field

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir import ir
from shardy_py.mlir.calls import calls_in
from shardy_py.mlir.cloning import clone, clone_region_into
from shardy_py.mlir.dialects.sdy import (
    ManualAxesAttr,
    ManualComputationOp,
    ReturnOp,
    TensorShardingPerValueAttr,
)
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.mlir.ir import build_operation, erase, operands_of, place_before, replace_uses
from shardy_py.mlir.nesting import free_values
from shardy_py.mlir.op_errors import error_at
from shardy_py.mlir.symbols import Symbols, callee_name
from shardy_py.passes.import_.named_computations import private_function, replace_terminators
from shardy_py.sharding import TensorSharding
from shardy_py.xla.gspmd.encoding import (
    FULL_TO_SHARD,
    MANUAL_MARK,
    SHARD_TO_FULL,
    SHARDING_TARGET,
    call_target,
    calls_of,
    erase_unused,
    producer,
    users,
)

GSPMD_BODY = "shmap_body"
"""The name of functions with the body of a shard map, as JAX has it."""


@dataclass(frozen=True)
class ManualCall:
    """The parts of a manual computation.

    call: of its body.
    operands: the global operands.
    results: for each result of the call, the global values made from it.
    result_types: the global types of the results.
    between: the custom calls around the call, erased with it if nothing else uses them.
    """

    call: Operation
    operands: tuple[SSAValue, ...]
    results: tuple[tuple[SSAValue, ...], ...]
    result_types: tuple[Attribute, ...]
    in_shardings: tuple[TensorSharding, ...]
    out_shardings: tuple[TensorSharding, ...]
    manual_axes: tuple[str, ...]
    between: tuple[Operation, ...]


def marked_axes(ops: Sequence[Operation]) -> tuple[str, ...]:
    """The manual axes that the first of the ops with a mark has; none without."""
    marks = (op.attributes.get(MANUAL_MARK) for op in ops)
    return next((mark.data for mark in marks if isinstance(mark, ManualAxesAttr)), ())


def to_manual_computation(parts: ManualCall, symbols: Symbols) -> None:
    """Replaces the parts by a manual computation; the function is erased with its last call.

    Raises:
        ShardyError: the numbers of values and shardings differ.
    """
    call = parts.call
    for what, values, expected in (
        ("operands", parts.operands, parts.in_shardings),
        ("results", parts.result_types, parts.out_shardings),
        ("results of its body", parts.result_types, call.results),
        ("operands of its body", parts.operands, call.operands),
    ):
        if len(values) != len(expected):
            raise ShardyError.unexpected(
                f"manual computation, number of {what}", expected=str(len(expected)), got=str(len(values))
            )
    properties: dict[str, Attribute] = {
        "in_shardings": TensorShardingPerValueAttr(parts.in_shardings),
        "out_shardings": TensorShardingPerValueAttr(parts.out_shardings),
        "manual_axes": ManualAxesAttr(parts.manual_axes),
    }
    body, types = [_take_body(call, symbols)], parts.result_types
    computation = build_operation(
        ManualComputationOp, parts.operands, types, properties, {}, call.location, regions=body
    )
    place_before(computation, call)
    for new, olds in zip(computation.results, parts.results, strict=True):
        for old in olds:
            replace_uses(old, new)
    erase_unused((*parts.between, call))


def _take_body(call: Operation, symbols: Symbols) -> Region:
    """The body of the callee, ending in `sdy.return`; it is moved if this is the last call, else copied."""
    function = symbols.callee(call)
    name = callee_name(call)
    if sum(callee_name(other) == name for other in calls_in(symbols.module)) > 1:
        region = Region()
        clone_region_into(function.regions[0], region, {})
    else:
        region = function.detach_region(0)
        function.add_region(Region())
        symbols.erase(function)
    replace_terminators(region, ReturnOp)
    return region


def outline_body(
    computation: Operation,
    name: str,
    operands: Sequence[SSAValue],
    symbols: Symbols,
    attributes: Mapping[str, Attribute] | None = None,
) -> Operation:
    """Moves the body of a manual computation to a private function and calls it before the computation.

    operands: of the call, of the local types. attributes: of the call.
    """
    region = computation.detach_region(0)
    computation.add_region(Region())
    last = region.blocks[0].last_op
    assert last is not None
    returned = list(operands_of(last))
    erase(last)
    call = call_of_body(region, returned, name, operands, symbols, computation.location, attributes)
    place_before(call, computation)
    return call


def call_of_body(
    region: Region,
    returned: Sequence[SSAValue],
    name: str,
    operands: Sequence[SSAValue],
    symbols: Symbols,
    location: Attribute,
    attributes: Mapping[str, Attribute] | None = None,
) -> Operation:
    """Makes a private function of a region of one block and returns a call of it, in no block.

    returned: the values of the block that the function returns.
    """
    (block,) = region.blocks
    build_operation(FuncReturnOp, returned, (), {}, {}, location, block)
    types = [value.type for value in returned]
    function = private_function(StringAttr(name), region, types, location)
    callee: dict[str, Attribute] = {"callee": SymbolRefAttr(symbols.insert(function))}
    return build_operation(CallOp, operands, types, callee, dict(attributes or {}), location)


def outline_shard_maps(module: ModuleOp, symbols: Symbols) -> None:
    """Outlines all inlined bodies, the innermost first.

    Raises:
        ShardyError: a value enters or leaves a body other than through the custom calls, or one of these does
            not make one value of one.
    """
    entries, exits = calls_of(module, (FULL_TO_SHARD,)), calls_of(module, (SHARD_TO_FULL,))
    for op in (*entries, *exits):
        if len(op.results) != 1 or len(ir.operands_of(op)) != 1:
            raise error_at(op, ShardyError("expected one operand and one result"))
    constant_exits = [op for op in exits if _is_constant(ir.operands_of(op)[0])]
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
    """Returns whether a value depends on no argument and no entry."""
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
    return [*ir.operands_of(op), *free_values(op)]


def _outline(part: _Part, symbols: Symbols) -> None:
    """Moves the members to a function, and calls it after the last entry."""
    constraints = (producer(ir.operands_of(op)[0], SHARDING_TARGET) for op in part.exits)
    takers = dict.fromkeys(  # the users of the results of the call: a constraint if only exits use it
        constraint if constraint is not None and set(users(constraint.results[0])) <= set(part.exits) else op
        for op, constraint in zip(part.exits, constraints, strict=True)
    )
    members = [op for op in part.members if op not in takers]
    arguments = [entry.results[0] for entry in part.entries]
    body = _Body(part.entries)
    for op in members:
        body.add(op)
    returned = [body.value(ir.operands_of(op)[0], op) for op in takers]
    anchor = part.entries[-1] if part.entries else next(iter(takers))
    call = call_of_body(Region([body.block]), returned, GSPMD_BODY, arguments, symbols, anchor.location)
    (ir.place_after if part.entries else ir.place_before)(call, anchor)
    for op in reversed([*dict.fromkeys((*takers, *part.exits))]):
        if op.is_before_in_block(call):
            _move_after(op, call)
    for op, result in zip(takers, call.results, strict=True):
        ir.replace_operand(op, 0, result)
    erase_unused((*reversed(members), *reversed(body.copied)))


def _move_after(op: Operation, call: Operation) -> None:
    """Moves an op that joins a value behind the call, which is behind all entries."""
    block = call.parent
    assert block is not None
    ancestors = (block.find_ancestor_op_in_block(user) for user in users(op.results[0]))
    if any(user is not None and user.is_before_in_block(call) for user in ancestors):
        fact = f"is used before the last @{FULL_TO_SHARD} of its shard map"
        raise error_at(op, ShardyError(fact))
    ir.take_out(op)
    ir.place_after(op, call)


class _Body:
    """The block of a function that is filled with copies of ops.

    copied: the constants that it has copies of, each after those that it uses.
    """

    def __init__(self, entries: list[Operation]) -> None:
        self.block = Block()
        types = [(entry.results[0].type, entry.location) for entry in entries]
        arguments = ir.append_arguments(self.block, types)
        self._copies: dict[SSAValue, SSAValue] = dict(
            zip((entry.results[0] for entry in entries), arguments, strict=True)
        )
        self.copied: list[Operation] = []

    def add(self, op: Operation) -> None:
        """Copies an op, and before it the constants that it uses."""
        for value in _used_values(op):
            self.value(value, op)
        ir.place_at_end(clone(op, self._copies), self.block)

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
                ir.place_at_end(clone(op, self._copies), self.block)
                self.copied.append(op)
        return self._copies[value]
