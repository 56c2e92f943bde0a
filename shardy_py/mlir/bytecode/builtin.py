"""The encodings of MLIR's builtin attributes and types (BuiltinDialectBytecode.td), by all codes so far.

Not here: numbers and dense elements (`numbers.py`), affine maps (`affine.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.bytecode import affine, numbers
from shardy_py.mlir.bytecode.entries import Encodings, EntryReader
from shardy_py.mlir.bytecode.rows import (
    ATTRIBUTE,
    BOOLEAN,
    LOCATION,
    SIGNED_LIST,
    STRING,
    STRING_ATTRIBUTE,
    TYPE,
    TYPES,
    VARINT,
    Reader,
    constant,
    many,
    pair,
    row,
)
from shardy_py.mlir.text.builtin_attributes import string_attribute
from shardy_py.mlir.text.location_syntax import NONE, UNKNOWN, attribute_of, file_location, fuse
from shardy_py.mlir.text.type_reader import (
    NO_MEMREF_ELEMENTS,
    NO_TENSOR_ELEMENTS,
    float_type,
    function_type,
    integer_type,
    ranked_tensor,
)

_SIGNS = ("i", "si", "ui")
_MAX_LINE = 1 << 32
_DYNAMIC = -(1 << 63)
"""An unknown size in files; xDSL has another number for it."""

# ---------------------------------------------------------------------- attributes


def dictionary(pairs: tuple[tuple[StringAttr, Attribute], ...]) -> Attribute:
    """The dictionary of names and attributes, sorted by name."""
    entries = {name.data: value for name, value in sorted(pairs, key=lambda entry: entry[0].data)}
    if len(entries) < len(pairs):
        raise ShardyError("a name occurs twice in a dictionary")
    return builtin.DictionaryAttr(entries)


def symbol(root: StringAttr, nested: tuple[builtin.SymbolRefAttr, ...] = ()) -> Attribute:
    """The reference to a symbol; each nested reference is one of a single name."""
    return builtin.SymbolRefAttr(root, ArrayAttr([each.root_reference for each in nested]))


def _symbol_reference(reader: EntryReader) -> builtin.SymbolRefAttr:
    return reader.expected(builtin.SymbolRefAttr, "a symbol")


def _name_location(name: StringAttr, inner: Attribute) -> Attribute:
    return attribute_of(NameLoc, desc=name, location=NONE if isinstance(inner, UnknownLoc) else inner)


def _fused(parts: tuple[Attribute, ...], metadata: Attribute = NONE) -> Attribute:
    return fuse(list(parts), metadata)


def _call_site(callee: Attribute, caller: Attribute) -> Attribute:
    return attribute_of(CallSiteLoc, callee=callee, caller=caller)


def _with_type(text: str, type_: Attribute) -> Attribute:
    """A string with a type, which carries no meaning here."""
    return string_attribute(text)


def same(type_: Attribute) -> Attribute:
    """A type as an attribute, which is the type itself."""
    return type_


def _file_location(file: StringAttr, *places: int) -> Attribute:
    """A place in a file: line and column; then a column on that line, or line and column of its end."""
    if any(place >= _MAX_LINE for place in places):
        raise ShardyError(f"expected lines and columns of 32 bits, got {max(places)}")
    line, column, *end = (*places, 0, 0)[: max(len(places), 2)]
    end_line, end_column = (line, *end) if len(end) == 1 else end or (line, column)
    return file_location(file, line, column, end_line, end_column)


def _file_range(file: StringAttr, places: tuple[int, ...]) -> Attribute:
    if len(places) > 4:
        raise ShardyError(f"expected at most 4 lines and columns, got {len(places)}")
    return _file_location(file, *places)


def _unsupported(what: str) -> Reader:
    def read(reader: EntryReader) -> Attribute:
        return reader.fail(f"{what} attributes are not supported")

    return read


_ATTRIBUTES: dict[int, Reader] = {
    0: row(ArrayAttr, many(ATTRIBUTE)),
    1: row(dictionary, many(pair(STRING_ATTRIBUTE, ATTRIBUTE))),
    2: row(string_attribute, STRING),
    3: row(_with_type, STRING, TYPE),
    4: row(symbol, STRING_ATTRIBUTE),
    5: row(symbol, STRING_ATTRIBUTE, many(_symbol_reference)),
    6: row(same, TYPE),
    7: constant(builtin.UnitAttr()),
    8: numbers.read_integer,
    9: numbers.read_float,
    10: row(_call_site, LOCATION, LOCATION),
    11: row(_file_location, STRING_ATTRIBUTE, VARINT, VARINT),
    12: row(_fused, many(LOCATION)),
    13: row(_fused, many(LOCATION), ATTRIBUTE),
    14: row(_name_location, STRING_ATTRIBUTE, LOCATION),
    15: constant(UNKNOWN),
    16: numbers.read_resource,
    17: numbers.read_dense_array,
    18: numbers.read_dense,
    19: _unsupported("dense string"),
    20: _unsupported("sparse"),
    21: _unsupported("distinct"),
    22: row(_file_range, STRING_ATTRIBUTE, many(VARINT)),
    23: affine.read_map,
    24: affine.read_set,
    25: affine.read_strided,
}

# ---------------------------------------------------------------------- types


def shape(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of dimensions as xDSL has them."""
    if any(size < 0 and size != _DYNAMIC for size in sizes):
        raise ShardyError(f"invalid size of a dimension: {min(sizes)}")
    return tuple([builtin.DYNAMIC_INDEX if size == _DYNAMIC else size for size in sizes])


