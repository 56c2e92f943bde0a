"""Reads attributes: builtin ones here, `#dialect.name` through the syntax table.

Attributes of dialects are memoised by their text: equal text gives the same object, which the memo tables of
later stages rely on for speed (never for correctness).

Not here: dense elements (`dense.py`), locations (`location_syntax.py`), types (`type_reader.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseResourceAttr,
    DictionaryAttr,
    FloatAttr,
    FloatData,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnregisteredAttr,
    i64,
)
from xdsl.ir import Attribute

from shardy_py.text.dense import integer_bytes, read_dense
from shardy_py.text.float_formats import FORMATS
from shardy_py.text.type_reader import float_type, integer_type, is_type_start, read_type_or_function

if TYPE_CHECKING:
    from shardy_py.text.cursor import Cursor

_CANDIDATE = re.compile(r'[#!][\w$.]+<[^<>"]*(?:"[^"\\\n]*"[^<>"]*)*(?:<[^<>"]*(?:"[^"\\\n]*"[^<>"]*)*(?:<[^<>"]*(?:"[^"\\\n]*"[^<>"]*)*>[^<>"]*(?:"[^"\\\n]*"[^<>"]*)*)*>[^<>"]*(?:"[^"\\\n]*"[^<>"]*)*)*>')
"""The likely extent of a dialect attribute, brackets three deep: the key of the memo."""

_UNIT = UnitAttr()
_TRUE, _FALSE = IntegerAttr(1, IntegerType(1)), IntegerAttr(0, IntegerType(1))
_numbers: dict[tuple[str, bool, int], tuple[Attribute, Any]] = {}
_strings: dict[str, StringAttr] = {}
_unregistered: dict[tuple[str, bool], type[UnregisteredAttr]] = {}


def string_attribute(text: str) -> StringAttr:
    """The string attribute, one object for one text."""
    return _strings.get(text) or _strings.setdefault(text, StringAttr(text))


def read_attribute(cursor: Cursor, expected_type: Attribute | None = None) -> Attribute:
    """The attribute at the cursor; fails with `expected attribute value`, or what is wrong inside it."""
    token = cursor.token
    first = token[:1]
    if first == '"':
        return _string(cursor)
    if first == "#":
        alias = cursor.aliases.get(token[1:])
        if alias is not None:
            cursor.advance()
            return alias
        return cursor.nested(lambda: read_dialect_attribute(cursor, "attributes"))
    if first.isdigit() or token == "-":
        return _number(cursor, expected_type)
    if first == "@":
        return _symbol_reference(cursor)
    reader = _READERS.get(token)
    if reader is not None:
        return cursor.nested(lambda: reader(cursor, expected_type))
    if is_type_start(cursor):
        return read_type_or_function(cursor)
    return cursor.error("expected attribute value")


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

    cursor.items(entry, "{", "}")
    return found


def read_dialect_attribute(cursor: Cursor, kind: Literal["attributes", "types"]) -> Attribute:
    """`#dialect.mnemonic<...>`, `#dialect<mnemonic ...>` and the same with `!`."""
    match = _CANDIDATE.match(cursor.text, cursor.offset)
    memo = cursor.syntax.by_text if cursor.syntax else {}
    if match is not None and (found := memo.get(match[0])) is not None:
        cursor.move_to(match.end())
        return found
    start = cursor.offset
    made = _dialect_attribute(cursor, kind)
    if match is not None and cursor.previous_end == match.end() and "#" not in match[0][1:] and "!" not in match[0][1:]:
        memo[match[0]] = made
    elif match is None and cursor.previous_end - start < 80:
        memo[cursor.text[start : cursor.previous_end]] = made
    return made


def _dialect_attribute(cursor: Cursor, kind: Literal["attributes", "types"]) -> Attribute:
    token = cursor.token
    start = cursor.offset
    dialect_name, _, mnemonic = token[1:].partition(".")
    dialect = cursor.syntax.dialects.get(dialect_name) if cursor.syntax else None
    if dialect is not None and mnemonic:
        syntax = (dialect.types if kind == "types" else dialect.attributes).get(mnemonic)
        if syntax is not None:
            cursor.advance()
            return syntax.read(cursor)
        what = "type" if kind == "types" else "attribute"
        cursor.error(f"unknown {what} `{mnemonic}` in dialect `{dialect_name}`", start)
    if dialect is not None:
        cursor.advance()
        cursor.expect("<")
        name = cursor.token
        syntax = dialect.enclosed.get(name) or (dialect.types if kind == "types" else dialect.attributes).get(name)
        if syntax is None:
            what = "type" if kind == "types" else "attribute"
            cursor.error(f"unknown {what} `{name}` in dialect `{dialect_name}`")
        cursor.advance()
        made = syntax.read(cursor)
        cursor.expect(">")
        return made
    if not mnemonic and cursor.text[cursor.end : cursor.end + 1] != "<":
        what = "type" if kind == "types" else "attribute"
        cursor.error(f"undefined symbol alias id '{token[1:]}' for {what} alias" if what == "type" else f"undefined symbol alias id '{token[1:]}'", start)
    return _unregistered_attribute(cursor, kind == "types")


def _unregistered_attribute(cursor: Cursor, is_type: bool) -> Attribute:
    """Keeps the text of an attribute whose dialect nobody registered."""
    name = cursor.token[1:]
    body = ""
    if cursor.text[cursor.end : cursor.end + 1] == "<":
        start = cursor.end + 1
        cursor.advance()
        cursor.advance()
        skip_balanced(cursor, ">")
        body = cursor.text[start : cursor.offset]
    cursor.advance()
    key = (name, is_type)
    made = _unregistered.get(key) or _unregistered.setdefault(
        key, UnregisteredAttr.with_name_and_type(name, is_type)
    )
    return made(name, is_type, "." not in name, body)


_OPEN = {"(": ")", "[": "]", "{": "}", "<": ">"}


def skip_balanced(cursor: Cursor, closing: str) -> None:
    """Steps to the bracket that closes the current level; strings are skipped whole."""
    stack = [closing]
    while stack:
        token = cursor.token
        if not token:
            cursor.error(f"unbalanced '{stack[-1]}' character in pretty dialect name")
        if token == stack[-1]:
            stack.pop()
            if not stack:
                return
        elif token in _OPEN:
            stack.append(_OPEN[token])
        elif token in (")", "]", "}") or token == ">":
            cursor.error(f"unbalanced '{token}' character in pretty dialect name")
        cursor.advance()


def _string(cursor: Cursor) -> Attribute:
    made = string_attribute(cursor.string())
    if cursor.at(":") and cursor.text[cursor.end : cursor.end + 1] != ":":
        cursor.advance()
        cursor.type()  # MLIR allows a type on a string; it carries no meaning here
    return made


def _symbol_reference(cursor: Cursor) -> Attribute:
    root = string_attribute(cursor.symbol())
    nested: list[StringAttr] = []
    while cursor.at("::"):
        cursor.advance()
        nested.append(string_attribute(cursor.symbol()))
    return SymbolRefAttr(root, ArrayAttr(nested))


def _number(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    start = cursor.offset
    negated = cursor.accept("-")
    token = cursor.token
    if not token[:1].isdigit():
        cursor.error("expected attribute value", start)
    cursor.advance()
    type_: Any = expected_type
    if type_ is None:
        if cursor.accept(":"):
            type_ = cursor.type()
        else:
            type_ = float_type("f64") if "." in token else i64
    key = (token, negated, id(type_))
    hit = _numbers.get(key)
    if hit is not None:
        return hit[0]
    made = _make_number(token, negated, type_)
    if isinstance(made, str):
        cursor.error(made, start)
    if len(token) < 40:
        _numbers[key] = (made, type_)
    return made


def _make_number(token: str, negated: bool, type_: Any) -> Attribute | str:
    is_float_literal = "." in token
    if isinstance(type_, IntegerType | IndexType):
        if is_float_literal:
            return "floating point value not valid for specified type"
        if len(token) > 4000:
            return "integer constant out of range for attribute"
        value = int(token, 0 if token[:2] == "0x" else 10) * (-1 if negated else 1)
        if negated and isinstance(type_, IntegerType) and type_.signedness.data.name == "UNSIGNED":
            return "negative integer literal not valid for unsigned integer type"
        data = integer_bytes(value, type_)
        if data is None:
            return "integer constant out of range for attribute"
        if isinstance(type_, IntegerType) and type_.width.data > 1 and type_.signedness.data.name != "UNSIGNED":
            value = int.from_bytes(data, "little", signed=True)
        return IntegerAttr(value, type_)
    form = FORMATS.get(getattr(type_, "name", ""))
    if form is None:
        return "integer literal not valid for specified type"
    if token[:2] == "0x":
        if negated:
            return "hexadecimal float literal should not have a leading minus"
        bits = int(token, 16)
        if bits >> form.width:
            return "hexadecimal float constant out of range for type"
        value = form.to_float(bits)
    elif is_float_literal:
        value = form.to_float(form.encode(float(token) * (-1 if negated else 1)))
    else:
        return "unexpected decimal integer literal for a floating point value"
    return FloatAttr.new((FloatData(value), type_))


def _boolean(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    return _TRUE if cursor.advance() == "true" else _FALSE


def _unit(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    cursor.advance()
    return _UNIT


def _array(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    return ArrayAttr(cursor.items(lambda: read_attribute(cursor)))


def _dictionary(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    return DictionaryAttr(read_dictionary(cursor))


def _dense_array(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    cursor.advance()
    cursor.expect("<")
    start = cursor.offset
    name = cursor.token
    element: Any = integer_type(name) or float_type(name)
    if element is None:
        cursor.error("expected integer or float type", start)
    cursor.advance()
    values: list[bytes] = []
    if cursor.accept(":"):
        values.append(_array_element(cursor, element))
        while cursor.accept(","):
            values.append(_array_element(cursor, element))
    cursor.expect(">")
    return DenseArrayBase(element, BytesAttr(b"".join(values)))


def dense_array(values: tuple[int, ...], element: Any = i64) -> DenseArrayBase[Any]:
    """`array<element: values>` of integers."""
    return DenseArrayBase.from_list(element, values)


def _array_element(cursor: Cursor, element: Any) -> bytes:
    if isinstance(element, IntegerType):
        if cursor.token in ("true", "false"):
            return b"\1" if cursor.advance() == "true" else b"\0"
        start = cursor.offset
        value = cursor.integer()
        data = integer_bytes(value, element)
        if data is None:
            cursor.error("integer constant out of range for attribute", start)
        return data
    made = _number(cursor, element)
    assert isinstance(made, FloatAttr)
    form = FORMATS[element.name]  # pyright: ignore
    return form.encode(made.value.data).to_bytes(form.size, "little")


def _affine(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    """Affine maps and sets are read by xDSL, from their own text."""
    start = cursor.offset
    is_map = cursor.advance() == "affine_map"
    cursor.expect("<")
    depth = 1
    while depth:
        if cursor.at("<"):
            depth += 1
        elif cursor.at(">"):
            depth -= 1
        elif not cursor.token:
            cursor.error("expected '>'")
        cursor.advance()
    made = _xdsl_attribute(cursor, start, cursor.previous_end)
    if not isinstance(made, AffineMapAttr if is_map else AffineSetAttr):
        cursor.error("expected affine map or set", start)
    return made


def _xdsl_attribute(cursor: Cursor, start: int, end: int) -> Attribute:
    from xdsl.context import Context
    from xdsl.dialects.builtin import Builtin
    from xdsl.parser import Parser
    from xdsl.utils.exceptions import ParseError

    context = Context()
    context.load_dialect(Builtin)
    try:
        return Parser(context, cursor.text[start:end]).parse_attribute()
    except ParseError as error:
        message = str(error.args[-1] if error.args else error).strip().splitlines()
        return cursor.error(message[-1] if message else "invalid attribute", start)
    except Exception as error:
        return cursor.error(f"invalid attribute: {error}", start)


def _location(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    from shardy_py.text.location_syntax import read_location

    return read_location(cursor)


def _dense(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    return read_dense(cursor, expected_type)


def _dense_resource(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    cursor.advance()
    cursor.expect("<")
    handle = cursor.string() if cursor.token[:1] == '"' else cursor.keyword()
    cursor.expect(">")
    if expected_type is None:
        cursor.expect(":")
        expected_type = cursor.type()
    return DenseResourceAttr.new((string_attribute(handle), expected_type))


_READERS: dict[str, Callable[[Cursor, Attribute | None], Attribute]] = {
    "true": _boolean,
    "false": _boolean,
    "unit": _unit,
    "[": _array,
    "{": _dictionary,
    "array": _dense_array,
    "dense": _dense,
    "dense_resource": _dense_resource,
    "affine_map": _affine,
    "affine_set": _affine,
    "loc": _location,
}

