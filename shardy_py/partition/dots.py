"""Matrix products for which resharding the result is cheaper than resharding an operand.

    lhs [{}, {"x"}], rhs [{"x"}, {"y"}], result [{}, {"x"}], on "x" and "y"

The operands agree. The result has the reduced axis "x" where the operands have "y": instead of gathering "y"
on the operand, compute the result as [{}, {"y"}], reduce it, and reshard it, which is smaller.
"""

from __future__ import annotations

from shardy_py.partition.reshard_plan import OpShardings, ResultReshard
from shardy_py.sharding import Axes, FactorType, Projection
from shardy_py.sharding.axis_lists import overlaps


def dot_result_reshard(op: OpShardings) -> ResultReshard | None:
    """The reshard of the result of a dot with two operands; None if it is not cheaper.

    It is if the operands agree, the result differs from one of them along one factor, where that operand is
    sharded and at least as large as the result, and the result has the reduced axes there.
    """
    wanted = op.results[0]
    if wanted is None:
        return None
    projection = op.project()
    found = _conflict(op, projection)
    if found is None:
        return None
    factor, axes, reduced = found
    have = projection.tensors[2].factors[factor]
    if have is None or not have.axes or have.axes != reduced:
        return None
    result = projection.tensors[2].with_factor(factor, axes)
    tensors = (*projection.tensors[:2], result)
    return ResultReshard(op.sharding_in(Projection(tensors, 2), 2), (wanted,))


def _conflict(op: OpShardings, projection: Projection) -> tuple[int, Axes, Axes] | None:
    """The only factor along which result and operand differ, the operand's axes there, and the reduced axes.

    None if there is none, or several, or if resharding the result there is not cheaper.
    """
    lhs, rhs, result = projection.tensors
    found: tuple[int, Axes] | None = None
    reduced: Axes = ()
    seen: Axes = ()
    for index, factor in enumerate(op.rule.factors):
        left, right = lhs.factors[index], rhs.factors[index]
        if left is not None and right is not None:
            axes, size = left.axes, max(op.sizes[0], op.sizes[1])
            if axes != right.axes:
                return None
            if factor.type is FactorType.REDUCTION:
                reduced += axes
                continue
        else:
            one = left or right
            axes, size = (one.axes if one is not None else ()), op.sizes[0 if left is not None else 1]
            if overlaps(axes, seen):
                return None
            seen += axes
        made = result.factors[index]
        if made is not None and made.axes != axes:
            if not axes or found is not None or op.sizes[2] > size:
                return None
            found = (index, axes)
    return None if found is None else (*found, reduced)
