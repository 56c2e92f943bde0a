"""The JSON of the ASPLOS 2025 contest on intra-operator parallelism (google/iopddl), and a table of results.

Not here: how problems are solved (`solve.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import cast

from shardy_py.base.errors import ShardyError
from shardy_py.report.tables import table
from shardy_py.search.assignment.problem import AssignmentOutcome, AssignmentProblem, Edge, StrategyNode

_MOST = 10**18
"""The limit of a cost or usage, so that sums of many fit 64 bits as floats do."""


def problem_of(text: str, file: str = "<problem>") -> AssignmentProblem:
    """Returns the problem of a JSON text.

    Raises:
        ShardyError: the text is not JSON of a problem.
    """
    try:
        given = json.loads(text)["problem"]
        nodes, edges = given["nodes"], given["edges"]
        made = [
            StrategyNode(_numbers(costs), _numbers(usages), (_number(start), _number(end)))
            for costs, usages, (start, end) in zip(
                nodes["costs"], nodes["usages"], nodes["intervals"], strict=True
            )
        ]
        joined = [
            Edge(_number(first), _number(second), _numbers(costs))
            for (first, second), costs in zip(edges["nodes"], edges["costs"], strict=True)
        ]
        limit = given.get("usage_limit")
        problem = AssignmentProblem(
            str(given["name"]), tuple(made), tuple(joined), None if limit is None else _number(limit)
        )
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError, AttributeError) as error:
        raise ShardyError(f"{file}: invalid problem of iopddl: {type(error).__name__} {error}") from None
    _check(problem, file)
    return problem


def _numbers(values: Iterable[object]) -> tuple[int, ...]:
    return tuple(map(_number, values))


def _number(value: object) -> int:
    """An integer of the contest's files. Raises ValueError for another one, TypeError for other values."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{type(value).__name__} instead of a number")
    if not abs(value) <= _MOST or value != int(value):
        raise ValueError("a number that is not an integer from -10^18 to 10^18")
    return int(value)


def _check(problem: AssignmentProblem, file: str) -> None:
    counts = [len(node.costs) for node in problem.nodes]
    for number, node in enumerate(problem.nodes):
        if not node.costs or len(node.usages) != len(node.costs):
            raise ShardyError(
                f"{file}: node {number}: expected a usage for each of its costs, and one at least"
            )
    for number, edge in enumerate(problem.edges):
        ends = edge.first, edge.second
        if not all(0 <= end < len(counts) for end in ends):
            raise ShardyError(f"{file}: edge {number}: expected nodes below {len(counts)}; got {ends}")
        pairs = counts[edge.first] * counts[edge.second]
        if len(edge.costs) != pairs:
            raise ShardyError(f"{file}: edge {number}: expected {pairs} costs; got {len(edge.costs)}")


def solution_text(outcome: AssignmentOutcome) -> str:
    """Returns a solution as the contest's programs print it: `[0, 1, ...]`; `[]` if there is none."""
    return json.dumps(list(outcome.solution or ()))


def solution_of(text: str, file: str = "<solution>") -> tuple[int, ...]:
    """Returns the solution of such a text.

    Raises:
        ShardyError: it is not a list of numbers.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ShardyError(f"{file}: invalid solution: {error}") from None
    if not isinstance(found, list) or not all(type(each) is int for each in cast("list[object]", found)):
        raise ShardyError(f"{file}: invalid solution: expected a list of numbers")
    return tuple(cast("list[int]", found))


def results_table(results: Sequence[tuple[AssignmentProblem, AssignmentOutcome]]) -> str:
    """Returns a row for each problem: its size, cost, proved bound, gap and seconds."""
    rows = [("problem", "nodes", "edges", "cost", "bound", "gap", "seconds")]
    for problem, outcome in results:
        size = f"{len(problem.nodes):,}", f"{len(problem.edges):,}"
        cost = "none" if outcome.cost is None else f"{outcome.cost:,.0f}"
        gap = "-" if outcome.gap is None else "optimal" if outcome.is_optimal else f"{outcome.gap:.1%}"
        bound = f"{outcome.bound:,.0f}" if abs(outcome.bound) < float("inf") else "-"
        rows.append((problem.name, *size, cost, bound, gap, f"{outcome.seconds:.1f}"))
    return table(rows)
