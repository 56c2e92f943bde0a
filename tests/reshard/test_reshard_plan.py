"""Reshards around one op."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.reshard.reshard_plan import OpShardings, ReshardPlan, minimal_plan, reshard_plan
from shardy_py.reshard.steps import AllReduce
from shardy_py.sharding import Mesh, MeshAxis, ShardingRule, TensorSharding
from tests.propagation.notation import ADD, DOT, MESH, MESHES, axes, rule, sharding, shardings, short

PRODUCT = rule(DOT, reduction="k")


def op(rule_: ShardingRule, given: str, sizes: tuple[int, ...] | None = None) -> OpShardings:
    values = shardings(given)
    count = len(rule_.operands)
    return OpShardings(rule_, values[:count], values[count:], sizes or (64,) * len(values), "mesh", MESH)


def text(plan: ReshardPlan) -> list[str]:
    lines = [f"operand {i}: {', '.join(map(short, chain))}" for i, chain in plan.operands]
    lines += [f"result {i}: {short(r.made)} seen {', '.join(map(short, r.seen))}" for i, r in plan.results]
    return lines + [f"reduce {', '.join(map(str, step.axes))}".replace('"', "") for step in plan.all_reduces]


def test_agreement_needs_nothing() -> None:
    assert text(reshard_plan(op(rule(ADD), "[{a}, {}]; [{a}, {}]; [{a}, {}]"), MESHES)) == []


def test_the_odd_one_is_resharded() -> None:
    assert text(reshard_plan(op(rule(ADD), "[{a}, {}]; [{b}, {}]; [{a}, {}]"), MESHES)) == [
        "operand 1: [{a}, {}]"
    ]
    assert text(reshard_plan(op(rule(ADD), "[{a}, {}]; [{a}, {}]; [{b}, {}]"), MESHES)) == [
        "result 0: [{a}, {}] seen [{b}, {}]"
    ]


def test_result_without_sharding_is_seen_replicated() -> None:
    assert text(reshard_plan(op(rule(ADD), "[{a}, {}]; [{a}, {}]; -"), MESHES)) == [
        "result 0: [{a}, {}] seen [{}, {}]"
    ]


def test_later_results_without_sharding_are_seen_open() -> None:
    pair = rule("ij, ij -> ij, ij, i=8, j=8")
    assert text(reshard_plan(op(pair, "[{a}, {}]; [{a}, {}]; -; -"), MESHES)) == [
        "result 0: [{a}, {}] seen [{}, {}]",
        "result 1: [{a}, {}] seen [{?}, {?}]",
    ]


def test_contraction_is_reduced() -> None:
    assert text(reshard_plan(op(PRODUCT, "[{}, {a}]; [{a}, {b}]; [{}, {b}]"), MESHES)) == ["reduce a"]


def test_axes_left_unreduced_are_not_reduced() -> None:
    plan = reshard_plan(op(PRODUCT, "[{}, {a, c}]; [{a, c}, {}]; [{}, {}] unreduced={c}"), MESHES)
    assert text(plan) == ["reduce a"]


def test_minimal_plan_reduces_only_beside_unreduced_axes() -> None:
    assert minimal_plan(op(PRODUCT, "[{}, {a}]; [{a}, {b}]; [{}, {b}]")) == ReshardPlan()
    plan = minimal_plan(op(PRODUCT, "[{}, {a, c}]; [{a, c}, {}]; [{}, {}] unreduced={c}"))
    assert plan.all_reduces == (AllReduce(sharding("[{}, {}] unreduced={c}"), axes("a")),)


def test_minimal_plan_needs_operands_that_agree() -> None:
    with pytest.raises(ShardyError, match="incompatible sharding along reduction factors"):
        minimal_plan(op(PRODUCT, "[{}, {a, c}]; [{c}, {}]; [{}, {}] unreduced={c}"))


def test_another_order_of_devices_is_resharded() -> None:
    meshes = {**MESHES, "turned": Mesh((MeshAxis("a", 2),), (1, 0)), "line": Mesh((MeshAxis("a", 2),))}
    operand, result = sharding("[{a}]", "turned"), sharding("[{a}]", "line")
    given = OpShardings(rule("i -> i, i=8"), (operand,), (result,), (8, 8), "line", meshes["line"])
    plan = reshard_plan(given, meshes)
    assert plan.operands == ((0, (TensorSharding("line", result.dimensions),)),)


@pytest.mark.parametrize("wanted", ["[{}, {a}] unreduced={b}", "[{}, {}] unreduced={b}"])
def test_results_are_not_unreduced_along_axes_that_shard_them(wanted: str) -> None:
    """Shardy refuses the op that it makes: it is sharded along b, and unreduced along it."""
    operand = "[{}, {b}]"
    plan = reshard_plan(op(rule(ADD), f"{operand}; {operand}; {wanted}"), MESHES)
    assert text(plan) == [f"result 0: {operand} seen {wanted}"]
