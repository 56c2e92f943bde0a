"""The certificate of a coarse model: all strategies, or none; against all solutions."""

from __future__ import annotations

from itertools import product

import pytest

from shardy_py import Mesh, P, Program
from shardy_py.frontends.builder import Argument, build, einsum, ops, tensor
from shardy_py.hardware import placement_of
from shardy_py.search.assignment import AssignmentProblem
from shardy_py.search.suggest import CoarseModel, coarse_costs
from shardy_py.search.suggest_coarse import solved
from shardy_py.search.suggest_scoring import Scorer


def model_of(program: Program, memory: int | None = None) -> CoarseModel:
    (mesh,) = program.meshes.values()
    scorer = Scorer(program, "mesh", mesh, placement_of("tpu-v5p"), frozenset(), lambda _: None)
    return scorer.coarse(memory)


def best_of_all(problem: AssignmentProblem) -> float:
    tried = product(*(range(len(node.costs)) for node in problem.nodes))
    return min(problem.cost(each) for each in tried if problem.is_feasible(each))


def argument(*shape: int) -> Argument:
    return Argument(tensor(shape, "bf16"), P())


def mlp(*shapes: tuple[int, ...], **axes: int) -> Program:
    return build(
        lambda x, up, down: ops.tanh(x @ up) @ down, *(argument(*s) for s in shapes), mesh=Mesh.of(axes)
    )


@pytest.mark.parametrize(
    ("shapes", "axes"),
    [
        (((6, 2), (2, 4)), {"a": 2, "b": 2, "c": 2, "d": 2}),
        (((2, 6), (6, 2)), {"a": 2, "b": 3, "c": 2, "d": 2}),
        (((2, 2), (2, 2)), {"a": 2, "b": 2, "c": 2, "d": 2, "e": 2}),
        (((8, 2), (2, 2)), {"a": 8, "b": 2, "c": 2, "d": 2, "e": 2}),
    ],
)
def test_the_best_of_all_solutions_is_found(
    shapes: tuple[tuple[int, ...], ...], axes: dict[str, int]
) -> None:
    program = build(lambda x, w: x @ w, *(argument(*s) for s in shapes), mesh=Mesh.of(axes))
    model = model_of(program)
    best = best_of_all(model.problem)
    outcome, choices = solved(model, 20, 0)
    assert choices
    assert outcome.bound == outcome.cost == pytest.approx(best)
    assert outcome.is_optimal


def test_bounds_with_a_limit_of_memory_are_below_all_solutions() -> None:
    pytest.importorskip("highspy")
    program = build(lambda x, w: x @ w, argument(6, 2), argument(2, 4), mesh=Mesh.of(a=2, b=2, c=2, d=2))
    whole = sum(max(node.usages) for node in model_of(program).problem.nodes)
    model = model_of(program, int(0.4 * whole))
    best = best_of_all(model.problem)
    outcome, _ = solved(model, 2, 0)
    assert outcome.bound is not None
    assert outcome.bound <= best * (1 + 1e-9)
    assert outcome.cost is not None
    assert outcome.cost >= best * (1 - 1e-9)


@pytest.mark.parametrize("axes", [{"a": 8, "b": 2, "c": 2, "d": 2}, dict.fromkeys("abcde", 2)])
def test_the_first_axes_reach_all_dimensions(axes: dict[str, int]) -> None:
    model = model_of(mlp((2, 6, 4096), (4096, 16384), (16384, 4096), **axes))
    for own in model.strategies:
        for position in {p for each in own for p in each} - {None}:
            assert all(any(each[axis] == position for each in own) for axis in range(1, len(axes)))
    outcome, _ = solved(model, 20, 0)
    assert outcome.is_optimal
    assert "solved exactly" in str(outcome)


def test_no_certificate_where_strategies_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    program = mlp((2, 6, 4096), (4096, 16384), (16384, 4096), a=8, b=2, c=2, d=2)
    complete, _ = solved(model_of(program), 20, 0)
    for name, most in (("_MOST_ENUMERATED", 60), ("_MOST_PAIRS", 9_000)):
        with monkeypatch.context() as changed:
            changed.setattr(coarse_costs, name, most)
            outcome, _ = solved(model_of(program), 20, 0)
        assert outcome.left_out
        assert (outcome.bound, outcome.is_optimal) == (None, False)
        assert "not solved exactly" in str(outcome)
        assert outcome.cost is not None
        assert complete.cost is not None
        assert complete.cost <= outcome.cost


def test_a_mesh_of_one_device() -> None:
    program = build(lambda x, w: einsum("bd,df->bf", x, w), argument(4, 8), argument(8, 4), mesh=Mesh.of(a=1))
    outcome, _ = solved(model_of(program), 20, 0)
    assert outcome.is_optimal
