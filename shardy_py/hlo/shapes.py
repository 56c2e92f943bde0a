"""Shapes of instructions: one `Shape` for arrays, tuples and tokens, from the shapes that `layout/` reads.

The empty layout `{}`, which older dumps give scalars, is accepted; a layout must list all dimensions.

>>> print(read_shape(HloCursor("(bf16[2,?]{0,1}, pred[])", "-")))
(bf16[2,?]{0,1}, pred[])
"""

from __future__ import annotations

from functools import lru_cache

from shardy_py import layout
from shardy_py.errors import ShardyError
from shardy_py.hlo.values import Shape
from shardy_py.layout import ELEMENT_TYPES, UNBOUNDED, ArrayShape, BufferShape, HloCursor, TupleShape

ELEMENTS = ELEMENT_TYPES | {"token", "opaque"}


def read_shape(cursor: HloCursor) -> Shape:
    """Reads the shape at the cursor."""
    start = cursor.offset
    shape = layout.read_shape(cursor)
    if cursor.at("{") and cursor.following() == "}":
        cursor.advance()
        cursor.advance()
    with cursor.errors_at(max(cursor.text.find("{", start, cursor.offset), start)):
        return _shape(shape)


@lru_cache(maxsize=1 << 12)
def _shape(shape: layout.Shape) -> Shape:
    match shape:
        case TupleShape(elements):
            return Shape("tuple", parts=tuple(map(_shape, elements)))
        case BufferShape(element):
            # a buffer is the array it holds
            return _shape(element)
        case ArrayShape(element, sizes, flags, order):
            if order is not None and sorted(order.minor_to_major) != [*range(len(sizes))]:
                listed = ",".join(map(str, order.minor_to_major))
                raise ShardyError(
                    f"the layout must list the dimensions 0 to {len(sizes) - 1}, got {{{listed}}}"
                )
            known = tuple(None if size == UNBOUNDED else size for size in sizes)
            dynamic = frozenset(i for i, flag in enumerate(flags) if flag and known[i] is not None)
            return Shape(element, known, dynamic, order)
        case _:
            return Shape(shape.kind)
