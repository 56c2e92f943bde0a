"""Op priorities: a tuple of functions, highest priority first.

Each function returns the directions in which axes may propagate along one factor of a step. Round n allows
the union of the first n functions.

Not here: user priorities (`propagate.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from shardy_py.ops import Role
from shardy_py.propagation.flat import Direction, Directions, StepKind
from shardy_py.sharding.rule import FactorType

DirectionOf = Callable[[StepKind, int], Direction]
"""The direction allowed along factor number n of a step."""


def pass_through(step: StepKind, factor: int) -> Direction:
    """Ops that pass elements through, both ways; slices forward only."""
    if step.role is Role.PASS_THROUGH:
        return Direction.BOTH
    return Direction.FORWARD if step.role is Role.SLICE else Direction.NONE


def pass_through_single_use(step: StepKind, factor: int) -> Direction:
    """The same for ops whose operands have no other users, which could require another sharding."""
    return Direction.NONE if step.has_shared_operand else pass_through(step, factor)


def pass_through_factors(step: StepKind, factor: int) -> Direction:
    """Pass-through factors of any op; broadcasts backward only, so that small tensors do not decide."""
    if step.rule is not None and step.rule.factors[factor].type is not FactorType.PASS_THROUGH:
        return Direction.NONE
    return all_but_broadcast_forward(step, factor)


def all_but_broadcast_forward(step: StepKind, factor: int) -> Direction:
    """All factors of all ops; broadcasts backward only."""
    return Direction.BACKWARD if step.role is Role.BROADCAST else Direction.BOTH


def everything(step: StepKind, factor: int) -> Direction:
    """All factors of all ops, both ways."""
    return Direction.BOTH


OP_PRIORITIES: tuple[DirectionOf, ...] = (
    pass_through_single_use,
    pass_through,
    pass_through_factors,
    all_but_broadcast_forward,
    everything,
)
"""The rounds of op-priority propagation."""

ONE_ROUND: tuple[DirectionOf, ...] = (everything,)
"""Propagation without op priorities."""


def directions_in_round(step: StepKind, schedule: tuple[DirectionOf, ...], number: int) -> Directions:
    """The directions of all factors of a step in round `number`, counted from 0.

    Nothing propagates along blocked factors; a barrier has its own direction in every round.
    """
    rule = step.rule
    if rule is None:
        return ()
    if step.role is Role.BARRIER:
        return (Direction(step.barrier_direction),) * len(rule.factors)

    def along(factor: int) -> Direction:
        union = Direction.NONE
        for function in () if rule.factors[factor].is_blocked else schedule[: number + 1]:
            new = function(step, factor)
            if new is not union:  # nearly always: flags take long to unite
                union |= new
        return union

    return tuple(map(along, range(len(rule.factors))))
