"""Attributes and types of xDSL as plain Python values, each converted once.

docs/design/architecture.md, "The op record", lists the conversions. Attribute classes of our own dialects
have a method `plain()`. Memo tables are keyed by identity and keep their keys alive.

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

from shardy_py.indexing import IndexMap
from shardy_py.indexing.parse import parse_expr
from shardy_py.ops import TensorType
from shardy_py.session import SESSION

MAX_DENSE_ELEMENTS = 4096
"""Dense attributes with more elements are data rather than parameters of an op; they become None."""

_PLAIN: dict[int, tuple[Attribute, Any]] = SESSION.table("plain values")
_TENSORS: dict[int, tuple[Attribute, TensorType | None]] = SESSION.table("tensor types")


def plain(attribute: Attribute) -> Any:
    """The plain value of `attribute`; its text for other classes."""
    known = _PLAIN.get(id(attribute))
    if known is None:
        known = _PLAIN[id(attribute)] = (attribute, _convert(attribute))
    return known[1]


def tensor_type(type_: Attribute) -> TensorType | None:
    """The shape and element type of a ranked tensor type; None for other types."""
    known = _TENSORS.get(id(type_))
    if known is None:
        known = _TENSORS[id(type_)] = (type_, _convert_tensor(type_))
    return known[1]


def _convert(attribute: Attribute) -> Any:
    own = getattr(attribute, "plain", None)
    if own is not None:
        return own()
    converter = _CONVERTERS.get(type(attribute))
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


def _values(values: Iterable[Any], element_type: Attribute) -> tuple[Any, ...]:
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
