"""The reduction operators of sdy in the bodies of ops that combine values, such as reduces and scatters."""

from __future__ import annotations

from xdsl.ir import Operation, OpResult, Region

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.ir import operands_of, terminator_of
from shardy_py.ops import REDUCTIONS, TABLE


def body_reduction(region: Region) -> str | None:
    """The reduction in the body of an op, if it is the same known one for all results; else None."""
    terminator = terminator_of(region)
    if terminator is None:
        return None
    makers = [value.op.name if isinstance(value, OpResult) else "" for value in operands_of(terminator)]
    found = {TABLE[maker].combiner for maker in makers}
    combiner = found.pop() if len(found) == 1 else None
    return combiner.reduction if combiner is not None and combiner.is_operator else None


def reduction_after(op: Operation) -> str | None:
    """The reduction of the all-reduces after an op that combines values; None if there are none."""
    found = body_reduction(op.regions[0])
    if found is None and len(op.results) > 1 and Behaviour.MIXED_VALUES_ARE_NOT_SUMMED.holds:
        return None
    return found or REDUCTIONS[0]
