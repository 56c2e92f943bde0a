"""The encodings of quantized element types (QuantDialectBytecode.td), which are kept as text.

>>> uniform(True, "i8", "f32", ((0.5, -10),), (-128, 127))
'!quant.uniform<i8:f32, 5.000000e-01:-10>'
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute

from shardy_py.mlir.bytecode.entries import Encodings, EntryReader
from shardy_py.mlir.bytecode.rows import DOUBLE, SIGNED, SIGNED_LIST, TYPE, VARINT, Field, Reader, many
from shardy_py.mlir.text.attribute_writer import type_text
from shardy_py.mlir.text.builtin_attributes import is_integer
from shardy_py.mlir.text.dense import element_printer, element_size, elements_type
from shardy_py.mlir.text.dialect_symbols import unregistered_class

_SIGNED = 1
"""The flag of a signed storage type."""
Scale = tuple[float, int]
"""A scale and a zero point."""


def _storage(is_signed: bool, storage: str, limits: tuple[int, int]) -> str:
    """`i8`, `u8`, `i8<-127:127>`: with the limits where they are not those of the type."""
    width = int(storage[1:])
    whole = (-(1 << width - 1), (1 << width - 1) - 1) if is_signed else (0, (1 << width) - 1)
    shown = "" if limits == whole else f"<{limits[0]}:{limits[1]}>"
    return f"{'i' if is_signed else 'u'}{width}{shown}"


def _scale(scale: Scale) -> str:
    return f"{scale[0]:.6e}" + (f":{scale[1]}" if scale[1] else "")


def uniform(
    is_signed: bool,
    storage: str,
    expressed: str,
    scales: tuple[Scale, ...],
    limits: tuple[int, int],
    axis: int | None = None,
) -> str:
    """The text of a uniform quantized type: of one scale, or of one for each index of an axis."""
    head = f"{_storage(is_signed, storage, limits)}:{expressed}"
    if axis is None:
        return f"!quant.uniform<{head}, {_scale(scales[0])}>"
    return f"!quant.uniform<{head}:{axis}, {{{','.join(map(_scale, scales))}}}>"


def kept(text: str) -> Attribute:
    """The type that is kept as `!quant.name<body>`."""
    name, _, body = text[1:-1].partition("<")
    return unregistered_class(name, True)(name, True, False, body)


def _storage_type(reader: EntryReader) -> str:
    found = reader.type()
    if not is_integer(found) or not 0 < found.width.data <= 32:
        reader.fail("expected an integer type of at most 32 bits")
    return f"i{found.width.data}"


def _expressed(reader: EntryReader) -> str:
    return type_text(TYPE(reader))


def _head(reader: EntryReader) -> tuple[bool, str, str]:
    """The storage: True if it is signed, and its type; the type that is expressed."""
    return bool(reader.varint() & _SIGNED), _storage_type(reader), _expressed(reader)


def read_uniform(reader: EntryReader) -> Attribute:
    """A type with one scale."""
    head, scale = _head(reader), (DOUBLE(reader), reader.signed())
    return kept(uniform(*head, (scale,), (reader.signed(), reader.signed())))


def read_per_axis(reader: EntryReader) -> Attribute:
    """A type with a scale for each index of an axis."""
    head, axis, limits = _head(reader), reader.varint(), (reader.signed(), reader.signed())
    scales, zeros = many(DOUBLE)(reader), many(SIGNED)(reader)
    if len(scales) != len(zeros):
        reader.fail(f"expected as many zero points as scales, {len(scales)}, got {len(zeros)}")
    return kept(uniform(*head, tuple(zip(scales, zeros, strict=True)), limits, axis))


def _read_sub_channel(reader: EntryReader) -> Attribute:
    """A type with a scale for each block of some axes."""
    is_signed, storage, expressed = _head(reader)
    limits = (reader.signed(), reader.signed())
    axes, sizes = SIGNED_LIST(reader), SIGNED_LIST(reader)
    dense = [reader.expected(DenseIntOrFPElementsAttr, "dense elements") for _ in range(2)]
    if len(axes) != len(sizes):
        reader.fail(f"expected as many sizes of blocks as axes, {len(axes)}, got {len(sizes)}")
    scales, zeros = map(_elements, dense)
    shape = elements_type(dense[0])[0]
    if len(scales) != len(zeros):
        reader.fail(f"expected as many zero points as scales, {len(scales)}, got {len(zeros)}")
    texts = [scale + (f":{zero}" if int(zero) else "") for scale, zero in zip(scales, zeros, strict=True)]
    blocks = ", ".join(f"{axis}:{size}" for axis, size in zip(axes, sizes, strict=True))
    head = f"{_storage(is_signed, storage, limits)}:{expressed}"
    return kept(f"!quant.uniform<{head}:{{{blocks}}}, {_nested(texts, shape)}>")


def _elements(dense: DenseIntOrFPElementsAttr) -> list[str]:
    """The texts of dense elements, a repeated one as often as it is there."""
    (shape, element), data = elements_type(dense), dense.data.data
    show, size = element_printer(element), element_size(element)
    texts = [show(data[start : start + size]) for start in range(0, len(data), size)]
    return texts * prod(shape) if len(texts) == 1 else texts


def _nested(texts: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return texts[0]
    step = len(texts) // max(shape[0], 1)
    parts = [_nested(texts[start : start + step], shape[1:]) for start in range(0, len(texts), max(step, 1))]
    return f"{{{', '.join(parts)}}}"


def _read_any(expressed: Field[str] | None) -> Reader:
    def read(reader: EntryReader) -> Attribute:
        is_signed, storage = bool(VARINT(reader) & _SIGNED), _storage_type(reader)
        shown = f":{expressed(reader)}" if expressed is not None else ""
        limits = (reader.signed(), reader.signed())
        return kept(f"!quant.any<{_storage(is_signed, storage, limits)}{shown}>")

    return read


def _read_calibrated(reader: EntryReader) -> Attribute:
    expressed = _expressed(reader)
    low, high = DOUBLE(reader), DOUBLE(reader)
    return kept(f"!quant.calibrated<{expressed}<{low:.6e}:{high:.6e}>>")


QUANT = Encodings(
    {},
    {
        1: _read_any(None),
        2: _read_any(_expressed),
        3: _read_calibrated,
        4: read_uniform,
        5: read_per_axis,
        6: _read_sub_channel,
    },
)
"""The encodings of quantized types."""
