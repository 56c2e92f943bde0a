"""Reader of XLA's shape text: `f32[4,<=8]{1,0:T(8,128)S(1)}`, `(s32[], token[])`; `str` of a shape prints it.

Accepts what XLA's `ParseShape` and `ParseLayout` accept, with three differences: element types may be in
upper case, the parts of sparse layouts (D, P) are kept, an incomplete part (`{0:T(2}`) is an error.
See docs/design/layout.md. Not here: HLO programs (`hlo/text/`).

>>> str(parse_shape("(F32[3, 5] { 1,0 : T(2,2) }, token[])"))
'(f32[3,5]{1,0:T(2,2)}, token[])'
>>> parse_shape("f32[3,5]{1,0:T(2;2)}")
Traceback (most recent call last):
shardy_py.base.errors.ShardyError: -:1:17: error: expected ',' or ')', got ';'
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from shardy_py.base.cursor import TokenCursor, token_expression
from shardy_py.base.patterns import on_use
from shardy_py.base.session import LARGE_TEXT, SESSION
from shardy_py.indexing.layout import values
from shardy_py.indexing.layout.tile_level import COMBINE

_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_OPENING.values())


_STRING = r""" "(?:[^"\\]++|\\.)*+(?:"|\\?\Z) | '(?:[^'\\]++|\\.)*+(?:'|\\?\Z) """
_NO_BRACKETS = on_use(
    rf"""(?: [^()\[\]{{}}"'/]++ | {_STRING} | //[^\n]*+ | /\*.*?(?:\*/|\Z) | / )*+""", re.VERBOSE | re.DOTALL
)
"""The text up to the next bracket: literals have millions of tokens."""


class HloCursor(TokenCursor):
    """A cursor over XLA's text, comments and white space skipped.

    The kinds of tokens: string, labels, pad, sizes, number, name, mark, unclosed (a comment), end.
    """

    # Labels have a bound and an unclosed comment is one token: each token is found in one look at it.
    TOKEN = token_expression(
        r"[\ \t\r\n]++ | //[^\n]*+ | /\*.*?\*/",
        unclosed=r"/\*.*\Z",
        string=_STRING,
        labels=r"[0-9bf?]{2,64}_[0-9io?]{2,64}->[0-9bf?]{2,64}",
        pad=r"-?[0-9]++_-?[0-9]++(?:_-?[0-9]++)?(?>(?:x-?[0-9]++_-?[0-9]++(?:_-?[0-9]++)?)*)",
        sizes=r"[0-9]++(?>(?:x[0-9]++)+)",
        number=r"[-+]?[0-9]++(?:\.[0-9]*+)?(?:[eE][-+]?[0-9]++)?",
        name=r"%[\w.\-]++ | [A-Za-z_](?>(?:[\w.]++|-(?!>))*)",
        mark=r"-> | <=",
    )

    __slots__ = ()

    def name(self, expected: str = "a name") -> str:
        """Steps over a name and returns it without a leading `%`."""
        return self.take("name", expected).removeprefix("%")

    def raw(self, expected: str = "a value") -> str:
        """Steps up to a comma, closing bracket or line end outside brackets; returns the text before it."""
        start = end = self.offset
        while self.token:
            if self.token == "," or self.token in _CLOSING or "\n" in self.text[end : self.offset]:
                break
            if self.token in _OPENING:
                self._skip_group()
            else:
                self.advance()
            end = self.previous_end
        if start == end:
            self.unexpected(expected)
        return self.text[start:end]

    def enclosed(self) -> str:
        """Steps over an opening bracket, its closing one, and what is between, whose text it returns."""
        start = self.end
        self._skip_group()
        return self.text[start : self.previous_end - 1].strip()

    def _skip_group(self) -> None:
        text, place, waiting = self.text, self.end, [_OPENING[self.token]]
        while waiting:
            match = _NO_BRACKETS.match(text, place)
            place = match.end() if match else place
            mark = text[place : place + 1]
            if not mark:
                self.error(f"unclosed bracket: expected '{waiting[0]}'")
            if mark in _OPENING:
                waiting.append(_OPENING[mark])
            elif waiting.pop() != mark:
                self.error("unmatched closing bracket", place)
            place += 1
        self.move_to(place)


_INDEX_TYPES = frozenset(t for t in values.ELEMENT_TYPES if t[0] in "us")
_MAX_DIGITS = len(str(1 << 64))
_LEVEL_TYPES = frozenset("DCSH")
_COMBINE_TEXT = -(1 << 63)
"""The number that XLA stores for `*`; text may have either."""
_Item = TypeVar("_Item")


def parse_shape(text: str, file: str = "-") -> values.Shape:
    """The shape in `text`.

    Raises ShardyError with its position (file:line:column) if `text` is not exactly one shape.
    """
    cursor = HloCursor(text, file)
    shape = read_shape(cursor)
    cursor.expect_end("the shape")
    return shape


def parse_array(text: str, file: str = "-") -> values.ArrayShape:
    """The array shape in `text`; raises ShardyError for any other shape, and as `parse_shape`."""
    shape = parse_shape(text, file)
    if not isinstance(shape, values.ArrayShape):
        HloCursor(text, file).error(f"expected the shape of an array, got {str(shape)[:40]}")
    return shape


def read_shape(cursor: HloCursor) -> values.Shape:
    """Steps over the shape at the cursor and returns it.

    A brace behind an array is its layout only if a number or a colon follows; otherwise it is left.
    """
    if cursor.at("("):
        with cursor.nested():
            return values.TupleShape(tuple(cursor.items(lambda: _element(cursor), "(", ")")))
    if cursor.at("b") and cursor.following() == "(":
        with cursor.nested():
            return _buffer(cursor)
    plain = _PLAIN.match(cursor.text, cursor.offset)
    if not plain or plain.end() - plain.start() > LARGE_TEXT:
        return _array(cursor)
    shape = _ARRAYS.get(plain.group())
    if shape is None:
        shape = _ARRAYS[plain.group()] = _array(cursor)
    else:
        cursor.move_to(plain.end())
    return shape


_PLAIN = on_use(r"[a-z]\w*\[[\d,<=?]*\](?:\{[\d:][\w,:()*#]*\}|(?!\s*[{/]))", re.ASCII)
"""An array whose text ends where the match ends, whatever follows."""
_ARRAYS: dict[str, values.ArrayShape | values.OtherShape] = SESSION.table("shapes by text")
"""A program has few shapes, each many times."""


def _element(cursor: HloCursor) -> values.Shape:
    """An element of a tuple: only here does XLA validate layouts."""
    start = cursor.offset
    shape = read_shape(cursor)
    array = shape.element if isinstance(shape, values.BufferShape) else shape
    if isinstance(array, values.ArrayShape) and (wrong := values.faults(array)):
        cursor.error(wrong[0], start)
    return shape


def _buffer(cursor: HloCursor) -> values.BufferShape:
    start = cursor.offset
    cursor.advance()
    cursor.expect("(")
    inner = read_shape(cursor)
    if not isinstance(inner, values.ArrayShape):
        cursor.error(f"expected the shape of an array in a buffer, got {str(inner)[:40]}", start)
    cursor.expect(")")
    return values.BufferShape(inner)


def _array(cursor: HloCursor) -> values.ArrayShape | values.OtherShape:
    start = cursor.offset
    token = cursor.token
    element = token.lower()
    if element not in values.ELEMENT_TYPES | values.OTHER_KINDS or token not in (element, token.upper()):
        cursor.unexpected("a shape")
    cursor.advance()
    if element in values.OTHER_KINDS:
        cursor.expect("[")
        cursor.expect("]")
        return values.OtherShape(element)
    sizes = cursor.items(lambda: _dimension(cursor))
    dynamic = tuple(bound for _, bound in sizes)
    at_layout = cursor.offset
    layout = _layout(cursor) if cursor.at("{") and cursor.following()[:1] in _LAYOUT_STARTS else None
    with cursor.errors_at(start if layout is None else at_layout):
        return values.ArrayShape(element, tuple(n for n, _ in sizes), dynamic if any(dynamic) else (), layout)


_LAYOUT_STARTS = tuple(":+-0123456789")


def _dimension(cursor: HloCursor) -> tuple[int, bool]:
    if cursor.accept("?"):
        return values.UNBOUNDED, True
    dynamic = cursor.accept("<=")
    start = cursor.offset
    size = _integer(cursor)
    if dynamic and size == _COMBINE_TEXT:
        return values.UNBOUNDED, True
    if size < 0:
        cursor.error(f"dimension of negative size {size}", start)
    return size, dynamic


def _layout(cursor: HloCursor) -> values.Layout:
    """The parts in XLA's order: each at most once."""
    start = cursor.offset
    cursor.expect("{")
    order: list[int] = []
    while cursor.token not in (":", "}"):
        if order:
            cursor.expect(",")
        order.append(_integer(cursor))
    parts: dict[str, Any] = {}
    if cursor.accept(":"):
        for mark, field, read in _PARTS:
            at = cursor.offset
            if cursor.accept(mark):
                with cursor.errors_at(at), cursor.nested():
                    parts[field] = read(cursor)
    if cursor.token != "}":
        cursor.unexpected("a part of a layout (D, T, L, #, *, E, S, SC, P, M in this order) or '}'")
    with cursor.errors_at(start):
        layout = values.Layout(tuple(order), **parts)
    cursor.expect("}")
    return layout


def _level_type(cursor: HloCursor) -> str:
    start, level = cursor.offset, cursor.token
    if level not in _LEVEL_TYPES:
        cursor.unexpected("a level type (D, C, S or H)")
    cursor.advance()
    marks = "".join(mark for mark in "+~" if cursor.accept(mark))
    if marks and level == "D":
        cursor.error(f"dense levels are always unique and ordered: expected 'D', got 'D{marks}'", start)
    return level + marks


def _tiles(cursor: HloCursor) -> tuple[values.Tile, ...]:
    tiles: list[values.Tile] = []
    while cursor.at("(") or not tiles:
        with cursor.errors_at(cursor.offset):
            tiles.append(values.Tile(tuple(cursor.items(lambda: _tile_size(cursor), "(", ")"))))
    return tuple(tiles)


def _tile_size(cursor: HloCursor) -> int:
    if cursor.accept("*"):
        return COMBINE
    start = cursor.offset
    size = _integer(cursor)
    if size < 0 and size != _COMBINE_TEXT:
        cursor.error(f"invalid tile size {size}: expected sizes from 1, or '*'", start)
    return COMBINE if size == _COMBINE_TEXT else size


def _split_configs(cursor: HloCursor) -> tuple[values.SplitConfig, ...]:
    configs: list[values.SplitConfig] = []
    while cursor.at("(") or not configs:
        cursor.expect("(")
        dimension = _integer(cursor)
        cursor.expect(":")
        starts = [] if cursor.at(")") else [_integer(cursor)]
        while cursor.accept(","):
            starts.append(_integer(cursor))
        cursor.expect(")")
        configs.append(values.SplitConfig(dimension, tuple(starts)))
    return tuple(configs)


def _enclosed(read: Callable[[HloCursor], _Item]) -> Callable[[HloCursor], _Item]:
    """Returns `read` between parentheses."""

    def between(cursor: HloCursor) -> _Item:
        cursor.expect("(")
        value = read(cursor)
        cursor.expect(")")
        return value

    return between


def _index_type(cursor: HloCursor) -> str:
    if cursor.token.lower() not in _INDEX_TYPES:
        cursor.unexpected("an integer type")
    return cursor.advance().lower()


def _integer(cursor: HloCursor) -> int:
    """A number of 64 bits; from 2^63 on it counts as negative, as in XLA."""
    token, start = cursor.token, cursor.offset
    digits = token.removeprefix("-")
    if cursor.kind != "number" or not digits.isdecimal():
        cursor.unexpected("an integer")
    cursor.advance()
    digits = digits.lstrip("0")
    value = int(digits or "0") if len(digits) <= _MAX_DIGITS else 1 << 64
    value = -value if token.startswith("-") else value
    if not -(1 << 63) <= value < 1 << 64:
        cursor.error(f"the integer {token[:40]} has more than 64 bits", start)
    return value - (1 << 64) if value >= 1 << 63 else value


_PARTS: tuple[tuple[str, str, Callable[[HloCursor], object]], ...] = (
    ("D", "dim_level_types", lambda cursor: tuple(cursor.items(lambda: _level_type(cursor), "(", ")"))),
    ("T", "tiles", _tiles),
    ("L", "tail_padding_alignment", _enclosed(_integer)),
    ("#", "index_primitive_type", _enclosed(_index_type)),
    ("*", "pointer_primitive_type", _enclosed(_index_type)),
    ("E", "element_size_bits", _enclosed(_integer)),
    ("S", "memory_space", _enclosed(_integer)),
    ("SC", "split_configs", _split_configs),
    ("P", "physical_shape", _enclosed(read_shape)),
    ("M", "dynamic_shape_metadata_prefix_bytes", _enclosed(_integer)),
)
