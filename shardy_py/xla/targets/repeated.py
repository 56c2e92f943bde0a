"""Steps that compute what another one computed: XLA:TPU has one of them before it partitions the program.

    mean(x), and mean(x) again for the variance of x  ->  one, summed among devices once

Equal are steps of one computation with the same attributes and regions, of the same values, whose results are
sharded alike. Nothing merges the sums that the partitioner makes: each has a computation of its own. Source:
openxla/xla, xla/service/hlo_cse.cc; XLA:CPU and XLA:GPU run it after the partitioner. Not here: what they
simplify.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from operator import is_

from xdsl.ir import Operation

from shardy_py.mlir.dialects.traits import is_constant, is_dead_when_unused
from shardy_py.xla.spmd.from_program import source_op
from shardy_py.xla.spmd.program import Block, Name, PlannedOp, edited


def without_repetition(block: Block) -> Block:
    """Returns the block of a program with one of each set of equal steps; the same one if nothing changes."""
    return _merged(block, {})


def _merged(block: Block, alias: dict[Name, Name]) -> Block:
    """The block with one of each set of equal steps; alias: receives values that are others."""
    firsts: dict[Hashable, PlannedOp] = {}
    steps: list[PlannedOp] = []
    append = steps.append
    for step in block.steps:
        operands = step.operands
        own = step
        for name in operands:
            if name in alias:
                own = _reading(step, alias)
                break
        if step.blocks:
            inner = tuple([_merged(each, alias) for each in step.blocks])
            if not all(map(is_, inner, step.blocks)):
                own = _reading(step, alias, inner)
        elif (op := source_op(step)) is not None and step.results:
            # Constants read nothing, so that their values part them.
            value = op.properties.get("value") if not operands and is_constant(op) else None
            first = firsts.setdefault((step.plan_key, own.operands, value), own)
            if first is not own and _computes_alike(op, source_op(first)):
                results = step.results
                if len(results) == 1:
                    alias[results[0]] = first.results[0]
                else:
                    alias |= zip(results, first.results, strict=True)
                continue
        append(own)
    results = tuple([alias.get(name, name) for name in block.results])
    if results == block.results and len(steps) == len(block.steps) and all(map(is_, steps, block.steps)):
        return block
    return replace(block, steps=tuple(steps), results=results)


def _computes_alike(op: Operation, first: Operation | None) -> bool:
    """True if two ops of one record, which read the same values, make the same."""
    if first is None or op.properties != first.properties or not is_dead_when_unused(op):
        return False
    regions = op.regions
    return not regions or all(
        map(lambda one, two: one.is_structurally_equivalent(two), regions, first.regions)
    )


def _reading(step: PlannedOp, alias: dict[Name, Name], blocks: tuple[Block, ...] = ()) -> PlannedOp:
    """The step with operands that others stand for, and other blocks."""
    operands = tuple([alias.get(name, name) for name in step.operands])
    return edited(step, operands=operands, blocks=blocks or None)
