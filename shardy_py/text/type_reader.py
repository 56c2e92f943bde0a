"""Reads types: builtin ones here, `!dialect.name` through the syntax table.

Types are memoised by their text, so a program's thousandth `tensor<8x128xf32>` is one dictionary look-up and
the same object as the first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    FunctionType,
    IndexType,
    IntAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    NoneType,
    Signedness,
    TensorType,
    TupleType,
    UnrankedTensorType,
    VectorType,
)
from xdsl.ir import Attribute, TypeAttribute

if TYPE_CHECKING:
    from shardy_py.text.cursor import Cursor

DYNAMIC = builtin.DYNAMIC_INDEX

_FLOATS: dict[str, Attribute] = {
    cls.name: cls()
    for cls in (
        builtin.BFloat16Type,
        builtin.Float16Type,
        builtin.Float32Type,
        builtin.Float64Type,
        builtin.Float80Type,
        builtin.Float128Type,
        builtin.FloatTF32Type,
        builtin.Float8E5M2Type,
        builtin.Float8E4M3Type,
        builtin.Float8E4M3FNType,
        builtin.Float8E5M2FNUZType,
        builtin.Float8E4M3FNUZType,
        builtin.Float8E4M3B11FNUZType,
        builtin.Float8E3M4Type,
        builtin.Float8E8M0FNUType,
        builtin.Float6E2M3FNType,
        builtin.Float6E3M2FNType,
        builtin.Float4E2M1FNType,
    )
}
_SCALARS: dict[str, Attribute] = {**_FLOATS, "index": IndexType(), "none": NoneType()}
_SIGNS = {"i": Signedness.SIGNLESS, "si": Signedness.SIGNED, "ui": Signedness.UNSIGNED}
_INTEGER = re.compile(r"(i|si|ui)([1-9][0-9]*)\Z")
_DIMENSION = re.compile(r"[ \t]*(\?|[0-9]+)[ \t]*x")
_FLAT_TENSOR = re.compile(r"tensor<[^<>\"]*(?:<[^<>\"]*>[^<>\"]*)*>")
_MAX_WIDTH = 2**24 - 1
_MAX_SIZE = 2**63 - 1

_by_text: dict[str, Attribute] = {}
_sizes: dict[int, IntAttr] = {}


def integer_type(name: str) -> IntegerType | None:
    """The integer type of that name, None if it is no such name or too wide.

    >>> str(integer_type("ui8")), integer_type("int")
    ('ui8', None)
    """
    if (found := _by_text.get(name)) is not None and isinstance(found, IntegerType):
        return found
    match = _INTEGER.match(name)
    if match is None or len(match[2]) > 8 or int(match[2]) > _MAX_WIDTH:
        return None
    made = IntegerType(int(match[2]), _SIGNS[match[1]])
    _by_text[name] = made
    return made


def float_type(name: str) -> Attribute | None:
    """The float type of that name, None if there is none."""
    return _FLOATS.get(name)


def ranked_tensor(shape: tuple[int, ...], element: Attribute, encoding: Attribute | None = None) -> Attribute:
    """A tensor type; `DYNAMIC` stands for an unknown size."""
    return TensorType.new((_shape(shape), element, encoding or NoneAttr()))


def is_type_start(cursor: Cursor) -> bool:
    """Whether a type may start at the cursor."""
    token = cursor.token
    return token[:1] == "!" or token == "(" or token in _READERS or token in _SCALARS or integer_type(token) is not None


def read_type(cursor: Cursor) -> Attribute:
    """The type at the cursor; fails with `expected type`, or what is wrong inside it."""
    token = cursor.token
    if token == "tensor":
        match = _FLAT_TENSOR.match(cursor.text, cursor.offset)
        if match is not None:
            found = _by_text.get(match[0])
            if found is not None:
                cursor.move_to(match.end())
                return found
            start = cursor.offset
            made = cursor.nested(lambda: _tensor(cursor))
            if cursor.previous_end == match.end() and cursor.text[start : match.end()] == match[0] and "#" not in match[0]:
                _by_text[match[0]] = made
            return made
    found = _SCALARS.get(token) or integer_type(token)
    if found is not None:
        cursor.advance()
        return found
    if token in _READERS:
        return cursor.nested(lambda: _READERS[token](cursor))
    if token[:1] == "!":
        return _dialect_type(cursor)
    return cursor.error("expected non-function type" if token != "(" else "expected type")


def read_type_or_function(cursor: Cursor) -> Attribute:
    """A type or a function type `(a, b) -> c`."""
    return cursor.nested(lambda: read_function_type(cursor)) if cursor.at("(") else read_type(cursor)


def read_function_type(cursor: Cursor) -> FunctionType:
    """`(a, b) -> c` or `(a, b) -> (c, d)`."""
    inputs = cursor.items(lambda: read_type_or_function(cursor), "(", ")")
    cursor.expect("->")
    return FunctionType.from_lists(inputs, read_result_types(cursor))


def read_result_types(cursor: Cursor) -> list[Attribute]:
    """The types behind an arrow: one, or a list in parentheses."""
    if cursor.at("("):
        return cursor.items(lambda: read_type_or_function(cursor), "(", ")")
    return [read_type(cursor)]


def _shape(sizes: tuple[int, ...]) -> ArrayAttr[IntAttr]:
    return ArrayAttr([_sizes.get(size) or _sizes.setdefault(size, IntAttr(size)) for size in sizes])


def _dimensions(cursor: Cursor, allow_dynamic: bool = True) -> tuple[int, ...]:
    """The sizes before the element type; leaves the cursor on the element type."""
    sizes: list[int] = []
    offset = cursor.offset
    while match := _DIMENSION.match(cursor.text, offset):
        if match[1] == "?":
            if not allow_dynamic:
                cursor.error("expected static shape", match.start(1))
            sizes.append(DYNAMIC)
        else:
            if len(match[1]) > 19 or int(match[1]) > _MAX_SIZE:
                cursor.error("invalid dimension", match.start(1))
            sizes.append(int(match[1]))
        offset = match.end()
    if sizes:
        cursor.move_to(offset)
    elif cursor.token.isdigit() or cursor.at("?"):
        cursor.advance()
        cursor.error("expected 'x' in dimension list")
    return tuple(sizes)


def _tensor(cursor: Cursor) -> Attribute:
    cursor.advance()
    cursor.expect("<", " in tensor type") if cursor.token != "<" else cursor.advance()
    unranked = cursor.at("*")
    if unranked:
        cursor.advance()
        if cursor.token[:1] != "x":
            cursor.error("expected 'x' in dimension list")
        cursor.move_to(cursor.offset + 1)
    shape = () if unranked else _dimensions(cursor)
    start = cursor.offset
    element = read_type(cursor)
    if isinstance(element, TensorType | FunctionType | TupleType | UnrankedTensorType | MemRefType | NoneType):
        cursor.error("invalid tensor element type", start)
    encoding = cursor.attribute() if cursor.accept(",") else None
    cursor.expect(">")
    return UnrankedTensorType(element) if unranked else ranked_tensor(shape, element, encoding)


def _vector(cursor: Cursor) -> Attribute:
    cursor.advance()
    cursor.expect("<")
    shape = _dimensions(cursor, allow_dynamic=False)
    element = read_type(cursor)
    cursor.expect(">")
    return VectorType(element, shape)


def _memref(cursor: Cursor) -> Attribute:
    cursor.advance()
    cursor.expect("<")
    shape = _dimensions(cursor)
    element = read_type(cursor)
    extra = [cursor.attribute() for _ in range(2) if cursor.accept(",")]
    cursor.expect(">")
    return MemRefType(element, shape, *extra)  # pyright: ignore[reportArgumentType]


def _complex(cursor: Cursor) -> Attribute:
    cursor.advance()
    cursor.expect("<")
    start = cursor.offset
    element = read_type(cursor)
    if not (isinstance(element, IntegerType) or element in _FLOATS.values()):
        cursor.error("invalid element type for complex", start)
    cursor.expect(">")
    return ComplexType(element)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


def _tuple(cursor: Cursor) -> Attribute:
    cursor.advance()
    return TupleType(cursor.items(lambda: read_type_or_function(cursor), "<", ">"))  # pyright: ignore[reportArgumentType]


_READERS = {"tensor": _tensor, "vector": _vector, "memref": _memref, "complex": _complex, "tuple": _tuple}


def _dialect_type(cursor: Cursor) -> Attribute:
    from shardy_py.text.attribute_reader import read_dialect_attribute

    start = cursor.offset
    alias = cursor.type_aliases.get(cursor.token[1:])
    if alias is not None:
        cursor.advance()
        return alias
    found = read_dialect_attribute(cursor, "types")
    if not isinstance(found, TypeAttribute):
        cursor.error("expected type", start)
    return found
