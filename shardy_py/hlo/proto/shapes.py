"""Shapes and literals of protocol buffers. Not here: those of text (`hlo/text/values.py`)."""

from __future__ import annotations

from math import prod

import numpy as np

from shardy_py.base.errors import ShardyError
from shardy_py.base.session import SESSION
from shardy_py.hlo.proto.enums import PRIMITIVE_TYPES
from shardy_py.hlo.proto.message import MOST_NESTED, HloMessage, decoded
from shardy_py.hlo.text.values import Elements, Shape, read_shape
from shardy_py.indexing.layout import HloCursor, element_type

_BRACKETLESS = ("token", "opaque")


@SESSION.cache(1 << 12)
def shape_of(data: bytes) -> Shape:
    """Returns the shape of a `ShapeProto`.

    Raises:
        ShardyError: it is none.
    """
    return read_shape(HloCursor(_shape_text(data, 0)))


def _shape_text(data: bytes, depth: int) -> str:
    """The shape as HLO text spells it."""
    if depth > MOST_NESTED:
        raise ShardyError(f"nesting exceeds {MOST_NESTED} levels")
    shape = decoded(data, "ShapeProto")
    element = PRIMITIVE_TYPES.get(shape.integer("element_type"))
    if element is None:
        raise ShardyError(f"unknown element type {shape.integer('element_type')}")
    if element in ("tuple", "buffer"):
        parts = [_shape_text(part, depth + 1) for part in shape.raws("tuple_shapes")]
        return f"({', '.join(parts)})" if element == "tuple" else parts[0] if len(parts) == 1 else "()"
    if element in _BRACKETLESS:
        return f"{element}[]"
    sizes, dynamic = shape.integers("dimensions"), shape.integers("is_dynamic_dimension")
    flags = dynamic if len(dynamic) == len(sizes) else (0,) * len(sizes)
    words = [
        ("?" if size < 0 else f"<={size}") if flag else str(size)
        for size, flag in zip(sizes, flags, strict=True)
    ]
    return f"{element}[{','.join(words)}]{_layout_text(shape) if sizes else ''}"


def _layout_text(shape: HloMessage) -> str:
    layout = shape.message("layout")
    if "layout" not in shape or not layout.integers("minor_to_major"):
        return ""
    order = ",".join(map(str, layout.integers("minor_to_major")))
    parts = "".join(
        "(" + ",".join("*" if size < 0 else str(size) for size in tile.integers("dimensions")) + ")"
        for tile in layout.messages("tiles")
    )
    rest = f"T{parts}" if parts else ""
    if bits := layout.integer("element_size_in_bits"):
        rest += f"E({bits})"
    if space := layout.integer("memory_space"):
        rest += f"S({space})"
    return f"{{{order}{':' + rest if rest else ''}}}"


def literal_of(data: bytes, depth: int = 0) -> Elements:
    """Returns the elements of a `LiteralProto`, in row-major order; a tuple has those of each part.

    Raises:
        ShardyError: the elements do not fit the shape.
    """
    if depth > MOST_NESTED:
        raise ShardyError(f"nesting exceeds {MOST_NESTED} levels")
    literal = decoded(data, "LiteralProto")
    shape = shape_of(literal.data("shape"))
    if shape.is_tuple:
        return tuple(literal_of(part, depth + 1) for part in literal.raws("tuple_literals"))
    if shape.element in _BRACKETLESS:
        return b""
    sizes, size = [size or 0 for size in shape.sizes], element_type(shape.element).dtype.itemsize
    found = _stored(literal, shape.element, prod(sizes))
    if len(found) != prod(sizes) * size:
        expected, got = f"{prod(sizes) * size:,} bytes", f"{len(found):,}"
        raise ShardyError.unexpected("literal", expected=expected, got=got)
    order = shape.minor_to_major[::-1]
    if list(order) == sorted(order):
        return found
    stored = np.frombuffer(found, f"V{size}").reshape([sizes[dimension] for dimension in order])
    return stored.transpose(np.argsort(order)).tobytes()


def _stored(literal: HloMessage, element: str, count: int) -> bytes:
    name = f"{element}s"
    if element == "pred":
        return bytes(map(bool, literal.integers("preds")))
    if element in ("s32", "s64", "u32", "u64"):
        dtype = element_type(element).dtype
        return np.array(literal.integers(name), np.int64).astype(dtype).tobytes()
    found = literal.data(name)
    bits = element_type(element).bits
    if bits >= 8:
        return found
    return _narrow(found, element, 8 // bits if len(found) < count else 1)[:count]


def _narrow(data: bytes, element: str, packed: int) -> bytes:
    """Elements of less than a byte, each in a byte; `packed` of them share one, the first in its low bits."""
    bits, stored = element_type(element).bits, np.frombuffer(data, np.uint8)
    parts = [stored >> np.uint8(bits * place) & np.uint8((1 << bits) - 1) for place in range(packed)]
    values = np.stack(parts, axis=-1).reshape(-1)
    if element[0] == "s":
        values = np.where(values >> (bits - 1), values | np.uint8(256 - (1 << bits)), values)
    return values.astype(np.uint8).tobytes()
