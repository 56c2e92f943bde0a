"""Values whose elements are all the same and known: what StableHLO's folds compute.

    splats = Splats()
    splats.of(value)         the bytes of the element, as in dense attributes; None if it is not known

Integers are computed with, floats are only moved. Not here: what follows from it (`fold.py`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from shardy_py.dialects.traits import is_constant
from shardy_py.graph.record import record_of
from shardy_py.ir import operands_of
from shardy_py.ops import TABLE
from shardy_py.text.dense import element_size, elements_type, is_splat, load_integer, store_integer
from shardy_py.text.float_formats import FORMATS
from shardy_py.text.type_tests import is_integral


class Splats:
    """The known elements, by the identity of the value.

    Values must be asked for in program order, or recursion goes as deep as constants depend on each other.
    """

    def __init__(self) -> None:
        self._elements: dict[int, tuple[SSAValue, bytes | None]] = {}

    def of(self, value: SSAValue) -> bytes | None:
        """The bytes of the element that fills `value`."""
        entry = self._elements.get(id(value))
        if entry is None:
            owner = value.owner
            element = self._element(owner) if isinstance(owner, Operation) else None
            entry = self._elements[id(value)] = (value, element)
        return entry[1]

    def forget(self, value: SSAValue) -> None:
        """Makes the next question about `value` look at it again: its operands have changed."""
        self._elements.pop(id(value), None)

    def integer(self, value: SSAValue) -> int | None:
        """The integer that fills `value`."""
        element = _element_type(value)
        data = self.of(value) if is_integral(element) else None
        return None if data is None else load_integer(data, element)

    def is_number(self, value: SSAValue, number: int) -> bool:
        """Returns whether this real number fills `value`."""
        element = _element_type(value)
        if is_integral(element):
            return self.integer(value) == number
        data = self.of(value) if getattr(element, "name", None) in FORMATS else None
        return data is not None and _real(element.name, data) == number

    def _element(self, op: Operation) -> bytes | None:
        if is_constant(op):
            return _splat(op.properties["value"])
        row = TABLE[op.name]
        if row.moves_elements:
            return self.of(operands_of(op)[0])
        if row.compute is None or not row.is_elementwise:
            return None
        element = _element_type(op.results[0])
        operands = operands_of(op)
        numbers = [self.integer(operand) for operand in operands] if is_integral(element) else [None]
        if None in numbers:
            return None
        number = row.compute(record_of(op).attributes, numbers)
        # Conversions to i1 ask whether a number is not zero; elsewhere numbers wrap around.
        is_conversion = str(element) == "i1" != str(_element_type(operands[0]))
        return store_integer(bool(number) if is_conversion else number, element)


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
