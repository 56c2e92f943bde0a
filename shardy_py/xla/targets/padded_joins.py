"""Concatenations that XLA:TPU makes the maximum of padded operands before it partitions them.

    concatenate(a, b)  ->  maximum(pad(a), pad(b)), padded with the least value

So devices exchange what is at the borders of parts, instead of tiles along another dimension. Its pass
(`tpu-spmd-concat-rewriter`) is not public; from what it makes of 50 concatenations: it does so along a
sharded dimension where an operand has at most one element for each tile, or where no other dimension can take
the tiles. Not here: ends of a tensor in front of it or behind it, which the partitioner recognizes
(`xla/spmd/patterns.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from math import prod
from operator import is_

from shardy_py.mlir.dialects.stablehlo import ConstantOp, PadOp
from shardy_py.ops import OpRecord, TensorType, combiners
from shardy_py.xla.spmd.facet import sent_row
from shardy_py.xla.spmd.movement import without_tiles
from shardy_py.xla.spmd.program import Block, Name, PlannedOp, edited
from shardy_py.xla.spmd.recognized import patterns_of
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of


def with_padded_joins(block: Block) -> Block:
    """Returns the block of a program with maxima of padded operands; the same one if nothing changes."""
    steps: list[PlannedOp] = []
    patterns: dict[Name, object] | None = None
    for step in block.steps:
        if step.blocks:
            blocks = tuple(map(with_padded_joins, step.blocks))
            is_same = all(map(is_, blocks, step.blocks))
            steps.append(step if is_same else edited(step, blocks=blocks))
            continue
        if COMPILED.of(step.record.name).form is NodeForm.JOIN and _is_padded(step):
            if patterns is None:
                patterns = {**patterns_of(block, [sent_row(each.record) for each in block.steps])}
            if step.results[0] not in patterns:
                steps += _padded(step)
                continue
        steps.append(step)
    if len(steps) == len(block.steps) and all(map(is_, steps, block.steps)):
        return block
    return replace(block, steps=tuple(steps))


def _is_padded(step: PlannedOp) -> bool:
    """True for a concatenation along a sharded dimension whose tiles XLA:TPU does not move to another one."""
    (target,), (type_,) = step.targets, step.record.results
    dimension: int = step.record.attributes["dimension"]
    if target is None or type_ is None or len(step.operands) < 2 or target.dimensions[dimension] == 1:
        return False
    sizes = _sizes(step, dimension)
    moved = without_tiles(target, dimension, shape_of(type_), lambda _: True)
    return min(sizes) <= target.dimensions[dimension] or prod(moved.dimensions) < prod(target.dimensions)


def _sizes(step: PlannedOp, dimension: int) -> list[int]:
    """The sizes of the operands along a dimension."""
    return [0 if each is None else each.shape[dimension] or 0 for each in step.record.operands]


def _padded(step: PlannedOp) -> Iterator[PlannedOp]:
    """The steps that stand for a concatenation."""
    (target,), (type_,), (result,) = step.targets, step.record.results, step.results
    dimension: int = step.record.attributes["dimension"]
    assert target is not None
    assert type_ is not None
    scalar = TensorType((), type_.element)
    least: Name = (result, "least")
    none = Tiling.replicated(0, target.device_count)
    yield PlannedOp(OpRecord(ConstantOp.name, (), (scalar,), {}), (), (least,), (none,))
    sizes = _sizes(step, dimension)
    total = sum(sizes)
    names: list[Name] = [(result, f"padded {i}") for i in range(len(sizes))]
    for name, operand, own, end in zip(
        names, step.operands, step.record.operands, accumulate(sizes), strict=True
    ):
        size = 0 if own is None else own.shape[dimension] or 0
        zeros = [0] * len(type_.shape)
        padding = {
            "edge_padding_low": _at(zeros, dimension, end - size),
            "edge_padding_high": _at(zeros, dimension, total - end),
            "interior_padding": tuple(zeros),
        }
        record = OpRecord(PadOp.name, (own, scalar), (type_,), padding)
        yield PlannedOp(record, (operand, least), (name,), (target,), source=step.source)
    greatest = OpRecord(combiners.MAXIMUM.op, (type_, type_), (type_,), {})
    made: Name = names[0]
    for i, name in enumerate(names[1:], 2):
        new: Name = result if i == len(names) else (result, f"joined {i}")
        yield PlannedOp(greatest, (made, name), (new,), (target,), source=step.source)
        made = new


def _at(zeros: list[int], dimension: int, size: int) -> tuple[int, ...]:
    return (*zeros[:dimension], size, *zeros[dimension + 1 :])
