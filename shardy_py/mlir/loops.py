"""The number of runs of an op, from the trip counts of the loops around it, where they are known.

A trip count is known if the condition follows from constants: a counter that changes by a constant and is
compared with a bound, as in JAX's `scan` and `fori_loop`, or scalars that are computed one iteration after
another. Where the condition also needs something else (`i < n` and not done), the number is a bound. Options
may give it where it is not known (`mlir/trip_counts.py`). Not here: what runs (`collect.py`), the numbers of
scalars (`scalars.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardy_py.mlir.calls import functions_top_down
from shardy_py.mlir.dialects.stablehlo import AndOp, ConvertOp
from shardy_py.mlir.ir import find_ops, operands_of, terminator_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.scalars import Number, Scalars, computed
from shardy_py.mlir.symbols import callee_name, function_name
from shardy_py.mlir.trip_counts import given_trip_count
from shardy_py.ops import TABLE, Control

_DIRECTIONS = {"LT": (1, 0), "LE": (1, 1), "GT": (-1, 0), "GE": (-1, 1)}
"""The sign of the step while the comparison holds, and the number of steps of 1 beyond the limit."""
_MIRRORED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE"}
_CONVERSION = ConvertOp.name
_MOST_FOLLOWED = 4096
"""The most iterations that are computed one by one."""
_AND = AndOp.name
Runs = tuple[int, bool]
"""A number of runs, and whether it is known; otherwise it is a bound, or 1 without one."""


def run_counts(module: ModuleOp, *, has_calls: bool = True) -> Callable[[Operation], Runs]:
    """Returns a function from an op of the module to its number of runs in one run of the program.

    Every branch counts as taken; a condition runs once more than its loop body; recursive calls and functions
    that nothing calls run once. has_calls: False if it is known that there are no calls.
    """
    callers: dict[str, list[Operation]] = {}
    for op in find_ops(module, CallOp.name) if has_calls else ():
        callers.setdefault(callee_name(op), []).append(op)
    counts: dict[int, Runs] = {}
    loops: dict[Operation, Runs] = {}
    scalars = Scalars()

    def of(op: Operation) -> Runs:
        """Multiplies the trip counts of the loops around an op with the runs of its function."""
        times, is_known = 1, True
        block = op.parent
        while block is not None and (around := block.parent_op()) is not None:
            if isinstance(around, FuncOp):
                outer, is_outer_known = counts.get(id(around), (1, True))
                return outer * times, is_known and is_outer_known
            if TABLE[around.name].control is Control.LOOP:
                if around not in loops:
                    loops[around] = iterations(around, scalars)
                count, is_count_known = loops[around]
                is_condition = block.parent is around.regions[0]
                times *= count + (is_condition and is_count_known)
                is_known = is_known and is_count_known
            block = around.parent
        return times, is_known

    for function in functions_top_down(module) if callers else ():
        calls = [of(call) for call in callers.get(function_name(function), ())]
        times = sum(times for times, _ in calls) if calls else 1
        counts[id(function)] = times, all(is_known for _, is_known in calls)
    return of


def iterations(loop: Operation, scalars: Scalars | None = None) -> Runs:
    """Returns the number of iterations of a loop with condition and body.

    All conditions that are joined by `and` must hold, so that the smallest of their numbers is a bound.
    scalars: of the module, for those who have them.
    """
    condition = terminator_of(loop.regions[0])
    if condition is None or not operands_of(condition):
        return 1, False
    known = scalars or Scalars()
    tests = _conjuncts(operands_of(condition)[0])
    counts = [count for test in tests if (count := _iterations_while(test, loop, known)) is not None]
    if len(counts) == len(tests):
        return min(counts), True
    given = given_trip_count(loop)
    if given is not None:
        return min((given, *counts)), True
    return min(counts, default=1), False


def _conjuncts(test: SSAValue) -> list[SSAValue]:
    """Returns the conditions that `and` joins to a test."""
    if isinstance(test, OpResult) and test.op.name == _AND:
        return [each for operand in operands_of(test.op) for each in _conjuncts(operand)]
    return [test]


def _iterations_while(test: SSAValue, loop: Operation, scalars: Scalars) -> int | None:
    """Returns the number of iterations of a loop for which a condition holds; None if unknown."""
    fixed = scalars.of(test)
    if fixed is not None:
        return None if fixed else 0
    counted = _counted(test, loop, scalars)
    return _followed(test, loop, scalars) if counted is None else counted


def _counted(test: SSAValue, loop: Operation, scalars: Scalars) -> int | None:
    """Returns the number of iterations by a counter that is compared with a bound; None: unknown."""
    body = terminator_of(loop.regions[1])
    comparison = test.op.properties.get("comparison_direction") if isinstance(test, OpResult) else None
    if comparison is None or not isinstance(test, OpResult) or body is None:
        return None
    direction, sides = str(plain(comparison)), [*map(_unconverted, operands_of(test.op))]
    if not _is_carried(sides[0], loop):
        direction, sides = _MIRRORED.get(direction, ""), sides[::-1]
    counter, limit = sides[0], scalars.of(sides[1])
    if not isinstance(counter, BlockArgument) or not _is_carried(counter, loop) or limit is None:
        return None
    start = scalars.of(operands_of(loop)[counter.index])
    step = _step(_unconverted(operands_of(body)[counter.index]), counter.index, loop, scalars)
    if start is None or not step:
        return None
    if direction == "NE":
        count, rest = divmod(limit - start, step)
        return int(count) if count >= 0 and not rest else None
    sign, extra = _DIRECTIONS.get(direction, (0, 0))
    if step * sign <= 0:
        return None
    return max(0, int(-(-(sign * (limit - start) + extra) // (sign * step))))


def _unconverted(value: SSAValue) -> SSAValue:
    """The value behind conversions."""
    while isinstance(value, OpResult) and value.op.name == _CONVERSION:
        value = operands_of(value.op)[0]
    return value


def _is_carried(value: SSAValue, loop: Operation) -> bool:
    return isinstance(value, BlockArgument) and value.owner.parent_op() is loop


def _step(value: SSAValue, index: int, loop: Operation, scalars: Scalars) -> Number | None:
    """Returns what is added to carried value `index` each iteration, given its next value."""
    if not isinstance(value, OpResult) or not TABLE[value.op.name].is_folded:
        return None
    operands, carried = [*map(_unconverted, operands_of(value.op))], loop.regions[1].blocks[0].args[index]
    places = [place for place, operand in enumerate(operands) if operand is carried]
    others = [scalars.of(operand) for place, operand in enumerate(operands) if place not in places]
    if len(places) != 1 or len(others) != 1 or others[0] is None:
        return None
    steps: set[Number] = set()
    for old in (100, 101, others[0]):  # constant if the op adds or subtracts
        inputs = [others[0], others[0]]
        inputs[places[0]] = type(others[0])(old)
        new = computed(value.op, inputs)
        if new is None:
            return None
        steps.add(new - old)
        if len(steps) > 1:
            return None
    return steps.pop()


def _followed(test: SSAValue, loop: Operation, scalars: Scalars) -> int | None:
    """Returns the number of iterations, computed one by one; None: no end, or more than scalars."""
    end = terminator_of(loop.regions[1])
    needed = None if end is None else _needed(test, loop, operands_of(end))
    if end is None or needed is None:
        return None
    blocks = [region.blocks[0] for region in loop.regions]
    numbers = {index: scalars.of(operands_of(loop)[index]) for index in needed}
    states = set[tuple[Number, ...]]()
    for count in range(_MOST_FOLLOWED):
        state = {index: number for index, number in numbers.items() if number is not None}
        key = tuple(state.values())
        if len(state) < len(numbers) or key in states:
            return None
        states.add(key)
        inside: list[dict[SSAValue, Number]] = [
            {block.args[i]: number for i, number in state.items()} for block in blocks
        ]
        holds = scalars.of(test, inside[0])
        if not holds:
            return None if holds is None else count
        numbers = {index: scalars.of(operands_of(end)[index], inside[1]) for index in needed}
    return None


def _needed(test: SSAValue, loop: Operation, following: Sequence[SSAValue]) -> set[int] | None:
    """Returns which carried values a condition depends on; None if not on these alone, or on too much."""
    found: set[int] = set()
    pending, seen = [test], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if _is_carried(value, loop) and isinstance(value, BlockArgument):
            if value.index not in found:
                found.add(value.index)
                pending.append(following[value.index])
        elif isinstance(value, OpResult) and value.owner.parent_op() is loop:  # pyright: ignore
            if value.op.regions or len(seen) > _MOST_FOLLOWED:
                return None
            pending += operands_of(value.op)
    return found
