"""Kinds of attributes: the constraint with MLIR's description, the spelling in forms, the values in Python.

>>> KINDS["index"].description
'64-bit signless integer attribute whose value is non-negative'

Not here: the kinds that belong to a dialect, its enums and structs (`attribute_classes.py` makes those).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
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
from shardy_py.mlir.dialects import encoding as encodings
from shardy_py.mlir.dialects.encoding import Encoding
from shardy_py.mlir.text.assembly import Element, Spelling
from shardy_py.mlir.text.attribute_reader import string_attribute
from shardy_py.mlir.text.attribute_writer import attribute_text, untyped_text
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.syntax import AttributeSyntax


@dataclass(frozen=True, slots=True)
class AttributeKind:
    """A constraint on an attribute.

    description: MLIR's, for `failed to satisfy constraint: ...`.
    spelling: in assembly forms; None if none has such an attribute.
    storage: accepts the attributes that the op can hold in C++, valid or not; None: any.
    encoding: the attributes in Python, and the plain values that constructors accept.
    """

    description: str
    accepts: Callable[[Any], bool]
    spelling: Spelling | None = None
    storage: Callable[[Any], bool] | None = None
    encoding: Encoding = encodings.ATTRIBUTE


def _class_kind(
    description: str, accepts: Callable[[Any], bool], encoding: Encoding, spelling: Spelling | None = None
) -> AttributeKind:
    """A kind that is a class of attributes: the op can hold no others."""
    return AttributeKind(description, accepts, spelling, accepts, encoding)


def held_kind(
    description: str,
    accepts: Callable[[Any], bool],
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


def is_instance(*classes: type) -> Callable[[Any], bool]:
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


def integers_text(attribute: DenseArrayBase[Any]) -> str:
    """`[0, 1]`."""
    return f"[{', '.join(map(str, attribute.get_values()))}]"


def is_of(attribute: Any, attribute_class: Any, **expected: Attribute) -> bool:
    """Returns whether an attribute is of a class and has the expected fields: `type=i64`."""
    if not isinstance(attribute, attribute_class):
        return False
    return all(getattr(attribute, name) == value for name, value in expected.items())


def is_dense_array(element: Attribute) -> Callable[[Any], bool]:
    """Returns whether an attribute is `array<element: ...>`."""
    return lambda attribute: is_of(attribute, DenseArrayBase, elt_type=element)


def _integer(bits: str, type_: Attribute, minimum: int | None = None) -> AttributeKind:
    bound = {None: "", 0: " whose value is non-negative", 1: " whose value is positive"}[minimum]

    def accepts(attribute: Any) -> bool:
        if not is_of(attribute, IntegerAttr, type=type_):
            return False
        return minimum is None or attribute.value.data >= minimum

    encoding = encodings.INT64 if type_ == i64 else encodings.INT32
    description = f"{bits} signless integer attribute{bound}"
    return held_kind(description, accepts, IntegerAttr, encoding, typed_spelling(IntegerAttr, type_))


def _is_dense(attribute: Any) -> bool:
    return is_of(attribute, DenseIntOrFPElementsAttr) and attribute.type.element_type == i64


def own_kinds(
    syntaxes: Mapping[str, AttributeSyntax], descriptions: Mapping[str, str]
) -> dict[str, AttributeKind]:
    """The kinds of a dialect's own attributes by their names, which have MLIR's descriptions."""
    classes: dict[str, Any] = {name: syntaxes[name].attribute_class for name in descriptions}
    return {
        name: _class_kind(
            text, is_instance(classes[name]), encodings.value_encoding(classes[name]), classes[name].spelling
        )
        for name, text in descriptions.items()
    }


def array_of(
    description: str, accepts: Callable[[Any], bool], element: Encoding, spelling: Spelling | None = None
) -> AttributeKind:
    """An array whose elements are all of one kind."""

    def is_array(attribute: Any) -> bool:
        return is_of(attribute, ArrayAttr) and all(map(accepts, attribute.data))

    return held_kind(description, is_array, ArrayAttr, encodings.array_encoding(element), spelling)


def _is_flat_symbol(attribute: Any) -> bool:
    return isinstance(attribute, SymbolRefAttr) and not attribute.nested_references.data


INTEGER_LIST = Spelling(lambda cursor: encodings.integers(tuple(cursor.integers())), integers_text)
"""`[0, 1]`."""
_INTEGERS = Spelling(
    lambda cursor: cursor.attribute() if cursor.token[:1] == "#" else INTEGER_LIST.read(cursor), integers_text
)

KINDS: dict[str, AttributeKind] = {
    "any": AttributeKind("any attribute", lambda a: True, encoding=encodings.ANY),
    "typed": AttributeKind("TypedAttr instance", lambda a: hasattr(a, "type")),
    "i64": _integer("64-bit", i64),
    "index": _integer("64-bit", i64, 0),
    "count": _integer("64-bit", i64, 1),
    "i32": _integer("32-bit", i32),
    "index32": _integer("32-bit", i32, 0),
    "count32": _integer("32-bit", i32, 1),
    "f32": held_kind(
        "32-bit float attribute", lambda a: is_of(a, FloatAttr, type=f32), FloatAttr, encodings.FLOAT32
    ),
    "bool": _class_kind(
        "bool attribute",
        lambda a: is_of(a, IntegerAttr, type=i1),
        encodings.BOOL,
        typed_spelling(IntegerAttr, i1),
    ),
    "string": _class_kind(
        "string attribute", is_instance(StringAttr), encodings.STRING, Spelling(_read_string, untyped_text)
    ),
    "unit": _class_kind("unit attribute", is_instance(UnitAttr), encodings.UNIT),
    "integers": _class_kind("i64 dense array attribute", is_dense_array(i64), encodings.INTEGERS, _INTEGERS),
    "booleans": _class_kind("i1 dense array attribute", is_dense_array(i1), encodings.BOOLEANS),
    "elements": _class_kind(
        "constant vector/tensor attribute",
        _is_elements,
        Encoding("DenseIntOrFPElementsAttr | DenseResourceAttr"),
        Spelling(_read_elements, attribute_text),
    ),
    "table": held_kind(
        "64-bit signless integer elements attribute", _is_dense, DenseIntOrFPElementsAttr, encodings.TABLE
    ),
    "array": _class_kind("array attribute", is_instance(ArrayAttr), encodings.array_encoding(encodings.ANY)),
    "dictionary": _class_kind(
        "dictionary of named attribute values", is_instance(DictionaryAttr), encodings.DICTIONARY
    ),
    "symbol": _class_kind("flat symbol reference attribute", _is_flat_symbol, encodings.SYMBOL),
    "symbols": array_of("flat symbol ref array attribute", _is_flat_symbol, encodings.SYMBOL),
    "config": AttributeKind(
        "string attribute or dictionary of named attribute values",
        is_instance(StringAttr, DictionaryAttr),
        encoding=encodings.CONFIG,
    ),
}
"""Kinds by the names that rows use."""

DEFAULTS: dict[str, Attribute] = {
    "false": IntegerAttr(0, i1),
    "true": IntegerAttr(1, i1),
    "0": IntegerAttr(0, i32),
    "1": IntegerAttr(1, i32),
    "-1": IntegerAttr(-1, i64),
    "[]": ArrayAttr(()),
    "{}": DictionaryAttr({}),
    "text": StringAttr(""),
}
"""Attributes that absence stands for, by the names that rows use."""


@dataclass(frozen=True, slots=True)
class TypeKind:
    """A constraint on the type of an operand or result.

    description: MLIR's, for `operand #0 must be ..., but got`.
    """

    description: str
    accepts: Callable[[Any], bool]


@dataclass(frozen=True)
class Notation:
    """The names in a dialect's rows.

    kinds: of attributes. types: of operands and results. defaults: attributes that absence stands for.
    elements: parts of templates besides operands and attributes of the op: `$ranges`.
    """

    dialect: str
    kinds: Mapping[str, AttributeKind]
    types: Mapping[str, TypeKind] = field(default_factory=dict[str, TypeKind])
    defaults: Mapping[str, Attribute] = field(default_factory=lambda: DEFAULTS)
    elements: Mapping[str, Element] = field(default_factory=dict[str, Element])

    def encode(self, kind: str, value: object) -> Attribute:
        """The attribute of that kind that has a value; an attribute stays as it is.

        Raises `ShardyError` for a value that does not fit the kind.
        """
        if isinstance(value, Attribute):
            return value
        encoding = self.kinds[kind].encoding
        if not encoding.values:
            raise ShardyError.unexpected(
                f"attribute of kind '{kind}'", expected="an xDSL attribute", got=repr(value)
            )
        try:
            return encoding.encode(value)
        except (TypeError, ValueError, OverflowError, VerifyException) as error:
            raise ShardyError.unexpected("", expected=kind, got=f"{value!r} ({error})") from None
