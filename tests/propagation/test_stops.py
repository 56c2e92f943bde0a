"""Why a step stops an axis: each kind by hand, and on random programs none without a kind."""

from __future__ import annotations

from collections import Counter

import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.passes.import_.constraints import synchronize_groups
from shardy_py.passes.pipelines import import_passes, inline_passes
from shardy_py.passes.runner import run_passes
from shardy_py.propagation.aggressive import aggressive
from shardy_py.propagation.basic import StepOptions, Strategy, basic
from shardy_py.propagation.flat import UNSHARDABLE, Direction
from shardy_py.propagation.graph.build import build_program
from shardy_py.propagation.journal import Journal
from shardy_py.propagation.propagate import PropagationOptions, propagate
from shardy_py.propagation.rules import rule_of
from shardy_py.propagation.step import Step
from shardy_py.propagation.stops import Stop, StopKind, stop
from shardy_py.sharding import (
    AxisRef,
    DimensionSharding,
    Factor,
    Mesh,
    MeshAxis,
    ShardingRule,
    TensorSharding,
)
from tests.propagation.random_programs import random_program

MESHES = {"mesh": Mesh((MeshAxis("x", 2), MeshAxis("y", 2), MeshAxis("z", 4)))}
X, Y, Z = map(AxisRef, "xyz")
IDENTITY = ShardingRule.identity((8, 8))


def sharding(*dimensions: tuple[AxisRef, ...] | None, **axes: tuple[AxisRef, ...]) -> TensorSharding:
    """Open dimensions with these axes; None: empty and closed."""
    given = tuple(DimensionSharding(d or (), is_closed=d is None) for d in dimensions)
    return TensorSharding("mesh", given, axes.get("replicated", ()), axes.get("unreduced", ()))


def stopped(
    source: TensorSharding,
    target: TensorSharding | None,
    axis: AxisRef = X,
    *,
    rule: ShardingRule = IDENTITY,
    factor: int = 0,
    direction: Direction = Direction.BOTH,
    strategy: Strategy = aggressive,
) -> Stop:
    options = StepOptions(rule.factor_sizes, (direction,) * len(rule.factors))
    return stop(Step(rule, strategy, options), (source, target), MESHES, 1, factor, axis)


GIVEN = sharding((X,), ())


@pytest.mark.parametrize("strategy", [basic, aggressive])
@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (sharding(None, ()), Stop(StopKind.CLOSED, 1, X, (), 0)),
        (sharding((), (X,)), Stop(StopKind.USED, 1, X, (X,), 1)),
        (sharding((), (), replicated=(X,)), Stop(StopKind.REPLICATED, 1, X, (X,), 0)),
        (sharding((), (), unreduced=(X,)), Stop(StopKind.UNREDUCED, 1, X, (X,), 0)),
        (sharding((Y,), ()), Stop(StopKind.CONFLICT, 1, X, (Y,), 0)),
        (sharding((), ()), Stop(StopKind.NOT_TAKEN, 1, X)),
        (None, Stop(StopKind.NOT_TAKEN, 1, X)),
    ],
)
def test_target(target: TensorSharding | None, expected: Stop, strategy: Strategy) -> None:
    assert stopped(GIVEN, target, strategy=strategy) == expected


def test_direction() -> None:
    empty = sharding((), ())
    assert stopped(GIVEN, empty, direction=Direction.BACKWARD).kind is StopKind.DIRECTION
    assert stopped(GIVEN, empty, direction=Direction.NONE).kind is StopKind.DIRECTION
    assert stopped(GIVEN, empty, direction=Direction.FORWARD).kind is StopKind.NOT_TAKEN


def test_mesh() -> None:
    other = TensorSharding(Mesh((MeshAxis("x", 4),)), (DimensionSharding(),) * 2)
    assert stopped(GIVEN, other) == Stop(StopKind.MESH, -1, X)


