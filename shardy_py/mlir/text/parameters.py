"""The parameters of attributes that wrap a Python value: what xDSL's constraints and patterns match.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Size:
...     name: str
...     sizes: tuple[int, ...] = ()
>>> [str(parameter) for parameter in parameters_of(Size("x", (2, 4)), {})]
['"x"', '[2 : i64, 4 : i64]']

They are made when asked for: reading, propagation and printing use the value. Not here: the classes of
attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, NoneAttr, StringAttr, f64, i1, i64
from xdsl.ir import Attribute

Classes = Mapping[type, type[Attribute]]
"""The attribute's class of each class of values."""


def parameters_of(value: object, classes: Classes) -> tuple[Attribute, ...]:
    """The fields of a dataclass as attributes, in order; one parameter for any other value."""
    if not is_dataclass(value):
        return (_attribute(value, classes),)
    return tuple(_attribute(getattr(value, field.name), classes) for field in fields(value))


def _attribute(value: object, classes: Classes) -> Attribute:
    match value:
        case Attribute():
            return value
        case None:
            return NoneAttr()
        case bool():
            return IntegerAttr(int(value), i1)
        case int():
            return IntegerAttr(int(value), i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case tuple():
            parts = cast("tuple[Any, ...]", value)
            return ArrayAttr([_attribute(part, classes) for part in parts])
        case _ if type(value) in classes:
            made: Any = classes[type(value)]
            return made(value)
        case _:
            return ArrayAttr(parameters_of(value, classes))
