"""Shapes as HLO text spells them: `f32[4,<=8]{1,0:T(8,128)}`, `(s32[], token[])`.

>>> print(read_shape(Cursor("(bf16[2,?]{0,1}, pred[])", "-")))
(bf16[2,?]{0,1}, pred[])
"""

from __future__ import annotations

from shardy_py.hlo.values import Layout, Shape
from shardy_py.layout import Cursor
from shardy_py.ops import names

ELEMENTS = frozenset(
    names("""pred s1 s2 s4 s8 s16 s32 s64 u1 u2 u4 u8 u16 u32 u64 f16 f32 f64 bf16 c64 c128 token opaque
    f4e2m1fn f8e3m4 f8e4m3 f8e4m3b11fnuz f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu""")
)
_MAX_DEPTH = 64


def read_shape(cursor: Cursor, depth: int = 0) -> Shape:
    """The shape that the cursor stands at."""
    if depth > _MAX_DEPTH:
        raise cursor.error(f"tuples nest more than {_MAX_DEPTH} deep")
    if cursor.accept("("):
        return Shape("tuple", parts=_parts(cursor, depth))
    if cursor.peek() == "b" and cursor.peek(1) == "(":
        # a buffer is the array it holds
        cursor.at += 2
        inner = read_shape(cursor, depth + 1)
        cursor.expect(")")
        return inner
    if cursor.peek() not in ELEMENTS:
        raise cursor.unexpected("a shape")
    element = cursor.take()
    sizes, dynamic = _sizes(cursor)
    return Shape(element, sizes, dynamic, _layout(cursor, len(sizes)))


def _parts(cursor: Cursor, depth: int) -> tuple[Shape, ...]:
    parts: list[Shape] = []
    while not cursor.accept(")"):
        if parts:
            cursor.expect(",")
        parts.append(read_shape(cursor, depth + 1))
    return tuple(parts)


def _sizes(cursor: Cursor) -> tuple[tuple[int | None, ...], frozenset[int]]:
    cursor.expect("[")
    sizes: list[int | None] = []
    dynamic: set[int] = set()
    while not cursor.accept("]"):
        if sizes:
            cursor.expect(",")
        if cursor.accept("?"):
            sizes.append(None)
            continue
        if cursor.accept("<="):
            dynamic.add(len(sizes))
        start = cursor.offset
        size = cursor.integer()
        if size < 0:
            raise cursor.error(f"a dimension has the negative size {size}", start)
        sizes.append(size)
    return tuple(sizes), frozenset(dynamic)


def _layout(cursor: Cursor, rank: int) -> Layout | None:
    """A layout starts with a number, a colon, or is empty; any other brace is not part of the shape."""
    if cursor.peek() != "{" or not (cursor.kinds[cursor.at + 1] == "number" or cursor.peek(1) in (":", "}")):
        return None
    start = cursor.offset
    order, _, rest = cursor.enclosed().partition(":")
    words = [word.strip() for word in order.split(",")] if order.strip() else []
    if sorted(words) != sorted(map(str, range(rank))):
        raise cursor.error(f"the layout must list the dimensions 0 to {rank - 1}, got {{{order}}}", start)
    return Layout(tuple(map(int, words)), rest.strip())
