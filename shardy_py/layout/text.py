"""Reader of XLA's shape text: `f32[4,<=8]{1,0:T(8,128)S(1)}`, `(s32[], token[])`. `str` of a shape prints.

Taken and refused as by XLA's `ParseShape` and `ParseLayout`, but for three things: element types may be in
upper case, the parts of sparse layouts (D, P) are kept, a part that breaks off (`{0:T(2}`) is a mistake.
docs/design/layout.md tells more. Not here: HLO programs (`hlo/`).

>>> str(parse_shape("(F32[3, 5] { 1,0 : T(2,2) }, token[])"))
'(f32[3,5]{1,0:T(2,2)}, token[])'
>>> parse_shape("f32[3,5]{1,0:T(2;2)}")
Traceback (most recent call last):
shardy_py.errors.ShardyError: -:1:17: error: expected ',' or ')', got ';'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.layout.tile_level import COMBINE
from shardy_py.layout.tokens import Cursor
from shardy_py.layout.validate import faults
from shardy_py.layout.values import (
    ELEMENT_TYPES,
    OTHER_KINDS,
    UNBOUNDED,
    ArrayShape,
    BufferShape,
    Layout,
    OtherShape,
    Shape,
    SplitConfig,
    Tile,
    TupleShape,
)
from shardy_py.session import SESSION

_INDEX_TYPES = frozenset(t for t in ELEMENT_TYPES if t[0] in "us")
_MAX_DIGITS = len(str(1 << 64))
_LEVEL_TYPES = frozenset("DCSH")
_MAX_DEPTH = 100
_COMBINE_TEXT = -(1 << 63)
"""What XLA holds for `*`; a number of this value means the same."""
_Item = TypeVar("_Item")


def parse_shape(text: str, file: str = "-") -> Shape:
    """The shape that `text` spells.

    Raises ShardyError with the position (file:line:column) of what is no shape, and of anything after it.
    """
    cursor = Cursor(text, file)
    shape = read_shape(cursor)
    if cursor.kind != "end":
        raise cursor.unexpected("the end of the shape")
    return shape


def parse_array(text: str, file: str = "-") -> ArrayShape:
    """The shape of an array that `text` spells; a ShardyError for any other shape, and as `parse_shape`."""
    shape = parse_shape(text, file)
    if not isinstance(shape, ArrayShape):
        raise Cursor(text, file).error(f"expected the shape of an array, got {str(shape)[:40]}")
    return shape


def read_shape(cursor: Cursor, depth: int = 0) -> Shape:
    """The shape that the cursor stands at; takes it.

    A brace behind an array is its layout only if a number or a colon follows, else it is left.
    """
    if depth > _MAX_DEPTH:
        raise cursor.error(f"shapes nest more than {_MAX_DEPTH} deep")
    if cursor.accept("("):
        return TupleShape(_listed(cursor, ")", lambda: _element(cursor, depth + 1)))
    if cursor.peek() == "b" and cursor.peek(1) == "(":
        return _buffer(cursor, depth)
    plain = _PLAIN.match(cursor.text, cursor.offset)
    if not plain or plain.end() - plain.start() > _MAX_REMEMBERED_TEXT:
        return _array(cursor, depth)
    known = _READ.get(plain.group())
    if known is None:
        start = cursor.at
        shape = _array(cursor, depth)
        known = _READ[plain.group()] = shape, cursor.at - start
    else:
        cursor.at += known[1]
    return known[0]


_PLAIN = re.compile(r"[a-z]\w*\[[\d,<=?]*\](?:\{[\d:][\w,:()*#]*\}|(?!\s*[{/]))", re.ASCII)
"""An array whose text ends where the match ends, whatever follows."""
_READ: dict[str, tuple[Shape, int]] = SESSION.table("shapes by text")
"""By text: the shape and how many words it has. A program has few shapes, each of them many times."""
_MAX_REMEMBERED_TEXT = 1 << 8


def _element(cursor: Cursor, depth: int) -> Shape:
    """An element of a tuple: here XLA asks for layouts that are right."""
    start = cursor.offset
    shape = read_shape(cursor, depth)
    array = shape.element if isinstance(shape, BufferShape) else shape
    wrong = faults(array) if isinstance(array, ArrayShape) else ()
    if wrong:
        raise cursor.error(wrong[0], start)
    return shape


def _buffer(cursor: Cursor, depth: int) -> BufferShape:
    start = cursor.offset
    cursor.at += 2
    inner = read_shape(cursor, depth + 1)
    if not isinstance(inner, ArrayShape):
        raise cursor.error(f"a buffer holds one array, got {str(inner)[:40]}", start)
    cursor.expect(")")
    return BufferShape(inner)


def _array(cursor: Cursor, depth: int) -> ArrayShape | OtherShape:
    start = cursor.offset
    element = _element_type(cursor)
    cursor.expect("[")
    if element in OTHER_KINDS:
        cursor.expect("]")
        return OtherShape(element)
    sizes = _listed(cursor, "]", lambda: _dimension(cursor))
    dynamic = tuple(bound for _, bound in sizes)
    at_layout = cursor.offset
    layout = _layout(cursor, depth) if _is_layout(cursor) else None
    with _placed(cursor, start if layout is None else at_layout):
        return ArrayShape(element, tuple(n for n, _ in sizes), dynamic if any(dynamic) else (), layout)


def _element_type(cursor: Cursor) -> str:
    word = cursor.peek()
    lower = word.lower()
    if lower not in ELEMENT_TYPES | OTHER_KINDS or word not in (lower, word.upper()):
        raise cursor.unexpected("a shape")
    cursor.at += 1
    return lower


def _dimension(cursor: Cursor) -> tuple[int, bool]:
    if cursor.accept("?"):
        return UNBOUNDED, True
    dynamic = cursor.accept("<=")
    start = cursor.offset
    size = _integer(cursor)
    if dynamic and size == _COMBINE_TEXT:
        return UNBOUNDED, True
    if size < 0:
        raise cursor.error(f"a dimension has the negative size {size}", start)
    return size, dynamic


def _is_layout(cursor: Cursor) -> bool:
    if cursor.peek() != "{":
        return False
    return cursor.peek(1) == ":" or cursor.kinds[cursor.at + 1] == "number"


def _layout(cursor: Cursor, depth: int) -> Layout:
    """The parts in XLA's order: each at most once."""
    start = cursor.offset
    cursor.expect("{")
    order: list[int] = []
    while cursor.peek() not in (":", "}"):
        if order:
            cursor.expect(",")
        order.append(_integer(cursor))
    found: dict[str, Any] = {}
    if cursor.accept(":"):
        for mark, field, read in _PARTS:
            at = cursor.offset
            if cursor.accept(mark):
                with _placed(cursor, at):
                    found[field] = read(cursor, depth + 1)
    if cursor.peek() != "}":
        raise cursor.unexpected("a part of a layout (D, T, L, #, *, E, S, SC, P, M in this order) or '}'")
    with _placed(cursor, start):
        layout = Layout(tuple(order), **found)
    cursor.expect("}")
    return layout


