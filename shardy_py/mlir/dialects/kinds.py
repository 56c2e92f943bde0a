"""Kinds of attributes by the names in rows: MLIR's description, the text in forms, the values in Python.

>>> INDEX.description
'64-bit signless integer attribute whose value is non-negative'

Not here: the kinds that belong to a dialect, its enums and structs (`attribute_classes.py` makes those).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects import encoding as encodings
from shardy_py.mlir.dialects.attribute_classes import ValueAttribute
from shardy_py.mlir.dialects.encoding import Encoding
from shardy_py.mlir.text.assembly import Spelling
from shardy_py.mlir.text.attribute_reader import string_attribute
from shardy_py.mlir.text.attribute_writer import attribute_text, untyped_text
from shardy_py.mlir.text.builtin_attributes import is_array, is_dense, is_integer_attribute
from shardy_py.mlir.text.cursor import Cursor

AttributePredicate = Callable[[Attribute], bool]
"""Accepts attributes, of any class, or refuses them."""


@dataclass(frozen=True, slots=True)
class AttributeKind:
    """A constraint on an attribute.

    description: MLIR's, for `failed to satisfy constraint: ...`.
    spelling: in assembly forms; None if none has such an attribute.
    storage: accepts the attributes that the op can hold in C++, valid or not; None: any.
    encoding: the attributes in Python, and the plain values that constructors accept.
    """

    description: str
    accepts: AttributePredicate
    spelling: Spelling | None = None
    storage: AttributePredicate | None = None
    encoding: Encoding = encodings.ATTRIBUTE

    def encode(self, value: object) -> Attribute:
        """The attribute of this kind that has a value; an attribute that the op can hold stays as it is.

        Raises `ShardyError` for a value that does not fit the kind.
        """
        if isinstance(value, Attribute):
            if self.storage is None or self.storage(value):
                return value
            raise ShardyError.unexpected("", expected=self.description, got=str(value))
        if not self.encoding.values:
            raise ShardyError.unexpected("", expected=self.encoding.annotation, got=repr(value))
        try:
            return self.encoding.encode(value)
        except (TypeError, ValueError, OverflowError, VerifyException) as error:
            raise ShardyError.unexpected(
                "", expected=self.encoding.values, got=f"{value!r} ({error})"
            ) from None


def _class_kind(
    description: str, accepts: AttributePredicate, encoding: Encoding, spelling: Spelling | None = None
) -> AttributeKind:
    """A kind that is a class of attributes: the op can hold no others."""
    return AttributeKind(description, accepts, spelling, accepts, encoding)


def held_kind(
    description: str,
    accepts: AttributePredicate,
    held: type,
    encoding: Encoding,
    spelling: Spelling | None = None,
) -> AttributeKind:
    """A kind of some attributes of a class: the op can hold all of the class."""
    return AttributeKind(description, accepts, spelling, is_instance(held), encoding)


def typed_spelling(attribute_class: type[Attribute], type_: Attribute | None = None) -> Spelling:
    """An attribute without its type, which the form knows: `5`, `true`, `"text"`."""

    def read(cursor: Cursor) -> Attribute:
        start = cursor.offset
        attribute = cursor.attribute(type_)
        if not isinstance(attribute, attribute_class):
            cursor.form_error("invalid kind of attribute specified", start)
        return attribute

    return Spelling(read, untyped_text)


def is_instance(*classes: type) -> AttributePredicate:
    """Returns whether an attribute is of one of the classes, as a predicate."""
    return lambda attribute: isinstance(attribute, classes)


_is_elements = is_instance(DenseIntOrFPElementsAttr, DenseResourceAttr)


def _read_elements(cursor: Cursor) -> Attribute:
    start = cursor.offset
    attribute = cursor.attribute()
    if not _is_elements(attribute):
        cursor.form_error("invalid kind of attribute specified", start)
    return attribute


def _read_string(cursor: Cursor) -> Attribute:
    start = cursor.offset
    if cursor.token[:1] != '"':
        cursor.attribute()
        cursor.form_error("invalid kind of attribute specified", start)
    return string_attribute(cursor.string())


def integers_text(attribute: DenseArrayBase[IntegerType]) -> str:
    """`[0, 1]`."""
    return f"[{', '.join(map(str, attribute.get_values()))}]"


def is_of(attribute: Attribute, attribute_class: type, **expected: Attribute) -> bool:
    """Returns whether an attribute is of a class and has the expected fields: `type=i64`."""
    if not isinstance(attribute, attribute_class):
        return False
    return all(getattr(attribute, name) == value for name, value in expected.items())


def is_dense_array(element: Attribute) -> AttributePredicate:
    """Returns whether an attribute is `array<element: ...>`."""
    return lambda attribute: is_of(attribute, DenseArrayBase, elt_type=element)


def _integer(bits: str, type_: Attribute, minimum: int | None = None) -> AttributeKind:
    bound = {None: "", 0: " whose value is non-negative", 1: " whose value is positive"}[minimum]

    def accepts(attribute: Attribute) -> bool:
        if not is_integer_attribute(attribute) or attribute.type != type_:
            return False
        return minimum is None or attribute.value.data >= minimum

    encoding = encodings.INT64 if type_ == i64 else encodings.INT32
    description = f"{bits} signless integer attribute{bound}"
    return held_kind(description, accepts, IntegerAttr, encoding, typed_spelling(IntegerAttr, type_))


def _is_dense(attribute: Attribute) -> bool:
    return is_dense(attribute) and attribute.type.element_type == i64


def own_kind(attribute_class: type[ValueAttribute[Any]], description: str) -> AttributeKind:
    """The kind of one of a dialect's own attributes."""
    encoding = encodings.value_encoding(attribute_class)
    return _class_kind(description, is_instance(attribute_class), encoding, attribute_class.spelling)


