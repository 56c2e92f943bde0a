"""Chains of communication from one sharding to another."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.reshard.steps import (
    AllReduce,
    ReplicatedToUnreduced,
    Reshard,
    ShardedToUnreduced,
    Step,
    steps_between,
)
from tests.propagation.notation import MESHES, axes, sharding


def steps(source: str | None, target: str | None, *, with_reshard: bool = True) -> tuple[Step, ...]:
    left, right = (sharding(text) if text is not None else None for text in (source, target))
    return steps_between(left, right, MESHES, with_reshard=with_reshard)


def test_reshard_only_when_asked_for() -> None:
    assert steps("[{a}]", "[{b}]") == (Reshard(sharding("[{b}]")),)
    assert steps("[{a}]", "[{b}]", with_reshard=False) == ()
    assert steps("[{a}]", "[{a, ?}]") == ()


def test_without_target_everything_is_gathered() -> None:
    assert steps("[{a}]", None) == (Reshard(sharding("[{}]")),)
    assert steps(None, None) == steps(None, "[{?}]") == ()


def test_unreduced_axes_that_go_are_reduced() -> None:
    assert steps("[{a}] unreduced={b, c}", "[{a}] unreduced={c}", with_reshard=False) == (
        AllReduce(sharding("[{a}] unreduced={c}"), axes("b")),
    )


def test_part_of_an_unreduced_axis_is_reduced() -> None:
    assert steps("[{}] unreduced={b}", "[{}] unreduced={b:(1)2}") == (
        AllReduce(sharding("[{}] unreduced={b:(1)2}"), axes("b:(2)2")),
    )


def test_reduced_then_resharded() -> None:
    assert steps("[{a}] unreduced={b}", "[{c}]") == (
        AllReduce(sharding("[{a}]"), axes("b")),
        Reshard(sharding("[{c}]")),
    )


def test_replicated_axes_become_unreduced() -> None:
    assert steps("[{a}] unreduced={c}", "[{a}] unreduced={b, c}") == (
        ReplicatedToUnreduced(sharding("[{a}] unreduced={b, c}"), axes("b")),
    )


def test_sharding_axes_become_unreduced() -> None:
    assert steps("[{a, b}, {}]", "[{a}, {}] unreduced={b}") == (
        ShardedToUnreduced(sharding("[{a}, {}] unreduced={b}"), (axes("b"), ())),
    )


def test_minor_part_of_a_sharding_axis_becomes_unreduced() -> None:
    assert steps("[{b}]", "[{b:(1)2}] unreduced={b:(2)2}") == (
        ShardedToUnreduced(sharding("[{b:(1)2}] unreduced={b:(2)2}"), (axes("b:(2)2"),)),
    )


def test_all_kinds_in_one_chain() -> None:
    assert steps("[{a, b}, {c}]", "[{a}, {}] unreduced={b, t}") == (
        Reshard(sharding("[{a, b}, {}]")),
        ReplicatedToUnreduced(sharding("[{a, b}, {}] unreduced={t}"), axes("t")),
        ShardedToUnreduced(sharding("[{a}, {}] unreduced={b, t}"), (axes("b"), ())),
    )


def test_different_meshes_cannot_carry_unreduced_axes() -> None:
    with pytest.raises(ShardyError, match="different meshes for unreduced axes"):
        steps_between(sharding("[{}] unreduced={a}"), sharding("[{}]", "other"), MESHES, with_reshard=False)
    with pytest.raises(ShardyError, match="Input and output shardings have different meshes"):
        steps_between(sharding("[{}]"), sharding("[{}] unreduced={a}", "other"), MESHES, with_reshard=False)
