"""One op of each set of equal ones in a block. Source: openxla/xla, xla/service/hlo_cse.cc.

mean(x), and mean(x) again for the variance of x  ->  one
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property

from xdsl.ir import Block, Operation

from shardy_py.mlir import ir
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.ir import operands_of, type_of
from shardy_py.mlir.numbering import number_of
from shardy_py.ops import TABLE, Control
from shardy_py.xla.prepare.revisits import Changes

_IDENTITIES = ("sdy.", "func.")
"""Dialects whose ops XLA takes as calls, which it does not merge."""


class EqualOps:
    """The ops of blocks by what equal ones have in common, so that those of a block that changed are found.

    merge(block) is quick where little changed since the last time.
    """

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._alike: dict[int, dict[Hashable, list[Operation]]] = {}
        """By block, the ops by keys. Ops that have changed since are still there, by keys that no op has now."""

    def merge(self, block: Block) -> bool:
        """Keeps the first of each set of equal ops of a block, and of those inside; returns if any was erased."""
        alike = self._alike.setdefault(id(block), {})
        places = _Places(block)
        is_changed = False
        op = block.first_op
        while op is not None:
            following = op.next_op
            is_new = self._changes.merges.take(op)
            if is_new and _may_merge(op):
                is_changed |= self._merge(op, alike.setdefault(_key(op), []), places)
            elif op.regions and not _may_merge(op):
                for inner in ir.blocks_of(op):
                    is_changed |= self.merge(inner)
            op = following
        return is_changed

    def _merge(self, op: Operation, known: list[Operation], places: _Places) -> bool:
        """Replaces an op by an equal one before it; those behind it are to be looked at again."""
        for other in known:
            if other is op or other.parent is not op.parent or not _has_same_regions(other, op):
                continue
            if places.is_before(other, op):
                self._changes.replace(op, other.results)
                return True
            self._changes.merges.due.add(id(other))
        places.passed.add(id(op))
        if op not in known:
            known.append(op)
        return False


class _Places:
    """The order of the ops of a block, found when it is needed first, as ops are only erased from it.

    passed: the ops that were met, all of which are before those that are met then.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self.passed: set[int] = set()

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {id(op): number for number, op in enumerate(self._block.ops)}

    def is_before(self, op: Operation, other: Operation) -> bool:
        return id(op) in self.passed or self._numbers[id(op)] < self._numbers[id(other)]


def _key(op: Operation) -> Hashable:
    return (
        op.__class__,
        *(id(value) for value in operands_of(op)),
        *(number_of(type_of(value)) for value in op.results),
        *((name, number_of(value)) for name, value in sorted(op.properties.items())),
    )


def _may_merge(op: Operation) -> bool:
    if not op.results or op.name.startswith(_IDENTITIES) or SHARDING in op.attributes:
        return False
    row = TABLE[op.name]
    return row.control is Control.NONE and row.collective is None and is_dead_when_unused(op)


def _has_same_regions(op: Operation, other: Operation) -> bool:
    return all(
        one.is_structurally_equivalent(two) for one, two in zip(op.regions, other.regions, strict=True)
    )
