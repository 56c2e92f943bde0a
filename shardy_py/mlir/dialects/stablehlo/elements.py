"""Parts of StableHLO's forms that spell several properties at once, or one in a way of its own.

Rows name them in their templates: `$ranges` is `[0:4, 0:8:2]`.

Not here: whole forms (`forms.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, i32, i64
from xdsl.ir import Attribute, Operation

from shardy_py.mlir.dialects.attribute_classes import read_boolean
from shardy_py.mlir.dialects.encoding import booleans, integers
from shardy_py.mlir.dialects.kinds import INTEGER_LIST
from shardy_py.mlir.dialects.stablehlo.attributes import ConvDimensionNumbersAttr, DotDimensionNumbersAttr
from shardy_py.mlir.dialects.stablehlo.spellings import conv_text, read_conv
from shardy_py.mlir.dialects.stablehlo.structs import DotDimensionNumbers
from shardy_py.mlir.text.assembly import Draft, Element, Spelling, expect_words
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.dense import make_dense
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.mlir.typed import integer_of, integers_of, property_of

if TYPE_CHECKING:
    from shardy_py.mlir.text.op_writer import OpWriter
    from shardy_py.mlir.text.reader import OpReader

# ---------------------------------------------------------------------- slice: [0:4, 0:8:2]

_RANGES = ("start_indices", "limit_indices", "strides")


def _read_ranges(reader: OpReader, draft: Draft) -> None:
    ranges = reader.items(lambda: _read_range(reader))
    for index, name in enumerate(_RANGES):
        draft.properties[name] = integers(tuple(part[index] for part in ranges))


def _read_range(cursor: Cursor) -> tuple[int, int, int]:
    start = cursor.integer()
    cursor.expect(":")
    limit = cursor.integer()
    return start, limit, cursor.integer() if cursor.accept(":") else 1


def _write_ranges(writer: OpWriter, op: Operation) -> None:
    values = [_values(op, name) for name in _RANGES]
    if len({len(part) for part in values}) > 1:
        texts = [f"{name}: {', '.join(map(str, part))}" for name, part in zip(_RANGES, values, strict=True)]
    else:
        texts = [
            f"{start}:{limit}" + (f":{stride}" if stride != 1 else "")
            for start, limit, stride in zip(*values, strict=True)
        ]
    writer.write(f"[{', '.join(texts)}]")


def _values(op: Operation, name: str) -> tuple[int, ...]:
    return integers_of(op, name)


# ---------------------------------------------------------------------- dot: batching_dims = [0] x [0], ...


def _read_dot(reader: OpReader, draft: Draft) -> None:
    batching = _read_pair(reader, "batching_dims") if reader.at("batching_dims") else ((), ())
    if batching != ((), ()) or reader.at(","):
        reader.expect(",")
    draft.properties["dot_dimension_numbers"] = DotDimensionNumbersAttr(
        DotDimensionNumbers(*batching, *_read_pair(reader, "contracting_dims"))
    )


def _read_pair(reader: OpReader, word: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    expect_words(reader, f"{word} =")
    left = tuple(reader.items(reader.integer))
    reader.expect("x")
    return left, tuple(reader.items(reader.integer))


def _write_dot(writer: OpWriter, op: Operation) -> None:
    numbers = property_of(op, "dot_dimension_numbers", DotDimensionNumbersAttr).data
    batching = numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions
    if any(batching):
        writer.write(f"batching_dims = {_pair_text(*batching)}, ")
    contracting = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    writer.write(f"contracting_dims = {_pair_text(*contracting)}")


def _pair_text(left: tuple[int, ...], right: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, left))}] x [{', '.join(map(str, right))}]"


# ---------------------------------------------------------------------- convolution: [...]x[...]->[...]

CONV_DIMENSIONS = Spelling(
    lambda cursor: ConvDimensionNumbersAttr(read_conv(cursor)),
    lambda attribute: conv_text(attribute.data) or "",
)
"""`[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""


# ---------------------------------------------------------------------- window: stride = [1, 1], pad = ...


def _read_reversal(cursor: Cursor) -> Attribute:
    return booleans(tuple(cursor.items(lambda: read_boolean(cursor))))


def _reversal_text(attribute: DenseArrayBase[IntegerType]) -> str:
    return f"[{', '.join('true' if value else 'false' for value in attribute.get_values())}]"


def _read_padding(cursor: Cursor) -> Attribute:
    def pair() -> bytes:
        values = cursor.items(cursor.integer)
        if len(values) != 2:
            cursor.form_error(f"Expected array with 2 elements, got {len(values)} elements instead")
        return b"".join(value.to_bytes(8, "little", signed=True) for value in values)

    pairs = cursor.items(pair)
    data = b"".join(pairs)
    is_splat = data == data[:8] * (2 * len(pairs))
    return make_dense(ranked_tensor((len(pairs), 2), i64), data[:8] if is_splat else data)


def _padding_text(attribute: DenseIntOrFPElementsAttr) -> str:
    values = list(attribute.get_values())
    if len(values) == 1:  # a splat holds its value once
        values *= prod(attribute.type.get_shape())
    return (
        "[" + ", ".join(f"[{low}, {high}]" for low, high in zip(values[::2], values[1::2], strict=True)) + "]"
    )


_WINDOW: dict[str, tuple[str, Spelling]] = {
    "stride": ("window_strides", INTEGER_LIST),
    "pad": ("padding", Spelling(_read_padding, _padding_text)),
    "lhs_dilate": ("lhs_dilation", INTEGER_LIST),
    "rhs_dilate": ("rhs_dilation", INTEGER_LIST),
    "reverse": ("window_reversal", Spelling(_read_reversal, _reversal_text)),
}


def _read_window(reader: OpReader, draft: Draft) -> None:
    while reader.is_identifier():
        word = reader.advance()
        name, spelling = _WINDOW.get(word, ("", None))
        if spelling is None or name in draft.properties:
            reader.form_error(f"Unexpected keyword {word}")
        reader.expect("=")
        draft.properties[name] = spelling.read(reader)
        if not reader.accept(","):
            break


def _write_window(writer: OpWriter, op: Operation) -> None:
    given = [
        f"{word} = {spelling.write(op.properties[name])}"
        for word, (name, spelling) in _WINDOW.items()
        if name in op.properties
    ]
    writer.write(", ".join(given))


# ---------------------------------------------------------------------- reduce_precision: e8m10

_EXPONENT_MANTISSA = re.compile(r"e([0-9]+)m([0-9]+)\Z", re.ASCII)
_MAX_BITS = 2**31 - 1


def _read_format(reader: OpReader, draft: Draft) -> None:
    start = reader.offset
    word = reader.keyword()
    match = _EXPONENT_MANTISSA.match(word)
    if match is None:
        reader.form_error(f"expected exponent mantissa in format e#m#, saw {word}", start)
    for what, name, digits in (
        ("exponent", "exponent_bits", match[1]),
        ("mantissa", "mantissa_bits", match[2]),
    ):
        if len(digits) > 10 or int(digits) > _MAX_BITS:
            reader.form_error(f"unable to parse {what} '{digits}'", start)
        draft.properties[name] = IntegerAttr(int(digits), i32)


def _write_format(writer: OpWriter, op: Operation) -> None:
    writer.write(f"e{integer_of(op, 'exponent_bits')}m{integer_of(op, 'mantissa_bits')}")


Write = Callable[["OpWriter", Operation], None]

ELEMENTS = {
    "ranges": Element(_read_ranges, _write_ranges, _RANGES),
    "dot_dimensions": Element(_read_dot, _write_dot, ("dot_dimension_numbers",)),
    "window": Element(_read_window, _write_window, tuple(name for name, _ in _WINDOW.values())),
    "format": Element(_read_format, _write_format, ("exponent_bits", "mantissa_bits")),
}
"""By the names that templates use."""
