"""Kinds of element types."""

from __future__ import annotations

import re
from typing import Any, TypeGuard

from xdsl.dialects.builtin import ComplexType, IntegerType
from xdsl.ir import Attribute

from shardy_py.text.attribute_writer import attribute_text

_STORAGE = re.compile(r"!quant\.\w+<[a-zA-Z]+(\d+)")


def is_float(element: Attribute | None) -> bool:
    """Whether an element type is a floating-point number."""
    return type(element).__name__.startswith(("Float", "BFloat"))


def is_complex(element: Attribute | None) -> TypeGuard[ComplexType]:
    """Whether an element type is a complex number."""
    return isinstance(element, ComplexType)


def is_integer(element: Attribute | None) -> TypeGuard[IntegerType]:
    """Whether an element type is an integer or i1."""
    return isinstance(element, IntegerType)


def is_quantized(element: Attribute | None) -> bool:
    """Whether an element type is a quantized number."""
    if element is None:
        return False
    return element.name.startswith("quant.") or attribute_text(element).startswith("!quant.")


def bit_width(element: Attribute | None) -> int:
    """The bits of an element, of the storage of a quantized one; 0 if unknown."""
    if is_complex(element):
        return 2 * bit_width(element.element_type)
    if is_integer(element):
        return element.width.data
    if is_quantized(element) and element is not None:
        storage = _STORAGE.match(attribute_text(element))
        return int(storage[1]) if storage else 0
    width: Any = getattr(element, "bitwidth", 0)
    return width if isinstance(width, int) else 0
