"""How often an op runs: the turns of the loops around it, where they can be read off the program.

A loop counts when a carried value starts at a constant, grows by a constant each turn, and the condition
compares it with a constant, as JAX's `scan` and `fori_loop` are lowered. Not here: what runs (`collect.py`).
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.graph.calls import callee_name, function_name
from shardy_py.graph.plain import plain
from shardy_py.graph.walk import terminator_of, walk_pre_order

_CONSTANTS = ("stablehlo.constant", "sdy.constant")
_EXTRA = {"LT": 0, "LE": 1}
Times = tuple[int, bool]
"""How often, and whether that is known."""


def trip_counts(module: ModuleOp) -> Callable[[Operation], Times]:
    """A function that tells how often an op of the module runs when the program runs once."""
    callers: dict[str, list[Operation]] = {}
    for op in walk_pre_order(module):
        if op.name == "func.call":
            callers.setdefault(callee_name(op), []).append(op)
    known: dict[int, Times] = {}

    def of_block(block: Block | None) -> Times:
        if block is None:
            return 1, True
        found = known.get(id(block))
        if found is None:
            known[id(block)] = 1, True  # a recursive call counts once
            found = known[id(block)] = around(block.parent_op())
        return found

    def around(op: Operation | None) -> Times:
        if op is None:
            return 1, True
        if op.name == "func.func":
            calls = [of_block(call.parent) for call in callers.get(function_name(op), ())]
            return (sum(times for times, _ in calls), all(sure for _, sure in calls)) if calls else (1, True)
        times, is_known = of_block(op.parent)
        if op.name != "stablehlo.while":
            return times, is_known
        turns = loop_turns(op)
        return (times, False) if turns is None else (times * turns, is_known)

    return lambda op: of_block(op.parent)


def loop_turns(loop: Operation) -> int | None:
    """The number of turns of a `stablehlo.while`; None where it cannot be told."""
    condition, body = (terminator_of(region) for region in loop.regions)
    if condition is None or body is None or not condition._operands:
        return None
    test = condition._operands[0]
    if not (isinstance(test, OpResult) and test.op.name == "stablehlo.compare"):
        return None
    counter, limit = test.op._operands[0], _number(test.op._operands[1])
    extra = _EXTRA.get(str(plain(test.op.properties["comparison_direction"])))
    if not isinstance(counter, BlockArgument) or limit is None or extra is None:
        return None
    start = _number(loop._operands[counter.index])
    step = _step(body._operands[counter.index], counter.index, loop)
    if start is None or step is None or step <= 0:
        return None
    return max(0, -(-(limit + extra - start) // step))


def _step(value: SSAValue, index: int, loop: Operation) -> int | None:
    if not (isinstance(value, OpResult) and value.op.name == "stablehlo.add"):
        return None
    old, step = value.op._operands
    is_counter = isinstance(old, BlockArgument) and old.index == index and old.owner.parent_op() is loop
    return _number(step) if is_counter else None


def _number(value: SSAValue) -> int | None:
    """The integer that a value always is; None if it is none, or not known."""
    if not (isinstance(value, OpResult) and value.op.name in _CONSTANTS):
        return None
    attribute: Any = value.op.properties["value"]
    if value._type.get_shape() or not hasattr(attribute, "get_values"):  # pyright: ignore
        return None
    (number,) = attribute.get_values()
    return number if isinstance(number, int) else None
