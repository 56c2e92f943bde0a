from __future__ import annotations

import pytest

from shardy_py.ops import Role
from shardy_py.propagation.flat import Direction, StepKind
from shardy_py.propagation.schedule import ONE_ROUND, OP_PRIORITIES, directions_in_round
from tests.propagation.notation import ADD, DOT, rule, step

NONE, FORWARD, BACKWARD, BOTH = Direction.NONE, Direction.FORWARD, Direction.BACKWARD, Direction.BOTH


def rounds(kind: StepKind) -> list[tuple[Direction, ...]]:
    return [directions_in_round(kind, OP_PRIORITIES, n) for n in range(len(OP_PRIORITIES))]


def test_pass_through_ops_come_first_unless_operands_are_shared() -> None:
    both = (BOTH, BOTH)
    assert rounds(step(ADD, Role.PASS_THROUGH)) == [both] * 5
    assert rounds(step(ADD, Role.PASS_THROUGH, shared=True)) == [(NONE, NONE), *[both] * 4]


def test_slices_go_forward_first() -> None:
    assert [d[0] for d in rounds(step(ADD, Role.SLICE))] == [FORWARD, FORWARD, BOTH, BOTH, BOTH]


def test_broadcasts_go_backward_before_forward() -> None:
    kind = step("i -> ij, i=8, j=8", Role.BROADCAST)
    assert [d[0] for d in rounds(kind)] == [NONE, NONE, BACKWARD, BACKWARD, BOTH]


def test_pass_through_factors_come_before_others() -> None:
    dot = step(DOT, reduction="k")
    assert rounds(dot)[2] == (BOTH, BOTH, NONE)
    assert rounds(dot)[3] == (BOTH, BOTH, BOTH)
    assert rounds(dot)[:2] == [(NONE,) * 3] * 2


@pytest.mark.parametrize("number", range(5))
def test_blocked_factors_and_barriers_ignore_the_round(number: int) -> None:
    blocked = step(ADD, Role.PASS_THROUGH, blocked="i")
    assert directions_in_round(blocked, OP_PRIORITIES, number) == (NONE, BOTH)
    barrier = StepKind(rule("i -> i, i=8"), Role.BARRIER, barrier_direction=2)
    assert directions_in_round(barrier, OP_PRIORITIES, number) == (BACKWARD,)


def test_without_priorities_everything_goes() -> None:
    assert directions_in_round(step(DOT, reduction="k"), ONE_ROUND, 0) == (BOTH,) * 3
    assert directions_in_round(StepKind(None), ONE_ROUND, 0) == ()
