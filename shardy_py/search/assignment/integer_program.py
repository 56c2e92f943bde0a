"""A problem as an integer program that HiGHS solves: a bound, and often the proof of the best solution.

Binary variables choose strategies; for each edge, variables of pairs sum up to those of its ends. Rows for
the limit of usage are added when a solution exceeds it at a moment. Not here: problems that are too large
(`descent.py`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.search.assignment.problem import Solution
from shardy_py.search.assignment.tables import Tables

_MOST_MOMENTS = 40
"""Moments whose rows are added at once: those that exceed the limit most."""
_SCALE = 1e6
"""The largest cost that HiGHS is given."""


@dataclass(frozen=True)
class Proved:
    """The best solution that HiGHS found, None if none in time; no solution costs less than `bound`."""

    solution: Solution | None
    bound: float
    is_optimal: bool


def has_highs() -> bool:
    """Returns whether HiGHS is installed."""
    return find_spec("highspy") is not None


def highs() -> Any:
    """Returns the module of HiGHS.

    Raises:
        ShardyError: it is not installed.
    """
    try:
        import highspy
    except ImportError:
        raise ShardyError.unsupported(
            "integer programs without highspy", remedy="pip install 'shardy_py[suggest]'"
        ) from None
    return highspy


@contextmanager
def _without_output() -> Generator[None]:
    """Discards what C++ writes to standard output: HiGHS prints its version before it has options."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # standard output is closed
        yield
        return
    try:
        with open(os.devnull, "wb") as sink:
            os.dup2(sink.fileno(), 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def prove(
    tables: Tables,
    seconds: float,
    start: Solution | None = None,
    excluded: Sequence[dict[int, int]] = (),
    *,
    gap: float = 0.0,
) -> Proved:
    """Returns what HiGHS finds in this time.

    start: a solution to begin with. excluded: strategies by node that no solution may have all. gap: the part
    of the cost by which the bound may be lower for the solution to count as the best one.

    Raises:
        ShardyError: HiGHS is not installed.
    """
    program = _Program(tables, gap)
    for each in excluded:
        program.exclude(each)
    end = monotonic() + seconds
    bound, solution, is_optimal = tables.least, start, False
    while (left := end - monotonic()) > 0:
        found = program.solved(left, solution)
        bound = max(bound, found.bound)
        if found.solution is None:
            break
        exceeded = program.exceeded(found.solution)
        if not exceeded.size:
            solution, is_optimal = found.solution, found.is_optimal
            break
        program.limit_usage(exceeded)
    return Proved(solution, bound, is_optimal)


class _Program:
    def __init__(self, tables: Tables, gap: float) -> None:
        self.highs = highs()
        self.tables = tables
        counts = [len(costs) for costs in tables.costs]
        self.offsets: NDArray[np.int64] = np.cumsum([0, *counts], dtype=np.int64)
        finite = [c[np.isfinite(c)] for c in (*tables.costs, *(m.ravel() for m in tables.edges.values()))]
        largest = max((float(np.abs(each).max()) for each in finite if each.size), default=1.0)
        self.scale = max(largest, 1e-300) / _SCALE
        with _without_output():
            self.solver = self.highs.Highs()
        self.solver.setOptionValue("output_flag", False)
        self.solver.setOptionValue("mip_rel_gap", gap)
        self.solver.setOptionValue("threads", 1)
        self._build()

    def _build(self) -> None:
        """Passes all columns and rows at once."""
        tables = self.tables
        offsets: list[int] = [int(each) for each in self.offsets]
        choices = offsets[-1]
        node_costs = np.concatenate(tables.costs)
        costs = [np.where(np.isfinite(node_costs), node_costs, 0.0)]
        upper = [np.isfinite(node_costs).astype(float)]
        rows: list[NDArray[np.int64]] = [np.repeat(np.arange(len(tables.costs)), np.diff(self.offsets))]
        columns: list[NDArray[np.int64]] = [np.arange(choices)]
        values: list[NDArray[np.float64]] = [np.ones(choices)]
        row, column = len(tables.costs), choices
        for (first, second), matrix in tables.edges.items():
            height, width = matrix.shape
            i, j = np.nonzero(np.isfinite(matrix))
            pairs = np.arange(column, column + len(i))
            costs.append(matrix[i, j])
            upper.append(np.ones(len(i)))
            rows += [row + i, row + height + j, _range(row, height), _range(row + height, width)]
            columns += [pairs, pairs, _range(offsets[first], height), _range(offsets[second], width)]
            values += [np.ones(2 * len(i)), -np.ones(height + width)]
            row, column = row + height + width, column + len(i)
        right = np.zeros(row)
        right[: len(tables.costs)] = 1.0
        self._pass(np.concatenate(costs) / self.scale, np.concatenate(upper), right, rows, columns, values)
        binary = self.highs.HighsVarType.kInteger
        self.solver.changeColsIntegrality(
            choices, np.arange(choices, dtype=np.int32), np.array([binary] * choices)
        )

    def _pass(
        self,
        costs: NDArray[np.float64],
        upper: NDArray[np.float64],
        right: NDArray[np.float64],
        rows: list[NDArray[np.int64]],
        columns: list[NDArray[np.int64]],
        values: list[NDArray[np.float64]],
    ) -> None:
        row, column, value = np.concatenate(rows), np.concatenate(columns), np.concatenate(values)
        order = np.lexsort((column, row))
        model = self.highs.HighsLp()
        model.num_col_, model.num_row_ = len(costs), len(right)
        model.col_cost_, model.col_lower_, model.col_upper_ = costs, np.zeros(len(costs)), upper
        model.row_lower_, model.row_upper_ = right, right
        model.a_matrix_.format_ = self.highs.MatrixFormat.kRowwise
        counts = np.bincount(row, minlength=len(right))
        model.a_matrix_.start_ = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        model.a_matrix_.index_ = column[order].astype(np.int32)
        model.a_matrix_.value_ = value[order]
        self.solver.passModel(model)

    def exclude(self, chosen: dict[int, int]) -> None:
        """Adds a row: at least one of these strategies is not chosen."""
        columns = np.array([self.offsets[node] + s for node, s in chosen.items()], np.int32)
        self.solver.addRow(-np.inf, len(columns) - 1.0, len(columns), columns, np.ones(len(columns)))

    def exceeded(self, solution: Solution) -> NDArray[np.int64]:
        """The moments at which a solution exceeds the limit most."""
        limit, tables = self.tables.problem.usage_limit, self.tables
        if limit is None:
            return np.empty(0, np.int64)
        changes = np.zeros(tables.moments + 2, np.int64)
        for (first, last), usages, strategy in zip(tables.times, tables.usages, solution, strict=True):
            if first <= last:
                changes[first] += usages[strategy]
                changes[last + 1] -= usages[strategy]
        used = np.cumsum(changes)
        over = np.flatnonzero(used > limit)
        return over[np.argsort(-used[over], kind="stable")][:_MOST_MOMENTS]

    def limit_usage(self, moments: NDArray[np.int64]) -> None:
        """Adds a row for each of these moments, in parts of the limit."""
        tables = self.tables
        limit = float(tables.problem.usage_limit or 1)
        for moment in moments:
            alive = np.flatnonzero((tables.times[:, 0] <= moment) & (moment <= tables.times[:, 1]))
            ranges: list[NDArray[np.int64]] = [np.arange(self.offsets[n], self.offsets[n + 1]) for n in alive]
            columns = np.concatenate(ranges)
            values = np.concatenate([tables.usages[n] for n in alive]) / limit
            used = values > 0
            columns, values = columns[used].astype(np.int32), values[used]
            self.solver.addRow(-np.inf, 1.0, len(columns), columns, values)

    def solved(self, seconds: float, start: Solution | None) -> Proved:
        """Solves what is there so far."""
        if start is not None:
            columns = (self.offsets[:-1] + np.array(start)).astype(np.int32)
            self.solver.setSolution(len(columns), columns, np.ones(len(columns)))
        self.solver.setOptionValue("time_limit", self.solver.getRunTime() + seconds)
        self.solver.run()
        info = self.solver.getInfo()
        is_optimal = self.solver.getModelStatus() == self.highs.HighsModelStatus.kOptimal
        bound = info.mip_dual_bound * self.scale if np.isfinite(info.mip_dual_bound) else -np.inf
        if info.primal_solution_status != self.highs.SolutionStatus.kSolutionStatusFeasible:
            return Proved(None, bound, is_optimal=False)
        values = np.array(self.solver.getSolution().col_value[: int(self.offsets[-1])])
        parts = np.split(values, self.offsets[1:-1])
        return Proved(tuple(int(part.argmax()) for part in parts), bound, is_optimal)


def _range(start: int, count: int) -> NDArray[np.int64]:
    return np.arange(start, start + count, dtype=np.int64)
