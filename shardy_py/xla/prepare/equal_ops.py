"""One op of each set of equal ones in a block. Source: openxla/xla, xla/service/hlo_cse.cc.

mean(x), and mean(x) again for the variance of x  ->  one
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Block, Operation

from shardy_py.mlir import ir
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.ir import operands_of, type_of
from shardy_py.mlir.numbering import number_of
from shardy_py.ops import TABLE, Control

_IDENTITIES = ("sdy.", "func.")
"""Dialects whose ops XLA takes as calls, which it does not merge."""


def merge_equal_ops(block: Block) -> bool:
    """Keeps one of each set of equal ops of a block, and of those inside; returns whether any was erased."""
    firsts: dict[Hashable, list[Operation]] = {}
    is_changed = False
    op = block.first_op
    while op is not None:
        following = op.next_op
        if _may_merge(op):
            key = (
                op.__class__,
                *(id(value) for value in operands_of(op)),
                *(number_of(type_of(value)) for value in op.results),
                *((name, number_of(value)) for name, value in sorted(op.properties.items())),
            )
            known = firsts.setdefault(key, [])
            first = next((each for each in known if _has_same_regions(each, op)), None)
            if first is None:
                known.append(op)
            else:
                for old, new in zip(op.results, first.results, strict=True):
                    ir.replace_uses(old, new)
                ir.erase(op)
                is_changed = True
        elif op.regions:
            for inner in ir.blocks_of(op):
                is_changed |= merge_equal_ops(inner)
        op = following
    return is_changed


def _may_merge(op: Operation) -> bool:
    if not op.results or op.name.startswith(_IDENTITIES) or SHARDING in op.attributes:
        return False
    row = TABLE[op.name]
    return row.control is Control.NONE and row.collective is None and is_dead_when_unused(op)


def _has_same_regions(op: Operation, other: Operation) -> bool:
    return all(
        one.is_structurally_equivalent(two) for one, two in zip(op.regions, other.regions, strict=True)
    )
