"""How often an op runs: the turns of the loops around it, where they can be read off the program.

A loop counts when a carried value starts at a constant, changes by a constant each turn, and the condition
compares it with a constant, as JAX's `scan` and `fori_loop` are lowered. Not here: what runs (`collect.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardy_py.graph.plain import plain
from shardy_py.graph.symbols import callee_name, function_name
from shardy_py.ir import operands_of, terminator_of, walk_pre_order

_CONSTANTS = ("stablehlo.constant", "sdy.constant")
_DIRECTIONS = {"LT": (1, 0), "LE": (1, 1), "GT": (-1, 0), "GE": (-1, 1)}
"""Whether to count up or down while the comparison holds, and how many steps of 1 beyond the limit."""
Times = tuple[int, bool]
"""How often, and whether that is known."""


def trip_counts(module: ModuleOp) -> Callable[[Operation], Times]:
    """A function that tells how often an op of the module runs when the program runs once.

    Every branch counts as taken; a condition runs once more than its loop turns; what calls itself counts
    once. A function that nothing calls runs once.
    """
    callers: dict[str, list[Operation]] = {}
    for op in walk_pre_order(module):
        if op.name == "func.call":
            callers.setdefault(callee_name(op), []).append(op)
    known: dict[int, Times] = {}

    def inside(op: Operation) -> tuple[Operation, int, bool]:
        """The function around an op, how often the op runs in one run of it, whether that is known."""
        times, is_known = 1, True
        block = op.parent
        while block is not None:
            around = block.parent_op()
            if around is None or around.name == "func.func":
                return around or op, times, is_known
            if around.name == "stablehlo.while":
                turns = loop_turns(around)
                is_condition = block.parent is around.regions[0]
                times *= 1 if turns is None else turns + is_condition
                is_known = is_known and turns is not None
            block = around.parent
        return op, times, is_known

    def of_function(function: Operation) -> Times:
        """Callers first, without recursion: chains of calls may be long."""
        waiting = [function]
        begun: set[int] = set()
        while waiting:
            current = waiting[-1]
            calls = callers.get(function_name(current), ()) if current.name == "func.func" else ()
            sites = [inside(call) for call in calls]
            missing = [site for site, _, _ in sites if id(site) not in known and id(site) not in begun]
            begun.add(id(current))
            if missing:
                waiting.extend(missing)
                continue
            waiting.pop()
            if id(current) not in known:
                found = [(known.get(id(site), (1, True)), times, sure) for site, times, sure in sites]
                known[id(current)] = (
                    sum(outer * times for (outer, _), times, _ in found) if found else 1,
                    all(outer_sure and sure for (_, outer_sure), _, sure in found),
                )
        return known[id(function)]

    def of(op: Operation) -> Times:
        function, times, is_known = inside(op)
        outer, is_outer_known = of_function(function)
        return outer * times, is_known and is_outer_known

    return of


def loop_turns(loop: Operation) -> int | None:
    """The number of turns of a `stablehlo.while`; None where it cannot be told."""
    condition, body = (terminator_of(region) for region in loop.regions)
    if condition is None or body is None or not operands_of(condition):
        return None
    test = operands_of(condition)[0]
    if not (isinstance(test, OpResult) and test.op.name == "stablehlo.compare"):
        return None
    counter, limit = operands_of(test.op)[0], _number(operands_of(test.op)[1])
    direction = _DIRECTIONS.get(str(plain(test.op.properties["comparison_direction"])))
    if not isinstance(counter, BlockArgument) or limit is None or direction is None:
        return None
    if counter.owner.parent_op() is not loop:
        return None
    start = _number(operands_of(loop)[counter.index])
    step = _step(operands_of(body)[counter.index], counter.index, loop)
    sign, extra = direction
    if start is None or step is None or step * sign <= 0:
        return None
    return max(0, -(-(sign * (limit - start) + extra) // (sign * step)))


def _step(value: SSAValue, index: int, loop: Operation) -> int | None:
    """What is added to carried value `index` each turn, of its value for the next one."""
    if not (isinstance(value, OpResult) and value.op.name in ("stablehlo.add", "stablehlo.subtract")):
        return None
    first, second = operands_of(value.op)
    if value.op.name == "stablehlo.subtract":
        step = _number(second) if _is_carried(first, index, loop) else None
        return None if step is None else -step
    for old, step in ((first, second), (second, first)):
        if _is_carried(old, index, loop):
            return _number(step)
    return None


def _is_carried(value: SSAValue, index: int, loop: Operation) -> bool:
    return isinstance(value, BlockArgument) and value.index == index and value.owner.parent_op() is loop


def _number(value: SSAValue) -> int | None:
    """The integer that a value always is; None if it is none, or not known."""
    if not (isinstance(value, OpResult) and value.op.name in _CONSTANTS):
        return None
    attribute: Any = value.op.properties["value"]
    if value.type.get_shape() or not hasattr(attribute, "get_values"):  # pyright: ignore
        return None
    (number,) = attribute.get_values()
    return number if isinstance(number, int) else None
