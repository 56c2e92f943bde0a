"""Attributes and types of xDSL as plain Python values, each converted once.

docs/design/architecture.md, "The op record", lists the conversions. Attribute classes of our own dialects
have a method `plain()`. Both tables are of identities (`session.py`).

>>> from xdsl.dialects.builtin import ArrayAttr, StringAttr, UnitAttr
>>> plain(ArrayAttr([StringAttr("a"), UnitAttr()]))
('a', True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any, cast

from xdsl.dialects import builtin
from xdsl.ir import Attribute

from shardy_py.base.session import SESSION, Identities
from shardy_py.indexing import IndexMap
from shardy_py.indexing.parse import parse_expr
from shardy_py.ops import TensorType

MAX_DENSE_ELEMENTS = 4096
"""Dense attributes with more elements are data rather than parameters of an op; they become None."""

_PLAIN: Identities[Any] = SESSION.identities("plain values")
_TENSORS: Identities[TensorType | None] = SESSION.identities("tensor types")


def plain(attribute: Attribute) -> Any:
    """The plain value of `attribute`; its text for other classes."""
    known = _PLAIN.get(id(attribute))
    return known[0] if known is not None else _PLAIN.remember(attribute, _convert(attribute))


def tensor_type(type_: Attribute) -> TensorType | None:
    """The shape and element type of a ranked tensor type; None for other types."""
    known = _TENSORS.get(id(type_))
    return known[0] if known is not None else _TENSORS.remember(type_, _convert_tensor(type_))


def _convert(attribute: Attribute) -> object:
    own = getattr(attribute, "plain", None)
    if own is not None:
        return own()
    converter = _CONVERTERS.get(type(attribute)) or _NAMED_CONVERTERS.get(attribute.name)
    if converter is not None:
        return converter(attribute)
    if isinstance(attribute, builtin.DenseArrayBase):
        array = cast("builtin.DenseArrayBase[Any]", attribute)
        return _values(array.get_values(), array.elt_type)
    return str(attribute)


def _convert_tensor(type_: Attribute) -> TensorType | None:
    if not isinstance(type_, builtin.TensorType):
        return None
    tensor = cast("builtin.TensorType[Attribute]", type_)
    shape = tuple(None if size < 0 else size for size in tensor.get_shape())
    return TensorType(shape, str(tensor.element_type))


def _integer(attribute: Any) -> int | bool:
    value: int = attribute.value.data
    return bool(value) if attribute.type == builtin.i1 else value


def _values(values: Iterable[object], element_type: Attribute) -> tuple[object, ...]:
    return tuple(map(bool, values) if element_type == builtin.i1 else values)


def _dense_elements(attribute: Any) -> Any:
    shape: tuple[int, ...] = attribute.type.get_shape()
    count = prod(shape)
    if len(shape) not in (1, 2) or count > MAX_DENSE_ELEMENTS:
        return None
    values = _values(attribute.get_values(), attribute.type.element_type)
    if len(values) == 1:  # a splat is kept as one element
        values *= count
    if len(shape) == 1:
        return values
    rows, columns = shape
    return tuple(values[row * columns : (row + 1) * columns] for row in range(rows))


def _symbol(attribute: Any) -> str:
    return "::".join((attribute.root_reference.data, *(n.data for n in attribute.nested_references.data)))


_CONVERTERS: dict[type[Attribute], Callable[[Any], Any]] = {
    builtin.IntegerAttr: _integer,
    builtin.FloatAttr: lambda a: a.value.data,
    builtin.StringAttr: lambda a: a.data,
    builtin.UnitAttr: lambda a: True,
    builtin.SymbolRefAttr: _symbol,
    builtin.ArrayAttr: lambda a: tuple(map(plain, a.data)),
    builtin.DictionaryAttr: lambda a: {name: plain(value) for name, value in a.data.items()},
    builtin.DenseIntOrFPElementsAttr: _dense_elements,
    builtin.AffineMapAttr: lambda a: IndexMap(tuple(parse_expr(str(e)) for e in a.data.results)),
}
_NAMED_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "complex.number": lambda a: complex(a.real.data, a.imag.data),
}
"""Converters for classes in dialects of xDSL that are imported when a program has one."""
