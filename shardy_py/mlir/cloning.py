"""Copies of ops, whose operands a mapping can replace: `copy = clone(op, {old_operand: new_operand})`.

Uses are created in MLIR's order: op by op its operands before its regions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from shardy_py.mlir.ir import (
    add_file_names,
    append_block,
    attach_operands,
    build_operation,
    copy_file_names,
    next_op,
    operands_of,
    place_before,
    type_of,
)

Op = TypeVar("Op", bound=Operation)
Mapping = dict[SSAValue, SSAValue]
"""From values to their counterparts in the copy; cloning adds the values that it defines."""


Maker = Callable[[Operation, "list[SSAValue] | tuple[()]", Block], Operation | None]
"""Returns what stands for an op in a copy of its block, given the operands there: a copy with empty regions
at the end of the block, an op in it whose results are equal, or None for an op that nothing needs."""


def clone(op: Op, mapping: Mapping, make: Maker | None = None) -> Op:
    """Returns a detached copy of `op`; operands that are not in `mapping` stay the same.

    make: what makes the ops in blocks that are the only ones of a region; by default copies of all.
    """
    operands = operands_of(op)
    copy = shell_of(op, [mapping.get(value, value) for value in operands] if operands else ())
    for old, new in zip(op.regions, copy.regions, strict=True):
        clone_region_into(old, new, mapping, make or shell_of)
    _map(op.results, copy.results, mapping)
    return cast(Op, copy)  # it has the class of `op`


class Expression:
    """The ops that compute a value, of which many copies are made.

    values: a result of each op, operands before users.
    is_simple: each op has one result and no region, so that `copy_in_place` can be used.
    """

    def __init__(self, values: Sequence[OpResult], *, is_simple: bool) -> None:
        self.values = values
        self.members = frozenset(values)
        ops = [value.op for value in values]
        self.is_simple = is_simple and all(len(op.results) == 1 and not op.regions for op in ops)
        positions: dict[SSAValue, int] = {value: position for position, value in enumerate(values)}
        self._operands = [[(positions.get(v, -1), v) for v in operands_of(op)] for op in ops]

    def copy_in_place(self, mapping: Mapping) -> None:
        """Places a copy of each op before it, and maps the values to those of the copies."""
        made: list[Any] = []
        for value, operands in zip(self.values, self._operands, strict=True):
            op = value.op
            copy = shell_of(op, [made[position] if position >= 0 else v for position, v in operands])
            place_before(copy, op)
            made += copy.results
        mapping.update(zip(self.values, made, strict=True))


def shell_of(op: Operation, operands: list[SSAValue] | tuple[()], block: Block | None = None) -> Operation:
    """Returns a copy of `op` with these operands and empty regions, at the end of a block if one is given."""
    types, properties, attributes = [*map(type_of, op.results)], op.properties.copy(), op.attributes.copy()
    regions = [Region() for _ in op.regions] if op.regions else ()
    return build_operation(op.__class__, operands, types, properties, attributes, op.location, block, regions)


def clone_region_into(region: Region, into: Region, mapping: Mapping, make: Maker = shell_of) -> None:
    """Copy the blocks of `region` to the end of `into`; make: as for `clone`."""
    block = region.first_block
    if block is not None and block.next_block is None:
        _clone_ops(block, _empty_copy(block, into, mapping), mapping, make)
    else:
        _clone_blocks(region, into, mapping)


def _empty_copy(block: Block, region: Region, mapping: Mapping) -> Block:
    """A copy of a block without its ops, at the end of `region`."""
    copy = append_block(region, [(argument.type, argument.location) for argument in block.args])
    _map(block.args, copy.args, mapping)
    return copy


def _clone_ops(block: Block, into: Block, mapping: Mapping, make: Maker) -> None:
    """Copies the ops of the only block of a region; operands are defined before, except in graphs."""
    counterpart, copies_all = mapping.get, make is shell_of
    late: list[tuple[Operation, Operation]] = []
    op = block.first_op
    while op is not None:
        operands = operands_of(op)
        copies: list[Any] = [*map(counterpart, operands)]
        if None in copies:
            if any(new is None and _is_in(old, block) for old, new in zip(operands, copies, strict=True)):
                copies = []
            copies = [old if new is None else new for old, new in zip(operands, copies, strict=False)]
        last = None if copies_all else into.last_op
        copy = make(op, copies, into)
        if copy is None or not (copies_all or (copy is not last and copy.next_op is None)):  # no new one
            for old, new in zip(op.results, () if copy is None else copy.results, strict=False):
                mapping[old] = new
                add_file_names(old, new)
            op = next_op(op)
            continue
        if operands and not copies:
            late.append((op, copy))
        results = op.results
        if len(results) == 1:
            (old,), (new,) = results, copy.results
            mapping[old] = new
            copy_file_names(old, new)
        else:
            _map(results, copy.results, mapping)
        if op.regions:
            for old_region, new_region in zip(op.regions, copy.regions, strict=True):
                clone_region_into(old_region, new_region, mapping, make)
        op = next_op(op)
    for old_op, copy in late:
        attach_operands(copy, [mapping.get(value, value) for value in operands_of(old_op)])


def _is_in(value: SSAValue, block: Block) -> bool:
    return isinstance(value, OpResult) and value.op.parent is block


def _clone_blocks(region: Region, into: Region, mapping: Mapping) -> None:
    blocks = [(block, _empty_copy(block, into, mapping)) for block in region.blocks]
    pairs: list[tuple[Operation, Operation]] = []
    for block, new_block in blocks:
        for op in block.ops:
            copy = shell_of(op, (), new_block)
            _map(op.results, copy.results, mapping)
            pairs.append((op, copy))
    successors = dict(blocks)
    for op, copy in pairs:
        if operands_of(op):
            attach_operands(copy, [mapping.get(value, value) for value in operands_of(op)])
        if op.successors:
            copy.successors = [successors.get(block, block) for block in op.successors]
        for old, new in zip(op.regions, copy.regions, strict=True):
            clone_region_into(old, new, mapping)


def _map(values: Sequence[SSAValue], copies: Sequence[SSAValue], mapping: Mapping) -> None:
    """Maps values to their copies, which keep the names of the file."""
    for old, new in zip(values, copies, strict=True):
        mapping[old] = new
        copy_file_names(old, new)
