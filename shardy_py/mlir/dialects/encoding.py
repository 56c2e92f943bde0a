"""Python values as attributes: what the constructors of ops accept for an attribute of each kind.

>>> str(INTEGERS.encode((1, 0))), str(INT64.encode(3))
('array<i64: 1, 0>', '3 : i64')

Not here: which kind an attribute of an op has (`kinds.py`, a dialect's `notation.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute

from shardy_py.base.deferred import np
from shardy_py.base.errors import ShardyError
from shardy_py.base.narrowing import is_iterable, is_mapping
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.mlir.text.attribute_reader import dense_array
from shardy_py.mlir.text.dense import make_dense

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from shardy_py.mlir.dialects.attribute_classes import EnumAttribute

T = TypeVar("T")

PlainValue: TypeAlias = "bool | int | float | str | Mapping[str, PlainValue] | Sequence[PlainValue] | None"
"""Values that `plain_attribute` encodes."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The attributes of a kind in Python.

    annotation: the type of the attributes. values: the type of plain values; empty if there are none.
    encode: the attribute of a plain value; raises `TypeError` or `ValueError` for any other value.
    """

    annotation: str
    values: str = ""
    encode: Callable[[Any], Attribute] = lambda value: value


def integer_encoding(type_: IntegerType) -> Encoding:
    """Integers of that type."""
    return Encoding("IntegerAttr[IntegerType]", "int", lambda value: IntegerAttr(_index(value), type_))


def _index(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise TypeError("not an integer")
    return value.__index__()


def _indexes(values: object) -> tuple[int, ...]:
    if not is_iterable(values):
        raise TypeError(f"'{type(values).__name__}' object is not iterable")
    return tuple(map(_index, values))


@SESSION.cache(4096)
def integers(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    """`array<i64: ...>`, one object for equal values."""
    return dense_array(values)


@SESSION.cache(4096)
def booleans(values: tuple[bool, ...]) -> DenseArrayBase[IntegerType]:
    """`array<i1: ...>`, one object for equal values."""
    return DenseArrayBase.from_list(i1, values)


def table(value: object, width: int = 0) -> DenseIntOrFPElementsAttr:
    """`dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`, of rows of equal length; `width`: if there are no rows.

    Raises `ValueError` or `TypeError` for anything but rows of integers.
    """
    given = np.asarray(value)
    rows = given if given.size else np.zeros((len(given), given.shape[1] if given.ndim > 1 else width))
    if rows.ndim != 2 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError("not rows of integers")
    return make_dense(TensorType(i64, list(rows.shape)), rows.astype(np.int64).tobytes())


def plain_attribute(value: object) -> Attribute:
    """The attribute of a value whose kind is not known: entries of dictionaries, discardable attributes."""
    match value:
        case Attribute():
            return value
        case bool():
            return IntegerAttr(int(value), i1)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f32)
        case str():
            return StringAttr(value)
        case dict():
            entries = cast("Mapping[str, object]", value).items()
            return DictionaryAttr({name: plain_attribute(entry) for name, entry in entries})
        case list() | tuple():
            return ArrayAttr([plain_attribute(entry) for entry in cast("Sequence[object]", value)])
        case None:
            return UnitAttr()
        case _:
            raise ShardyError.unexpected(
                "",
                expected="a value with an MLIR attribute",
                got=repr(value),
                remedy="pass an xDSL attribute",
            )


def _symbol(value: object) -> Attribute:
    return SymbolRefAttr(_of(str, value).removeprefix("@"))


def _of(classes: type[T] | tuple[type[T], ...], value: object) -> T:
    """The value. Raises `TypeError` if it is of none of the classes."""
    if not isinstance(value, classes):
        raise TypeError(f"of type {type(value).__name__}")
    return value


def _unit(value: object) -> Attribute:
    if value is not True:
        raise TypeError("leave it out for its absence")
    return UnitAttr()


def array_encoding(element: Encoding) -> Encoding:
    """Arrays of attributes."""
    values = f"Sequence[{element.annotation} | {element.values}]" if element.values else ""
    return Encoding(
        "ArrayAttr[Attribute]", values, lambda entries: ArrayAttr([encoded(element, e) for e in entries])
    )


def encoded(encoding: Encoding, value: object) -> Attribute:
    """The attribute of a value; attributes stay as they are."""
    return value if isinstance(value, Attribute) else encoding.encode(value)


def enum_encoding(attribute_class: type[EnumAttribute]) -> Encoding:
    """Keywords of an enum."""

    def encode(value: str) -> Attribute:
        if value not in attribute_class.keywords:
            raise ValueError("no such keyword")
        return attribute_class(value)

    keywords = ", ".join(f'"{keyword}"' for keyword in attribute_class.keywords)
    return Encoding(attribute_class.__name__, f"Literal[{keywords}]", encode)


def value_encoding(attribute_class: Any) -> Encoding:
    """Keywords of an enum; structs, or mappings of their fields."""
    if hasattr(attribute_class, "keywords"):
        return enum_encoding(attribute_class)
    struct = attribute_class.value_class
    values = f"{struct.__name__} | Mapping[str, object]"
    return Encoding(
        attribute_class.__name__, values, lambda value: attribute_class(_struct_of(struct, value))
    )


def _struct_of(struct: type[DataclassInstance], value: object) -> object:
    """A struct from a mapping of its fields, or from a struct whose fields are other sequences than tuples.

    Raises `TypeError` for unknown fields and for values of another type.
    """
    types = {field.name: str(field.type) for field in fields(struct)}
    if isinstance(value, struct):
        value = {name: getattr(value, name) for name in types}
    if not is_mapping(value):
        raise TypeError(f"neither a {struct.__name__} nor a mapping of its fields")
    given = value
    unknown = next((name for name in given if name not in types), None)
    if unknown is not None:
        raise TypeError(f"unknown field {unknown}: expected one of {', '.join(types)}")
    return struct(**{name: _FIELDS.get(types[name], _same)(entry) for name, entry in given.items()})


def _same(value: object) -> object:
    return value


_FIELDS: dict[str, Callable[[object], object]] = {"int": _index, "tuple[int, ...]": _indexes}
"""Readers of fields by their annotation; others are taken as they are."""

ATTRIBUTE = Encoding("Attribute")
INT64, INT32 = integer_encoding(i64), integer_encoding(i32)
BOOL = Encoding(
    "IntegerAttr[IntegerType]", "bool", lambda value: IntegerAttr(int(_of((bool, np.bool_), value)), i1)
)
FLOAT32, FLOAT64 = (
    Encoding("FloatAttr[AnyFloat]", "float", lambda value, type_=type_: FloatAttr(float(value), type_))
    for type_ in (f32, f64)
)
INTEGERS = Encoding("DenseArrayBase[IntegerType]", "Sequence[int]", lambda value: integers(_indexes(value)))
BOOLEANS = Encoding(
    "DenseArrayBase[IntegerType]", "Sequence[bool]", lambda value: booleans(tuple(map(bool, value)))
)
TABLE = Encoding("DenseIntOrFPElementsAttr", "Sequence[Sequence[int]]", partial(table, width=2))
UNIT = Encoding("UnitAttr", "Literal[True]", _unit)
STRING = Encoding("StringAttr", "str", lambda value: StringAttr(_of(str, value)))
_DICTIONARY: type[object] = dict
_ENTRIES = "Mapping[str, PlainValue | Attribute]"
DICTIONARY = Encoding("DictionaryAttr", _ENTRIES, lambda value: plain_attribute(_of(_DICTIONARY, value)))
CONFIG = Encoding(
    "StringAttr | DictionaryAttr",
    f"str | {_ENTRIES}",
    lambda value: plain_attribute(_of((str, _DICTIONARY), value)),
)
ANY = Encoding("Attribute", "PlainValue", plain_attribute)
SYMBOL = Encoding("SymbolRefAttr", "str", _symbol)
