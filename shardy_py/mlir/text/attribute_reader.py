"""Reads attributes: builtin ones here, `#dialect.name` through the syntax table.

Not here: numbers and dense elements (`literal_reader.py`), affine maps (`affine.py`),
locations (`location_syntax.py`), types (`type_reader.py`), attributes of dialects (`dialect_symbols.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from xdsl.dialects import builtin
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap

from shardy_py.mlir.text.affine import read_affine
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.builtin_attributes import is_integer, string_attribute, unescape
from shardy_py.mlir.text.cursor import Cursor, is_integer_token
from shardy_py.mlir.text.dense import literal_bytes
from shardy_py.mlir.text.dialect_symbols import DEEP, read_dialect_symbol
from shardy_py.mlir.text.float_formats import FORMATS
from shardy_py.mlir.text.literal_reader import (
    elements_literal_type,
    float_value,
    known_integer,
    read_complex_number,
    read_dense,
    read_number,
)
from shardy_py.mlir.text.location_syntax import PendingLocation, read_location
from shardy_py.mlir.text.type_reader import is_type_start, read_type_or_function

_PLAIN_ENTRY = re.compile(
    r"""([A-Za-z_][\w$.]*+)[ ]=[ ](?:
    ([0-9]{1,9})[ ]:[ ](i32|i64)
    | "((?>(?:[^"\\\n\v\f]++|\\(?:["\\nt]|[0-9a-fA-F]{2}))*))"
    | (\#[A-Za-z_][\w$]*+\.[\w$.]++<"""
    + DEEP
    + r""">)
    )(?:,[ ]|(\}))""",
    re.VERBOSE | re.ASCII,
)
"""An entry, as it is printed, whose value is a small number, a string or a dialect's symbol; what follows."""

_UNIT = builtin.UnitAttr()
_I1 = builtin.IntegerType(1)
_TRUE, _FALSE = builtin.IntegerAttr(1, _I1), builtin.IntegerAttr(0, _I1)


def read_attribute(cursor: Cursor, expected_type: Attribute | None = None) -> Attribute:
    """The attribute at the cursor; fails with `expected attribute value`, or what is wrong inside it."""
    token = cursor.token
    first = token[:1]
    if first == '"':
        return _string(cursor)
    if first == "#" and token != "#-}":
        alias = cursor.aliases.get(token[1:])
        if alias is not None:
            cursor.use_alias(token)
            cursor.advance()
            return alias
        reader = _READERS.get(token)
        if reader is not None:
            return reader(cursor, expected_type)
        return cursor.nested(lambda: read_dialect_symbol(cursor, "attributes"))
    if first.isdecimal() or token == "-":
        return read_number(cursor, expected_type)
    if first == "@":
        return _symbol_reference(cursor)
    reader = _READERS.get(token)
    if reader is not None:
        return cursor.nested(lambda: reader(cursor, expected_type))
    if is_type_start(cursor):
        return read_type_or_function(cursor)
    return cursor.wrong_token("expected attribute value")


def read_dictionary(cursor: Cursor) -> dict[str, Attribute]:
    """`{name = attribute, name, ...}`; fails on a name given twice."""
    found: dict[str, Attribute] = {}

    def entry() -> None:
        start = cursor.offset
        first = cursor.token[:1]
        if first == '"':
            name = cursor.string()
            if not name:
                cursor.error("expected valid attribute name", start)
        elif cursor.is_identifier():
            name = cursor.advance()
        else:
            cursor.error("expected attribute name")
        if name in found:
            cursor.error(f"duplicate key '{name}' in dictionary attribute", start)
        found[name] = read_attribute(cursor) if cursor.accept("=") else _UNIT

    if cursor.at("{") and _read_plain_entries(cursor, found):
        return found
    if found:
        cursor.items_left(entry, "}", " in attribute dictionary")
    else:
        cursor.items(entry, "{", "}", " in attribute dictionary")
    return found


def _read_plain_entries(cursor: Cursor, found: dict[str, Attribute]) -> bool:
    """Reads entries behind the brace at the cursor while they are plain; returns whether all were.

    If not, the cursor is on the first that is not; it stays on the brace if that is the first of all.
    """
    at = cursor.end
    match = _PLAIN_ENTRY.match(cursor.text, at)
    while match is not None:
        name, digits, type_, string, symbol, closing = match.groups()
        if digits is not None:
            known = known_integer(digits, type_)
        elif string is not None:
            known = string_attribute(unescape(string))
        else:
            known = _known_symbol(cursor, symbol)
        if known is None or name in found:
            break
        found[name] = known
        at = match.end()
        if closing:
            cursor.move_to(at)
            return True
        match = _PLAIN_ENTRY.match(cursor.text, at)
    if found:
        cursor.move_to(at)
    return False


def _known_symbol(cursor: Cursor, text: str) -> Attribute | None:
    """The attribute of a dialect that has been read from that text; None if its depth may be the largest."""
    is_deepest = cursor.depth >= cursor.deepest
    return None if is_deepest or cursor.syntax is None else cursor.syntax.by_text.get(text)


def _string(cursor: Cursor) -> Attribute:
    made = string_attribute(cursor.string())
    if cursor.at(":") and cursor.text[cursor.end : cursor.end + 1] != ":":
        cursor.advance()
        cursor.type()  # MLIR allows a type on a string; it carries no meaning here
    return made


def _symbol_reference(cursor: Cursor) -> Attribute:
    root = string_attribute(cursor.symbol())
    nested: list[builtin.StringAttr] = []
    while cursor.accept("::"):
        if cursor.token[:1] != "@":
            cursor.error("expected nested symbol reference identifier")
        nested.append(string_attribute(cursor.symbol()))
    return builtin.SymbolRefAttr(root, builtin.ArrayAttr(nested))


def _boolean(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    return _TRUE if cursor.advance() == "true" else _FALSE


def _unit(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    cursor.advance()
    return _UNIT


def _array(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    return builtin.ArrayAttr(cursor.items(lambda: read_attribute(cursor)))


def _dictionary(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    return builtin.DictionaryAttr(read_dictionary(cursor))


def _dense_array(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    cursor.advance()
    cursor.expect("<", " after 'array'")
    start = cursor.offset
    element = cursor.type()
    if not is_integer(element) and getattr(element, "name", "") not in FORMATS:
        cursor.error(f"expected integer or float type, got: '{attribute_text(element)}'", start)
    if is_integer(element) and element != _I1 and element.width.data % 8:
        cursor.error("element type bitwidth must be a multiple of 8", start)
    if is_integer(element) and not element.width.data:
        cursor.error("elements of type 'i0' are not supported", start)
    values: list[bytes] = []
    if not cursor.at(">"):
        cursor.expect(":", " after dense array type")
        values.append(_array_element(cursor, element))
        while cursor.accept(","):
            values.append(_array_element(cursor, element))
    cursor.expect(">", " to close an array attribute")
    return builtin.DenseArrayBase.new((element, builtin.BytesAttr(b"".join(values))))


def dense_array(
    values: tuple[int, ...], element: builtin.IntegerType = builtin.i64
) -> builtin.DenseArrayBase[builtin.IntegerType]:
    """`array<element: values>` of integers."""
    return builtin.DenseArrayBase.from_list(element, values)


def _array_element(cursor: Cursor, element: Attribute) -> bytes:
    start = cursor.offset
    if element == _I1:
        if cursor.token not in ("true", "false"):
            cursor.error("expected 'true' or 'false' values for i1 type")
        return b"\1" if cursor.advance() == "true" else b"\0"
    negated = cursor.accept("-")
    literal, token = cursor.offset, cursor.token
    if is_integer(element):
        if not is_integer_token(token):
            cursor.error("expected integer literal")
        cursor.advance()
        data = literal_bytes(token, negated, element)
        return cursor.error("integer constant out of range") if data is None else data
    if not token[:1].isdecimal():
        cursor.error("expected integer or floating point literal")
    cursor.advance()
    form = FORMATS[element.name]
    return float_value(cursor, token, negated, form, start, literal).to_bytes(form.size, "little")


def _affine(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    is_map = cursor.advance() == "affine_map"
    context = " in affine map" if is_map else " in integer set"
    cursor.expect("<", context)
    made = read_affine(cursor, is_map=is_map)
    cursor.expect(">", context)
    return builtin.AffineMapAttr(made) if isinstance(made, AffineMap) else builtin.AffineSetAttr(made)


def _strided(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    cursor.advance()
    cursor.expect("<", " after 'strided'")
    strides = cursor.items(lambda: _size(cursor))
    offset: builtin.IntAttr | builtin.NoneAttr = builtin.IntAttr(0)
    if cursor.accept(","):
        cursor.expect("offset", " after comma")
        cursor.expect(":", " after 'offset'")
        offset = _size(cursor)
    cursor.expect(">")
    return builtin.StridedLayoutAttr(strides, offset)


def _size(cursor: Cursor) -> builtin.IntAttr | builtin.NoneAttr:
    if cursor.accept("?"):
        return builtin.NoneAttr()
    if not cursor.is_integer():
        cursor.error("expected a 64-bit signed integer or '?'")
    return builtin.IntAttr(cursor.integer())


def _location(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    made = read_location(cursor)
    if isinstance(made, PendingLocation):
        cursor.error(f"undefined symbol alias id '{made.alias}'", made.offset)
    return made


def _dense_resource(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    start = cursor.offset
    cursor.advance()
    cursor.expect("<")
    handle = cursor.string() if cursor.token[:1] == '"' else cursor.keyword()
    cursor.expect(">")
    type_ = elements_literal_type(cursor, expected_type, start)
    return builtin.DenseResourceAttr.new((string_attribute(handle), type_))


def _unsupported(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    return cursor.error(f"{cursor.token} attributes are not supported")


_READERS: dict[str, Callable[[Cursor, Attribute | None], Attribute]] = {
    "true": _boolean,
    "false": _boolean,
    "unit": _unit,
    "[": _array,
    "{": _dictionary,
    "array": _dense_array,
    "dense": read_dense,
    "dense_resource": _dense_resource,
    "affine_map": _affine,
    "affine_set": _affine,
    "loc": _location,
    "strided": _strided,
    "sparse": _unsupported,
    "distinct": _unsupported,
    "#complex.number": read_complex_number,
}