def test_the_axis_that_would_have_to_stand_before() -> None:
    found = stopped(sharding((Y, X), ()), sharding((), (Y,)), X)
    assert found == Stop(StopKind.USED, 1, Y, (Y,), 1)


def test_non_divisible_and_elsewhere() -> None:
    """Source [i, j] of sizes 6 and 4, target [ij]: the factor i of it is not the last of its dimension."""
    factors = (Factor(6), Factor(4))
    rule = ShardingRule(factors, (((0,), (1,)),), (((0, 1),),))
    target = TensorSharding("mesh", (DimensionSharding(),))
    assert stopped(sharding((Z,), ()), target, Z, rule=rule).kind in (
        StopKind.NOT_TAKEN,  # the part of "z" that divides 6 goes over
        StopKind.NON_DIVISIBLE,
    )
    half = TensorSharding("mesh", (DimensionSharding((X,)),))
    assert stopped(sharding((X, Z), ()), half, Z, rule=rule) == Stop(StopKind.NON_DIVISIBLE, 1, Z, (), 0)
    assert stopped(GIVEN, target, X, rule=rule, factor=1).kind is StopKind.ELSEWHERE


def test_stride() -> None:
    """The minor factor of [ij] cannot be sharded while the major one is not fully."""
    rule = ShardingRule((Factor(6), Factor(4)), (((0,), (1,)),), (((0, 1),),))
    target = TensorSharding("mesh", (DimensionSharding(),))
    found = stopped(sharding((), (X,)), target, X, rule=rule, factor=1)
    assert found == Stop(StopKind.STRIDE, 1, X, (), 0)


def test_basic_asks_all_tensors() -> None:
    rule = ShardingRule.identity((8,), 2)
    options = StepOptions(rule.factor_sizes, (Direction.BOTH,))
    given, closed, empty = (
        TensorSharding("mesh", (d,))
        for d in (DimensionSharding((X,)), DimensionSharding((), True), DimensionSharding())
    )
    found = stop(Step(rule, basic, options), (given, closed, empty), MESHES, 2, 0, X)
    assert found == Stop(StopKind.CLOSED, 1, X, (), 0)


@pytest.mark.parametrize("strategy", ["basic", "aggressive"])
def test_random_programs(strategy: str) -> None:
    """Wherever a tensor of a step has an axis along a factor and another one has not, a kind says why."""
    kinds: Counter[StopKind] = Counter()
    for seed in range(40):
        module = run_passes(parse_module(random_program(seed)), import_passes() + inline_passes())
        synchronize_groups(module)
        program = build_program(module, rule_of)
        journal = Journal()
        propagate(program.flat, program.meshes, PropagationOptions(strategy), journal=journal)
        tables = journal.stages[-1].tables
        for number, slots in enumerate(program.flat.step_slots):
            table = tables[journal.kinds[number]]
            if table is not None and UNSHARDABLE not in slots:
                shardings = tuple(map(journal.sharding, slots))
                kinds.update(stops_of(table.step, shardings, journal))
    assert kinds[StopKind.UNKNOWN] == 0
    assert min(kinds[kind] for kind in (StopKind.CLOSED, StopKind.USED, StopKind.CONFLICT)) > 0


def stops_of(step: Step, shardings: tuple[TensorSharding | None, ...], journal: Journal) -> Counter[StopKind]:
    found: Counter[StopKind] = Counter()
    passage = step.passage(shardings, journal.meshes)
    for factor in range(len(step.rule.factors)) if passage is not None else ():
        assert passage is not None
        along = {i: t.factors[factor] for i, t in enumerate(passage.before.tensors)}
        have = {i: f.axes for i, f in along.items() if f is not None}
        for axis in {axis for axes in have.values() for axis in axes}:
            for target, axes in have.items():
                if not any(axis.overlaps(other) for other in axes):
                    found[stop(step, shardings, journal.meshes, target, factor, axis).kind] += 1
    return found
