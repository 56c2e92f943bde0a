"""A case whose index is a constant is the branch that it chooses."""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import Operation, OpResult

from shardy_py.ir import erase, operands_of, place_before, replace_uses, take_out, terminator_of
from shardy_py.passes.rewrites.constants import CONSTANTS
from shardy_py.passes.rewrites.record import Rewrite


def _chosen_branch(op: Operation) -> bool:
    index = operands_of(op)[0]
    if not isinstance(index, OpResult) or index.op.name not in CONSTANTS:
        return False
    value = cast(Any, index.op.properties["value"])
    number = int(next(iter(value.get_values())))
    if not 0 <= number < len(op.regions):
        return False
    block = op.regions[number].blocks[-1]
    terminator = terminator_of(op.regions[number])
    assert terminator is not None
    inner = block.first_op
    while inner is not None and inner is not terminator:
        following = inner.next_op
        take_out(inner)
        place_before(inner, op)
        inner = following
    for result, returned in zip(op.results, operands_of(terminator), strict=True):
        replace_uses(result, returned)
    erase(op)
    return True


CONTROL_FLOW_REWRITES: tuple[Rewrite, ...] = (Rewrite("stablehlo.case", _chosen_branch),)