def _level_types(cursor: Cursor, _depth: int) -> tuple[str, ...]:
    cursor.expect("(")
    return _listed(cursor, ")", lambda: _level_type(cursor))


def _level_type(cursor: Cursor) -> str:
    start, word = cursor.offset, cursor.peek()
    if word not in _LEVEL_TYPES:
        raise cursor.unexpected("a level type (D, C, S or H)")
    cursor.at += 1
    marks = "".join(mark for mark in "+~" if cursor.accept(mark))
    if marks and word == "D":
        raise cursor.error(f"a dense level is unique and ordered, got 'D{marks}'", start)
    return word + marks


def _tiles(cursor: Cursor, _depth: int) -> tuple[Tile, ...]:
    found: list[Tile] = []
    while cursor.peek() == "(" or not found:
        start = cursor.offset
        cursor.expect("(")
        with _placed(cursor, start):
            found.append(Tile(_listed(cursor, ")", lambda: _tile_size(cursor))))
    return tuple(found)


def _tile_size(cursor: Cursor) -> int:
    if cursor.accept("*"):
        return COMBINE
    start = cursor.offset
    size = _integer(cursor)
    if size < 0 and size != _COMBINE_TEXT:
        raise cursor.error(f"a tile has no size {size}: expected sizes from 1, or '*'", start)
    return COMBINE if size == _COMBINE_TEXT else size


