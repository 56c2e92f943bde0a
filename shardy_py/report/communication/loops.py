"""The number of runs of an op, from the trip counts of the loops around it, where they are known.

A trip count is known if a carried value starts at a constant, changes by a constant each iteration, and the
condition compares it with a constant, as in JAX's `scan` and `fori_loop`. Where the condition also needs
something else (`i < n` and not done), the number is a bound. Not here: what runs (`collect.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardy_py.dialects.stablehlo import AndOp
from shardy_py.dialects.traits import constant_of
from shardy_py.graph.calls import functions_top_down
from shardy_py.graph.plain import plain
from shardy_py.graph.record import record_of
from shardy_py.graph.symbols import callee_name, function_name
from shardy_py.ir import operands_of, terminator_of, walk_pre_order
from shardy_py.ops import TABLE, Control

_DIRECTIONS = {"LT": (1, 0), "LE": (1, 1), "GT": (-1, 0), "GE": (-1, 1)}
"""The sign of the step while the comparison holds, and the number of steps of 1 beyond the limit."""
_AND = AndOp.name
Runs = tuple[int, bool]
"""A number of runs, and whether it is known; otherwise it is a bound, or 1 without one."""


def run_counts(module: ModuleOp) -> Callable[[Operation], Runs]:
    """Returns a function from an op of the module to its number of runs in one run of the program.

    Every branch counts as taken; a condition runs once more than its loop body; recursive calls and functions
    that nothing calls run once.
    """
    callers: dict[str, list[Operation]] = {}
    for op in walk_pre_order(module):
        if isinstance(op, CallOp):
            callers.setdefault(callee_name(op), []).append(op)
    counts: dict[int, Runs] = {}

    def of(op: Operation) -> Runs:
        """Multiplies the trip counts of the loops around an op with the runs of its function."""
        times, is_known = 1, True
        block = op.parent
        while block is not None and (around := block.parent_op()) is not None:
            if isinstance(around, FuncOp):
                outer, is_outer_known = counts.get(id(around), (1, True))
                return outer * times, is_known and is_outer_known
            if TABLE[around.name].control is Control.LOOP:
                count, is_count_known = iterations(around)
                is_condition = block.parent is around.regions[0]
                times *= count + (is_condition and is_count_known)
                is_known = is_known and is_count_known
            block = around.parent
        return times, is_known

    for function in functions_top_down(module):
        calls = [of(call) for call in callers.get(function_name(function), ())]
        times = sum(times for times, _ in calls) if calls else 1
        counts[id(function)] = times, all(is_known for _, is_known in calls)
    return of


def iterations(loop: Operation) -> Runs:
    """Returns the number of iterations of a loop with condition and body.

    All conditions that are joined by `and` must hold, so that the smallest of their numbers is a bound.
    """
    condition = terminator_of(loop.regions[0])
    if condition is None or not operands_of(condition):
        return 1, False
    tests = _conjuncts(operands_of(condition)[0])
    counts = [count for test in tests if (count := _iterations_while(test, loop)) is not None]
    return min(counts, default=1), len(counts) == len(tests)


def _conjuncts(test: SSAValue) -> list[SSAValue]:
    """Returns the conditions that `and` joins to a test."""
    if isinstance(test, OpResult) and test.op.name == _AND:
        return [each for operand in operands_of(test.op) for each in _conjuncts(operand)]
    return [test]


def _iterations_while(test: SSAValue, loop: Operation) -> int | None:
    """Returns the number of iterations of a loop for which a comparison holds; None if unknown."""
    body = terminator_of(loop.regions[1])
    comparison = test.op.properties.get("comparison_direction") if isinstance(test, OpResult) else None
    direction = None if comparison is None else _DIRECTIONS.get(str(plain(comparison)))
    if direction is None or not isinstance(test, OpResult) or body is None:
        return None
    counter, limit = operands_of(test.op)[0], scalar_of(operands_of(test.op)[1])
    if not isinstance(counter, BlockArgument) or limit is None or counter.owner.parent_op() is not loop:
        return None
    start = scalar_of(operands_of(loop)[counter.index])
    step = _step(operands_of(body)[counter.index], counter.index, loop)
    sign, extra = direction
    if start is None or step is None or step * sign <= 0:
        return None
    return max(0, int(-(-(sign * (limit - start) + extra) // (sign * step))))


def _step(value: SSAValue, index: int, loop: Operation) -> int | float | None:
    """Returns what is added to carried value `index` each iteration, given its next value."""
    if not isinstance(value, OpResult) or not TABLE[value.op.name].is_folded:
        return None
    from shardy_py.compute import compute_of  # many modules, needed for few programs

    operands, carried = operands_of(value.op), loop.regions[1].blocks[0].args[index]
    places = [place for place, operand in enumerate(operands) if operand is carried]
    others = [scalar_of(operand) for place, operand in enumerate(operands) if place not in places]
    if len(places) != 1 or len(others) != 1 or others[0] is None:
        return None
    record = record_of(value.op)
    steps: set[int | float] = set()
    largest = (1 << 62) - 1 if isinstance(others[0], int) else float(1 << 20)
    for old in (type(others[0])(1), type(others[0])(2), largest):  # constant if the op adds or subtracts
        inputs = [others[0], others[0]]
        inputs[places[0]] = old
        (new,) = compute_of(record)(record, *(np.array([number]) for number in inputs)).tolist()
        steps.add(new - old)
        if len(steps) > 1:
            return None
    return steps.pop()


def scalar_of(value: SSAValue) -> int | float | None:
    """Returns the number of a constant scalar; None for other values."""
    constant = constant_of(value)
    attribute: Any = None if constant is None else constant.properties["value"]
    if value.type.get_shape() or not hasattr(attribute, "get_values"):  # pyright: ignore
        return None
    (number,) = attribute.get_values()
    return number if isinstance(number, int | float) else None