def _integer(width_and_sign: int) -> Attribute:
    width, sign = width_and_sign >> 2, width_and_sign & 3
    found = integer_type(f"{_SIGNS[sign]}{width}") if sign < len(_SIGNS) else None
    if found is None:
        raise ShardyError(f"invalid integer type of {width} bits")
    return found


def tensor(sizes: tuple[int, ...], element: Attribute, encoding: Attribute | None = None) -> Attribute:
    """A ranked tensor type."""
    _check_element("tensor", element, NO_TENSOR_ELEMENTS)
    check = getattr(encoding, "check_encoding", None)
    made = shape(sizes)
    if check is not None and (message := check(ranked_tensor(made, element))):
        raise ShardyError(message)
    return ranked_tensor(made, element, encoding)


def unranked_tensor(element: Attribute) -> Attribute:
    """A tensor type without a rank."""
    _check_element("tensor", element, NO_TENSOR_ELEMENTS)
    return builtin.UnrankedTensorType(element)


def memref(
    sizes: tuple[int, ...], element: Attribute, layout: Attribute = NONE, space: Attribute = NONE
) -> Attribute:
    """A buffer type; the layout of row-major buffers is none."""
    _check_element("memref", element, NO_MEMREF_ELEMENTS)
    if isinstance(layout, builtin.AffineMapAttr) and layout.data == AffineMap.identity(len(sizes)):
        layout = NONE
    elif layout is not NONE and not isinstance(layout, builtin.MemRefLayoutAttr):
        raise ShardyError("invalid layout of a memref type")
    dimensions = ArrayAttr([builtin.IntAttr(size) for size in shape(sizes)])
    return builtin.MemRefType.new((dimensions, element, layout, space))


def _unranked_memref(element: Attribute, space: Attribute = NONE) -> Attribute:
    _check_element("memref", element, NO_MEMREF_ELEMENTS)
    return builtin.UnrankedMemRefType.new((element, space))


def _scalable_vector(scales: tuple[bool, ...], sizes: tuple[int, ...], element: Attribute) -> Attribute:
    if len(scales) != len(sizes):
        raise ShardyError(f"expected {len(sizes)} flags of dimensions that scale, got {len(scales)}")
    return _vector(sizes, element, scales)


def _vector(sizes: tuple[int, ...], element: Attribute, scales: tuple[bool, ...] = ()) -> Attribute:
    if any(size < 1 for size in sizes):
        raise ShardyError(f"vector types must have positive constant sizes but got {min(sizes)}")
    if not numbers.is_number(element):
        raise ShardyError("invalid vector element type")
    flags = scales or (False,) * len(sizes)
    scalable = ArrayAttr([builtin.BoolAttr.from_bool(flag) for flag in flags])
    return builtin.VectorType(element, list(sizes), scalable)


def complex_type(element: Attribute) -> Attribute:
    """A complex type."""
    if not numbers.is_number(element) or isinstance(element, builtin.IndexType):
        raise ShardyError("invalid element type for complex")
    return builtin.ComplexType.new((element,))


def tuple_type(members: tuple[Attribute, ...]) -> Attribute:
    """A tuple type."""
    return builtin.TupleType.new((ArrayAttr(members),))


def _check_element(what: str, element: Attribute, refused: tuple[type[Attribute], ...]) -> None:
    if isinstance(element, refused):
        raise ShardyError(f"invalid {what} element type")


def swapped(make: Callable[..., Attribute]) -> Callable[..., Attribute]:
    """A maker whose last argument comes first in the encoding."""

    def made(last: object, *arguments: object) -> Attribute:
        return make(*arguments, last)

    return made


_FLOATS = ("bf16", "f16", "f32", "f64", "f80", "f128")
_LATER_FLOATS = (
    *("tf32", "f8E5M2", "f8E4M3", "f8E4M3FN", "f8E5M2FNUZ", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E3M4"),
    *("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E8M0FNU"),
)
"""Floats that have had a code since 2025; before, they are text."""

_TYPES: dict[int, Reader] = {
    0: row(_integer, VARINT),
    1: constant(builtin.IndexType()),
    2: row(function_type, TYPES, TYPES),
    **{3 + number: constant(float_type(name) or NONE) for number, name in enumerate(_FLOATS)},
    9: row(complex_type, TYPE),
    10: row(memref, SIGNED_LIST, TYPE, ATTRIBUTE),
    11: row(swapped(memref), ATTRIBUTE, SIGNED_LIST, TYPE, ATTRIBUTE),
    12: constant(builtin.NoneType()),
    13: row(tensor, SIGNED_LIST, TYPE),
    14: row(swapped(tensor), ATTRIBUTE, SIGNED_LIST, TYPE),
    15: row(tuple_type, TYPES),
    16: row(_unranked_memref, TYPE),
    17: row(swapped(_unranked_memref), ATTRIBUTE, TYPE),
    18: row(unranked_tensor, TYPE),
    19: row(_vector, SIGNED_LIST, TYPE),
    20: row(_scalable_vector, many(BOOLEAN), SIGNED_LIST, TYPE),
    **{21 + number: constant(float_type(name) or NONE) for number, name in enumerate(_LATER_FLOATS)},
}

BUILTIN = Encodings(_ATTRIBUTES, _TYPES)
"""The encodings of the builtin dialect."""
