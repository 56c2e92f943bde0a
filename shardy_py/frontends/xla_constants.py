"""Values of which every element is the same known one: what StableHLO folds, without changing the program.

    splats = Splats()
    splats.of(value)         the bytes of the element, as in dense attributes; None: not known

Integers are computed with, floats only moved about. Not here: what follows from it (`xla_folds.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from operator import eq, ge, gt, le, lt, ne
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from shardy_py.graph.plain import plain
from shardy_py.ir import operands_of
from shardy_py.text.dense import element_size, elements_type, is_splat, load_integer, store_integer
from shardy_py.text.float_formats import FORMATS
from shardy_py.text.type_tests import is_integral

COMPARE, CONSTANT = "stablehlo.compare", "stablehlo.constant"
MOVING = frozenset(
    f"stablehlo.{name}"
    for name in ("broadcast_in_dim", "dynamic_slice", "reshape", "reverse", "slice", "transpose")
)
"""Ops whose elements are all elements of their first operand."""

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "EQ": eq,
    "NE": ne,
    "LT": lt,
    "LE": le,
    "GT": gt,
    "GE": ge,
}
COMPUTING: dict[str, Callable[[tuple[int, ...]], int]] = {
    "stablehlo.add": sum,
    "stablehlo.and": lambda numbers: numbers[0] & numbers[1],
    "stablehlo.clamp": lambda numbers: min(max(numbers[0], numbers[1]), numbers[2]),
    "stablehlo.convert": lambda numbers: numbers[0],
    "stablehlo.maximum": max,
    "stablehlo.minimum": min,
    "stablehlo.multiply": prod,
    "stablehlo.negate": lambda numbers: -numbers[0],
    "stablehlo.not": lambda numbers: ~numbers[0],
    "stablehlo.or": lambda numbers: numbers[0] | numbers[1],
    "stablehlo.select": lambda numbers: numbers[1] if numbers[0] else numbers[2],
    "stablehlo.subtract": lambda numbers: numbers[0] - numbers[1],
    "stablehlo.xor": lambda numbers: numbers[0] ^ numbers[1],
}
"""Ops on integers; the results are cut to their width."""


class Splats:
    """The elements known so far, by the identity of the value.

    Values must be asked for in program order, or recursion goes as deep as constants depend on each other.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[SSAValue, bytes | None]] = {}

    def of(self, value: SSAValue) -> bytes | None:
        """The bytes of the element that fills `value`."""
        found = self._known.get(id(value))
        if found is None:
            maker = value.owner
            element = self._element(maker) if isinstance(maker, Operation) else None
            found = self._known[id(value)] = (value, element)
        return found[1]

    def forget(self, value: SSAValue) -> None:
        """Look at `value` again when it is asked for: what it is made of has changed."""
        self._known.pop(id(value), None)

    def integer(self, value: SSAValue) -> int | None:
        """The integer that fills `value`."""
        element = _element_type(value)
        data = self.of(value) if is_integral(element) else None
        return None if data is None else load_integer(data, element)

    def is_number(self, value: SSAValue, number: int) -> bool:
        """Whether this number, real, fills `value`."""
        element = _element_type(value)
        if is_integral(element):
            return self.integer(value) == number
        data = self.of(value) if getattr(element, "name", None) in FORMATS else None
        return data is not None and _real(element.name, data) == number

    def _element(self, op: Operation) -> bytes | None:
        if op.name == CONSTANT:
            return _splat(op.properties["value"])
        if op.name in MOVING:
            return self.of(operands_of(op)[0])
        element = _element_type(op.results[0])
        compute = COMPUTING.get(op.name)
        if (compute is None and op.name != COMPARE) or not is_integral(element):
            return None
        numbers = tuple([self.integer(operand) for operand in operands_of(op)])
        if None in numbers:
            return None
        return store_integer(_computed(op, cast("tuple[int, ...]", numbers)), element)


def _computed(op: Operation, numbers: tuple[int, ...]) -> int:
    if op.name == COMPARE:
        return COMPARISONS[plain(op.properties["comparison_direction"])](*numbers)
    if op.name == "stablehlo.convert" and str(_element_type(op.results[0])) == "i1":
        return numbers[0] != 0
    return COMPUTING[op.name](numbers)


@lru_cache(maxsize=4096)
def _real(format_name: str, data: bytes) -> float:
    return FORMATS[format_name].to_float(int.from_bytes(data, "little"))


def _element_type(value: SSAValue) -> Any:
    return getattr(value.type, "element_type", None)


def _splat(attribute: object) -> bytes | None:
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        return None
    dense = cast("DenseIntOrFPElementsAttr[Any]", attribute)
    if not dense.data.data or not is_splat(dense):
        return None
    return dense.data.data[: element_size(elements_type(dense)[1])]
