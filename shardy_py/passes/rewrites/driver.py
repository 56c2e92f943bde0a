"""Applies rewrites until none applies, as MLIR's greedy driver does: dead ops go, constants rise.

A program to which nothing applies costs one walk. Not here: the rewrites themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult

from shardy_py.dialects.traits import is_dead_when_unused
from shardy_py.ir import erase, operands_of, walk_pre_order
from shardy_py.passes.rewrites.constants import CONSTANTS, raise_constants
from shardy_py.passes.rewrites.folds import FOLDS
from shardy_py.passes.rewrites.record import Rewrite

MAX_ROUNDS = 10
"""MLIR's driver gives up after as many."""


def apply_rewrites(module: ModuleOp, rewrites: Iterable[Rewrite]) -> None:
    """Fold and apply `rewrites` to all ops of `module` until nothing changes."""
    table: dict[str, tuple[Rewrite, ...]] = {}
    for rewrite in (*FOLDS, *rewrites):
        table[rewrite.op_name] = (*table.get(rewrite.op_name, ()), rewrite)
    for _ in range(MAX_ROUNDS):
        if not _round(module, table):
            return


@dataclass(slots=True)
class _Work:
    """What a walk finds to do, in program order."""

    candidates: list[Operation]
    unused: list[Operation]
    constants: list[Operation]


def _round(module: ModuleOp, table: Mapping[str, tuple[Rewrite, ...]]) -> bool:
    work = _find_work(module, table)
    changed = raise_constants(work.constants) if work.constants else False
    changed |= erase_dead(work.unused)
    rewritten = False
    for op in work.candidates:
        # A rewrite of an op before may have erased this one, alone or with what held it.
        if _stands_in(op, module):
            for rewrite in table[op.name]:
                if rewrite.apply(op):
                    rewritten = True
                    break
    if rewritten:
        # Before constants rise in the next round: where one stands depends on what stands before it.
        erase_dead(_find_work(module, {}).unused)
    return changed or rewritten


def _find_work(module: ModuleOp, table: Mapping[str, tuple[Rewrite, ...]]) -> _Work:
    work = _Work([], [], [])
    special = CONSTANTS | table.keys()
    for op in walk_pre_order(module, include_root=False):
        for result in op.results:
            if result.first_use is not None:
                break
        else:
            work.unused.append(op)
        if op.name in special:
            (work.constants if op.name in CONSTANTS else work.candidates).append(op)
    return work


def erase_dead(candidates: Iterable[Operation]) -> bool:
    """Erase those of `candidates` that are dead, and what is dead then; whether there was any."""
    pending = [op for op in candidates if is_dead_when_unused(op)]
    found = bool(pending)
    while pending:
        op = pending.pop()
        if op.parent is None or any(result.first_use is not None for result in op.results):
            continue
        makers = {
            value.op
            for inner in walk_pre_order(op)
            for value in operands_of(inner)
            if isinstance(value, OpResult)
        }
        erase(op)
        pending.extend(maker for maker in makers if maker.parent is not None and is_dead_when_unused(maker))
    return found


def _stands_in(op: Operation, module: ModuleOp) -> bool:
    above: Operation | None = op
    while above is not None and above is not module:
        above = above.parent_op()
    return above is module
