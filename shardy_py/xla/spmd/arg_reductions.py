"""Reductions to the least or largest element beside one that also finds its place: they are its first result.

    argmin(x), min(x)  ->  reduce(x, iota)[1], reduce(x, iota)[0]

Source: `HandleReduce` in openxla/xla, xla/hlo/transforms/simplifiers/algebraic_simplifier.cc: XLA:GPU runs it
before it partitions, XLA:CPU after that. Not here: the rows that replace them (`xla/targets/simplified.py`,
`xla/buffers/host_compute.py`).
"""

from __future__ import annotations

from xdsl.ir import BlockArgument

from shardy_py.mlir.dialects.stablehlo import CompareOp, MaximumOp, MinimumOp, ReduceOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.record import combiners_of
from shardy_py.ops.reads import integers
from shardy_py.xla.spmd.from_program import source_op
from shardy_py.xla.spmd.program import PlannedOp

_VALUE, _BEFORE = 0, 2
"""The arguments of a combiner that also finds places: an element, and the one before it."""


def finds_places(step: PlannedOp) -> bool:
    """True for a reduction of elements and their places."""
    return step.record.name == ReduceOp.name and len(step.operands) == 4 and len(step.results) == 2


def is_found_by(step: PlannedOp, other: PlannedOp) -> bool:
    """True if a reduction makes the first result of another one of the same elements, which finds places."""
    own, op = source_op(step), source_op(other)
    if own is None or op is None or step.record.name != ReduceOp.name or len(step.operands) != 2:
        return False
    records = step.record, other.record
    if len({integers(record.attributes, "dimensions") for record in records}) > 1:
        return False
    combiner = combiners_of(own)[0]
    if combiner not in (MaximumOp.name, MinimumOp.name):
        return False
    directions = ("GT", "GE") if combiner == MaximumOp.name else ("LT", "LE")
    for inner in op.regions[0].blocks[0].ops:
        if isinstance(inner, CompareOp):
            given = [value.index for value in operands_of(inner) if isinstance(value, BlockArgument)]
            if given == [_VALUE, _BEFORE]:
                return str(plain(inner.properties["comparison_direction"])) in directions
    return False