def array_of(
    description: str, accepts: AttributePredicate, element: Encoding, spelling: Spelling | None = None
) -> AttributeKind:
    """An array whose elements are all of one kind."""

    def is_kind(attribute: Attribute) -> bool:
        return is_array(attribute) and all(map(accepts, attribute.data))

    return held_kind(description, is_kind, ArrayAttr, encodings.array_encoding(element), spelling)


def _is_flat_symbol(attribute: Attribute) -> bool:
    return isinstance(attribute, SymbolRefAttr) and not attribute.nested_references.data


INTEGER_LIST = Spelling(lambda cursor: encodings.integers(tuple(cursor.integers())), integers_text)
"""`[0, 1]`."""
_INTEGERS = Spelling(
    lambda cursor: cursor.attribute() if cursor.token[:1] == "#" else INTEGER_LIST.read(cursor), integers_text
)

FALSE, TRUE = IntegerAttr(0, i1), IntegerAttr(1, i1)
"""Attributes that absence stands for: made once, as making one takes as long as a row."""

ANY = AttributeKind("any attribute", lambda a: True, encoding=encodings.ANY)
TYPED = AttributeKind("TypedAttr instance", lambda a: hasattr(a, "type"))
I64 = _integer("64-bit", i64)
INDEX = _integer("64-bit", i64, 0)
COUNT = _integer("64-bit", i64, 1)
I32 = _integer("32-bit", i32)
INDEX32 = _integer("32-bit", i32, 0)
COUNT32 = _integer("32-bit", i32, 1)
F32 = held_kind(
    "32-bit float attribute", lambda a: is_of(a, FloatAttr, type=f32), FloatAttr, encodings.FLOAT32
)
BOOL = _class_kind(
    "bool attribute",
    lambda a: is_of(a, IntegerAttr, type=i1),
    encodings.BOOL,
    typed_spelling(IntegerAttr, i1),
)
STRING = _class_kind(
    "string attribute", is_instance(StringAttr), encodings.STRING, Spelling(_read_string, untyped_text)
)
UNIT = _class_kind("unit attribute", is_instance(UnitAttr), encodings.UNIT)
INTEGERS = _class_kind("i64 dense array attribute", is_dense_array(i64), encodings.INTEGERS, _INTEGERS)
BOOLEANS = _class_kind("i1 dense array attribute", is_dense_array(i1), encodings.BOOLEANS)
ELEMENTS = _class_kind(
    "constant vector/tensor attribute",
    _is_elements,
    Encoding("DenseIntOrFPElementsAttr | DenseResourceAttr"),
    Spelling(_read_elements, attribute_text),
)
TABLE = held_kind(
    "64-bit signless integer elements attribute", _is_dense, DenseIntOrFPElementsAttr, encodings.TABLE
)
ARRAY = _class_kind("array attribute", is_instance(ArrayAttr), encodings.array_encoding(encodings.ANY))
DICTIONARY = _class_kind(
    "dictionary of named attribute values", is_instance(DictionaryAttr), encodings.DICTIONARY
)
SYMBOL = _class_kind("flat symbol reference attribute", _is_flat_symbol, encodings.SYMBOL)
SYMBOLS = array_of("flat symbol ref array attribute", _is_flat_symbol, encodings.SYMBOL)
CONFIG = AttributeKind(
    "string attribute or dictionary of named attribute values",
    is_instance(StringAttr, DictionaryAttr),
    encoding=encodings.CONFIG,
)


@dataclass(frozen=True, slots=True)
class TypeKind:
    """A constraint on the type of an operand or result.

    description: MLIR's, for `operand #0 must be ..., but got`.
    """

    description: str
    accepts: AttributePredicate


ANY_TYPE = TypeKind("any type", lambda type_: True)
"""Operands and results of which nothing is checked."""
