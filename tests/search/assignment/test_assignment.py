"""Problems of assignment: the contest's example, random ones against all solutions, and the command."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from shardy_py import ShardyError
from shardy_py.cli.suggest import main
from shardy_py.search.assignment import (
    FORBIDDEN,
    AssignmentProblem,
    Edge,
    StrategyNode,
    best_by_elimination,
    problem_of,
    prove,
    pruned,
    results_table,
    solution_of,
    solution_text,
    solve,
    tables_of,
)
from shardy_py.search.assignment.descent import descend

EXAMPLE = Path(__file__).parent / "example.json"


def seeds(count: int) -> list[Any]:
    """The first ten, and others for slow tests: all solutions of each problem are tried."""
    return [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, count))]


def random_problem(seed: int) -> AssignmentProblem:
    rng = Random(seed)
    counts = [rng.choice([1, 2, 3]) for _ in range(7)]
    nodes = []
    for count in counts:
        start = rng.randrange(6)
        costs = tuple(rng.choice([rng.randrange(50), FORBIDDEN if n else 7]) for n in range(count))
        usages = tuple(rng.randrange(10) for _ in range(count))
        nodes.append(StrategyNode(costs, usages, (start, start + rng.randrange(4))))
    edges = []
    for _ in range(9):
        first, second = rng.randrange(7), rng.randrange(7)
        size = counts[first] * counts[second]
        edges.append(Edge(first, second, tuple(rng.choice([0, rng.randrange(60)]) for _ in range(size))))
    return AssignmentProblem(f"random {seed}", tuple(nodes), tuple(edges), rng.choice([None, 18, 24]))


def best_of_all(problem: AssignmentProblem) -> float | None:
    tried = product(*(range(len(node.costs)) for node in problem.nodes))
    return min((problem.cost(each) for each in tried if problem.is_feasible(each)), default=None)


def test_costs_of_the_contests_example() -> None:
    problem = problem_of(EXAMPLE.read_text())
    assert problem.cost((0, 1, 2, 0, 0)) == 495
    assert problem.is_feasible((0, 1, 2, 0, 0))
    assert problem.cost((0, 0, 1, 1, 0)) == 415
    assert not problem.is_feasible((0, 0, 1, 1, 0))
    assert problem.peak_usage((0, 0, 1, 1, 0)) == 55


def test_the_contests_example_is_solved() -> None:
    pytest.importorskip("highspy")
    outcome = solve(problem_of(EXAMPLE.read_text()), 10)
    assert outcome.solution == (0, 0, 2, 1, 0)
    assert outcome.is_optimal
    assert (outcome.gap, outcome.bound) == (0.0, outcome.cost)
    assert solution_of(solution_text(outcome)) == outcome.solution


@pytest.mark.parametrize("seed", seeds(30))
def test_random_problems_have_the_best_of_all_solutions(seed: int) -> None:
    pytest.importorskip("highspy")
    problem = random_problem(seed)
    outcome, expected = solve(problem, 5), best_of_all(problem)
    assert outcome.cost == expected
    assert outcome.is_optimal == (expected is not None)
    assert expected is None or outcome.bound <= expected


@pytest.mark.parametrize("seed", seeds(30))
def test_descent_finds_good_solutions(seed: int) -> None:
    problem = random_problem(seed)
    tables, expected = tables_of(problem), best_of_all(problem)
    found = descend(tables, 0.05)
    assert expected is None or tables.least <= expected
    if found is not None and problem.is_feasible(found):
        assert expected is not None
        assert expected <= problem.cost(found) <= 2 * expected + 60


def test_excluded_solutions_are_not_found_again() -> None:
    pytest.importorskip("highspy")
    tables = tables_of(problem_of(EXAMPLE.read_text()))
    first = prove(tables, 5).solution
    assert first is not None
    second = prove(tables, 5, excluded=[dict(enumerate(first))]).solution
    assert second is not None
    assert second != first
    assert tables.problem.cost(second) >= tables.problem.cost(first)


def test_a_limit_that_nothing_is_within() -> None:
    given = json.loads(EXAMPLE.read_text())
    given["problem"]["usage_limit"] = 0
    pytest.importorskip("highspy")
    outcome = solve(problem_of(json.dumps(given)), 5)
    assert outcome.solution is None
    assert outcome.gap is None
    assert "none" in results_table([(problem_of(json.dumps(given)), outcome)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "invalid problem of iopddl: JSONDecodeError"),
        ("{}", "KeyError 'problem'"),
        (EXAMPLE.read_text().replace("[30, 40]", "[30]"), "edge 0: expected 2 costs; got 1"),
        (EXAMPLE.read_text().replace("[3, 4]", "[3, 9]"), r"edge 4: expected nodes below 5; got \(3, 9\)"),
        (
            EXAMPLE.read_text().replace("[10, 10]", "[10, 1" + "0" * 5000 + "]"),
            "invalid problem of iopddl: Val",
        ),
        (
            EXAMPLE.read_text().replace("[10, 10]", "[10, 1e400]"),
            "ValueError a number that is not an integer",
        ),
        (EXAMPLE.read_text().replace("[10, 10]", "[10, true]"), "TypeError bool instead of a number"),
        ("[" * 100_000, "invalid problem of iopddl: RecursionError"),
        (EXAMPLE.read_text().replace("[10, 10]", "[10]"), "node 3: expected a usage for each of its costs"),
    ],
)
def test_invalid_problems(text: str, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        problem_of(text)


def test_the_command_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("highspy")
    output = tmp_path / "solution.json"
    assert main(["--iopddl", str(EXAMPLE), "--time-limit", "5", "-o", str(output)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["problem", "nodes", "edges", "cost", "bound", "gap", "seconds"]
    assert lines[1].split()[:6] == ["example", "5", "5", "445", "445", "optimal"]
    assert output.read_text() == "[0, 0, 2, 1, 0]\n"
    assert main(["--iopddl", str(EXAMPLE), str(EXAMPLE), "-o", str(output)]) == 1
    assert main([]) == 1


def test_the_solver_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("highspy")
    solve(problem_of(EXAMPLE.read_text()), 5)
    assert capfd.readouterr() == ("", "")


def test_descent_removes_forbidden_pairs_one_after_the_other() -> None:
    """A ring of nodes with a planted solution: each edge allows the planted pair and most of the others."""
    random, count, strategies = Random(5), 300, 6
    planted = [random.randrange(strategies) for _ in range(count)]
    nodes = tuple(StrategyNode((1.0,) * strategies, (0,) * strategies, (0, 0)) for _ in range(count))

    def edge(first: int, second: int) -> Edge:
        kept = planted[first] * strategies + planted[second]
        forbidden = (k != kept and random.random() < 0.45 for k in range(strategies**2))
        return Edge(first, second, tuple(float(FORBIDDEN) if each else 0.0 for each in forbidden))

    edges = tuple(edge(n, (n + step) % count) for n in range(count) for step in (1, 3))
    problem = AssignmentProblem("ring", nodes, edges, None)
    found = descend(tables_of(problem), 60, restarts=3000)
    assert found is not None
    assert problem.is_feasible(found)


def random_tree(seed: int) -> AssignmentProblem:
    """A problem whose nodes have at most two earlier neighbors, without a limit of usage."""
    rng = Random(seed)
    counts = [rng.choice([1, 2, 3, 4]) for _ in range(6)]
    nodes = [StrategyNode(tuple(rng.randrange(30) for _ in range(n)), (0,) * n) for n in counts]
    pairs = {(rng.randrange(n), n) for n in range(1, 6)} | {(n - 1, n) for n in range(1, 6)}
    edges = [
        Edge(i, j, tuple(rng.choice([0, rng.randrange(40)]) for _ in range(counts[i] * counts[j])))
        for i, j in sorted(pairs)
    ]
    return AssignmentProblem(f"tree {seed}", tuple(nodes), tuple(edges))


@pytest.mark.parametrize("seed", seeds(40))
def test_elimination_finds_the_best_of_all_solutions(seed: int) -> None:
    problem = random_tree(seed)
    found = best_by_elimination(tables_of(problem))
    assert found is None or problem.cost(found) == best_of_all(problem)
    assert found is not None or seed not in range(10)


@pytest.mark.parametrize("seed", seeds(40))
@pytest.mark.parametrize("has_bound", [False, True])
def test_pruned_strategies_are_in_no_better_solution(seed: int, has_bound: bool) -> None:
    problem = random_problem(seed)
    expected = best_of_all(problem)
    most = expected if has_bound and expected is not None else float("inf")
    left = pruned(tables_of(problem), most)
    tried = (left.original(each) for each in product(*(range(len(kept)) for kept in left.kept)))
    assert min((problem.cost(s) for s in tried if problem.is_feasible(s)), default=None) == expected


def test_dominated_strategies_are_pruned() -> None:
    nodes = (StrategyNode((1, 9, 2), (1, 1, 5)), StrategyNode((0, 1), (1, 1)))
    problem = AssignmentProblem("small", nodes, (Edge(0, 1, (0, 1, 0, 1, 0, 0)),))
    left = pruned(tables_of(problem))
    assert [kept.tolist() for kept in left.kept] == [[0], [0]]
    assert left.reduced((0, 0)) == (0, 0)
    assert left.reduced((1, 0)) is None
