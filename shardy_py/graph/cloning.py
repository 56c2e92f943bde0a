"""Copies of ops, whose operands a mapping can replace: `copy = clone(op, {old_operand: new_operand})`.

Uses are created in MLIR's order: first all ops of a region, then op by op its operands before its regions.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region, SSAValue

from shardy_py.ir import append_arguments, attach_operands, build_operation, operands_of

Mapping = dict[SSAValue, SSAValue]
"""From values to their counterparts in the copy; cloning adds the values that it defines."""


def clone(op: Operation, mapping: Mapping) -> Operation:
    """Returns a detached copy of `op`; operands that are not in `mapping` stay the same."""
    operands = operands_of(op)
    copy = _shell(op, [mapping.get(value, value) for value in operands] if operands else ())
    for old, new in zip(op.regions, copy.regions, strict=True):
        clone_region_into(old, new, mapping)
    for old, new in zip(op.results, copy.results, strict=True):
        mapping[old] = new
    return copy


def clone_region_into(region: Region, into: Region, mapping: Mapping) -> None:
    """Copy the blocks of `region` to the end of `into`."""
    blocks: list[tuple[Block, Block]] = []
    for block in region.blocks:
        new_block = Block()
        types = [(argument.type, argument.location) for argument in block.args]
        mapping.update(zip(block.args, append_arguments(new_block, types), strict=True))
        blocks.append((block, new_block))
        into.add_block(new_block)
    pairs: list[tuple[Operation, Operation]] = []
    for block, new_block in blocks:
        op = block.first_op
        while op is not None:
            copy = _shell(op, (), new_block)
            for old, new in zip(op.results, copy.results, strict=True):
                mapping[old] = new
            pairs.append((op, copy))
            op = op.next_op
    successors = dict(blocks)
    for op, copy in pairs:
        if operands_of(op):
            attach_operands(copy, [mapping.get(value, value) for value in operands_of(op)])
        if op.successors:
            copy.successors = [successors.get(block, block) for block in op.successors]
        for old, new in zip(op.regions, copy.regions, strict=True):
            clone_region_into(old, new, mapping)


def _shell(op: Operation, operands: list[SSAValue] | tuple[()], block: Block | None = None) -> Operation:
    """A copy of `op` with empty regions."""
    types = [result.type for result in op.results]
    entries = op.properties.copy(), op.attributes.copy()
    regions = [Region() for _ in op.regions] if op.regions else ()
    return build_operation(op.__class__, operands, types, *entries, op.location, block, regions)