def _split_configs(cursor: Cursor, _depth: int) -> tuple[SplitConfig, ...]:
    found: list[SplitConfig] = []
    while cursor.peek() == "(" or not found:
        cursor.expect("(")
        dimension = _integer(cursor)
        cursor.expect(":")
        found.append(SplitConfig(dimension, _listed(cursor, ")", lambda: _integer(cursor))))
    return tuple(found)


def _index_type(cursor: Cursor, _depth: int) -> str:
    cursor.expect("(")
    word = cursor.peek()
    if word.lower() not in _INDEX_TYPES:
        raise cursor.unexpected("an integer type")
    cursor.at += 1
    cursor.expect(")")
    return word.lower()


def _physical_shape(cursor: Cursor, depth: int) -> Shape:
    cursor.expect("(")
    shape = read_shape(cursor, depth)
    cursor.expect(")")
    return shape


def _number(cursor: Cursor, _depth: int) -> int:
    cursor.expect("(")
    number = _integer(cursor)
    cursor.expect(")")
    return number


_PARTS: tuple[tuple[str, str, Callable[[Cursor, int], object]], ...] = (
    ("D", "dim_level_types", _level_types),
    ("T", "tiles", _tiles),
    ("L", "tail_padding_alignment", _number),
    ("#", "index_primitive_type", _index_type),
    ("*", "pointer_primitive_type", _index_type),
    ("E", "element_size_bits", _number),
    ("S", "memory_space", _number),
    ("SC", "split_configs", _split_configs),
    ("P", "physical_shape", _physical_shape),
    ("M", "dynamic_shape_metadata_prefix_bytes", _number),
)


def _listed(cursor: Cursor, end: str, item: Callable[[], _Item]) -> tuple[_Item, ...]:
    """Items between commas up to `end`; takes `end`."""
    found: list[_Item] = []
    if cursor.accept(end):
        return ()
    while True:
        found.append(item())
        if cursor.accept(end):
            return tuple(found)
        if not cursor.accept(","):
            raise cursor.unexpected(f"',' or '{end}'")


def _integer(cursor: Cursor) -> int:
    """A number of 64 bits; from 2^63 on it is taken as negative, as XLA does."""
    word, start = cursor.peek(), cursor.offset
    if cursor.kind != "number" or not word.removeprefix("-").isdigit():
        raise cursor.unexpected("an integer")
    digits = word.removeprefix("-").lstrip("0")
    value = int(digits or "0") if len(digits) <= _MAX_DIGITS else 1 << 64
    value = -value if word.startswith("-") else value
    if not -(1 << 63) <= value < 1 << 64:
        raise cursor.error(f"the integer {word[:40]} has more than 64 bits", start)
    cursor.at += 1
    return value - (1 << 64) if value >= 1 << 63 else value


@contextmanager
def _placed(cursor: Cursor, offset: int) -> Generator[None]:
    """Mistakes that values find are reported at `offset`."""
    try:
        yield
    except ShardyError as error:
        first: Diagnostic = error.diagnostics[0]
        raise ShardyError(first.at(cursor.position(offset)), *error.diagnostics[1:]) from None
