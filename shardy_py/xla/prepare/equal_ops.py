"""One op of each set of equal ones in a block. Source: openxla/xla, xla/service/hlo_cse.cc.

mean(x), and mean(x) again for the variance of x  ->  one
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property, lru_cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from shardy_py.mlir import ir
from shardy_py.mlir.cloning import clone, shell_of
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.ir import operands_of, type_of
from shardy_py.mlir.numbering import number_of
from shardy_py.ops import TABLE, Control
from shardy_py.propagation.graph.liveness import dead_ops
from shardy_py.xla.prepare.revisits import Changes

_IDENTITIES = ("sdy.", "func.")
"""Dialects whose ops XLA takes as calls, which it does not merge."""


class EqualOps:
    """The ops of blocks by what equal ones have in common, so that those of one that changed are found."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._blocks: dict[int, dict[Hashable, list[Operation]] | None] = {}
        """By block, its ops by keys; None for one whose ops are not merged. What has changed since is still
        there, by keys that no op has now."""

    def copied(self, module: ModuleOp) -> ModuleOp:
        """Returns a copy of a module without dead ops, and with one of each set of equal ops.

        Those with regions are not compared yet.
        """
        dead = dead_ops(ir.ops_in(module))
        seen = self._changes.merges.seen

        def make(op: Operation, operands: list[SSAValue] | tuple[()], into: Block) -> Operation | None:
            if id(op) in dead:
                return None
            if op.regions or not _may_merge(op) or (alike := self._alike_in(into)) is None:
                return shell_of(op, operands, into)
            known = alike.setdefault(_key(op, operands), [])
            if not known:
                copy = shell_of(op, operands, into)
                known.append(copy)
                seen[id(copy)] = copy
            return known[0]

        return clone(module, {}, make)

    def _alike_in(self, block: Block) -> dict[Hashable, list[Operation]] | None:
        key = id(block)
        if key not in self._blocks:
            self._blocks[key] = {} if _is_merged_in(block) else None
        return self._blocks[key]

    def merge(self, ops: Iterable[Operation]) -> bool:
        """Keeps the first of each set of equal ones among all ops, in order; returns if any was erased."""
        is_changed = False
        places = dict[int, _Places]()
        for op in self._changes.merges.taken(ops):
            block = op.parent
            if block is None or not _may_merge(op):
                continue
            alike = self._alike_in(block)
            if alike is not None:
                own = places.get(id(block)) or places.setdefault(id(block), _Places(block))
                is_changed |= self._merge(op, alike.setdefault(_key(op, operands_of(op)), []), own)
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


def _is_merged_in(block: Block) -> bool:
    """True unless an op that may itself be merged combines elements by what is in the block."""
    op = block.parent_op()
    while op is not None:
        if _may_merge(op):
            return False
        op = op.parent_op()
    return True


def _key(op: Operation, operands: Iterable[SSAValue]) -> Hashable:
    properties = op.properties
    return (
        op.__class__,
        *map(id, operands),
        *[number_of(type_of(value)) for value in op.results],
        *[(name, number_of(properties[name])) for name in sorted(properties)],
    )


def _may_merge(op: Operation) -> bool:
    return (
        bool(op.results)
        and SHARDING not in op.attributes
        and _is_mergeable(op.__class__)
        and is_dead_when_unused(op)
    )


@lru_cache(maxsize=4096)
def _is_mergeable(op_class: type[Operation]) -> bool:
    row = TABLE[op_class.name]
    is_merged = row.control is Control.NONE and row.collective is None
    return is_merged and not op_class.name.startswith(_IDENTITIES)


def _has_same_regions(op: Operation, other: Operation) -> bool:
    return all(
        one.is_structurally_equivalent(two) for one, two in zip(op.regions, other.regions, strict=True)
    )
