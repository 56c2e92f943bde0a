"""Trip counts of loops in a compiled program.

XLA writes the count that it knows beside the loop (`known_trip_count`). Else the counter is followed: by its
initial value, what the body adds to it, and the condition, also inside fusions.

    while (i = 0; i < 6) { i = i + 1 }  ->  6
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from shardy_py.hlo.collectives.attributes import computation_names
from shardy_py.hlo.text import Computation, HloModule, Instruction

_KNOWN = re.compile(r'known_trip_count\\?":\s*\{\\?"n\\?":\s*\\?"(\d{1,18})\\?"')
_INTEGER = re.compile(r"\s*(-?\d{1,18}|true|false)\s*")
_SAME = ("bitcast", "copy", "convert", "reshape", "broadcast")
_MOST_STEPS = 200
_MOST_TRIPS = 1 << 40
_COMPARED = {
    "LT": int.__lt__,
    "LE": int.__le__,
    "GT": int.__gt__,
    "GE": int.__ge__,
    "EQ": int.__eq__,
    "NE": int.__ne__,
}
_ARITHMETIC = {"add": int.__add__, "subtract": int.__sub__, "multiply": int.__mul__, "and": int.__and__}


def trip_count(module: HloModule, around: Computation, loop: Instruction) -> int | None:
    """Returns how often the body of a loop runs each time; None if the program does not tell.

    around: the computation that the loop is in.
    """
    if known := _KNOWN.search(str(loop.attributes.get("backend_config", ""))):
        return int(known[1])
    body, condition = (module.by_name.get(str(loop.attributes.get(each))) for each in ("body", "condition"))
    if body is None or condition is None:
        return None
    scalars = _Scalars(module)
    return _counted(scalars, body, condition, _initial(scalars, around, loop))


def _initial(scalars: _Scalars, around: Computation, loop: Instruction) -> dict[int, int]:
    """The values of the carried scalars before the first iteration, as far as they are constants."""
    carried = around.by_name.get(loop.operands[0]) if loop.operands else None
    if carried is None or carried.opcode != "tuple":
        return {}
    values = (scalars.value(around, name, {}) for name in carried.operands)
    return {index: value for index, value in enumerate(values) if value is not None}


def _counted(
    scalars: _Scalars, body: Computation, condition: Computation, first: Mapping[int, int]
) -> int | None:
    if not first or len(body.parameters) != 1 or len(condition.parameters) != 1:
        return None
    following = _after(scalars, body, first)
    steps = {index: following[index] - first[index] for index in following}
    kept = {index: first[index] for index in steps}

    def runs(times: int) -> bool:
        carried = {index: kept[index] + times * step for index, step in steps.items()}
        return bool(scalars.value(condition, condition.root, carried))

    second = _after(scalars, body, following)
    if scalars.value(condition, condition.root, kept) is None:
        return None
    if any(second.get(index) != following[index] + step for index, step in steps.items()):
        return None
    low, high = 0, 1  # it runs `low - 1` times for certain, and not `high` times
    while runs(high - 1):
        low, high = high, 2 * high
        if high > _MOST_TRIPS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if runs(middle - 1) else (low, middle)
    return low


def _after(scalars: _Scalars, body: Computation, carried: Mapping[int, int]) -> dict[int, int]:
    """The carried scalars after one iteration, as far as they follow from those before."""
    root = body.by_name[body.root]
    if root.opcode != "tuple":
        return {}
    found: dict[int, int] = {}
    for index, name in enumerate(root.operands):
        value = scalars.value(body, name, carried) if index in carried else None
        if value is not None:
            found[index] = value
    return found


class _Scalars:
    """Scalars of integers and bools, computed."""

    def __init__(self, module: HloModule) -> None:
        self.module = module
        self.left = _MOST_STEPS

    def value(self, computation: Computation, name: str, carried: Mapping[int, int]) -> int | None:
        """Returns a scalar; None if it is not known. carried: elements of the only parameter."""
        self.left = _MOST_STEPS
        return self._value(computation, name, carried, is_tuple=True)

    def _value(
        self, computation: Computation, name: str, given: Mapping[int, int], *, is_tuple: bool
    ) -> int | None:
        """given: elements of the parameter, or, in a fusion, the parameters."""
        made = computation.by_name[name]
        self.left -= 1
        if self.left < 0:
            return None
        if made.opcode == "constant":
            match = _INTEGER.fullmatch(made.literal) if isinstance(made.literal, str) else None
            return None if match is None else _number(match[1])
        if made.opcode == "parameter":
            return None if is_tuple or made.parameter is None else given.get(made.parameter)
        if made.opcode == "get-tuple-element" and is_tuple:
            of = computation.by_name[made.operands[0]]
            index = made.attributes.get("index")
            return given.get(index) if of.opcode == "parameter" and isinstance(index, int) else None
        operands = [self._value(computation, each, given, is_tuple=is_tuple) for each in made.operands]
        return self._computed(made, operands)

    def _computed(self, made: Instruction, operands: list[int | None]) -> int | None:
        if made.opcode == "fusion":
            calls = computation_names(made, "calls")
            inner = self.module.by_name.get(calls[0]) if calls else None
            given = {index: value for index, value in enumerate(operands) if value is not None}
            return None if inner is None else self._value(inner, inner.root, given, is_tuple=False)
        known = [value for value in operands if value is not None]
        if len(known) < len(operands):
            return None
        if made.opcode in _SAME and len(known) == 1:
            return known[0]
        if made.opcode == "compare" and len(known) == 2:
            compared = _COMPARED.get(str(made.attributes.get("direction")))
            return None if compared is None else int(compared(*known))
        arithmetic = _ARITHMETIC.get(made.opcode)
        return arithmetic(*known) if arithmetic is not None and len(known) == 2 else None


def _number(text: str) -> int:
    return int(text == "true") if text in ("true", "false") else int(text)
