"""Reads types: builtin ones here, `!dialect.name` through the syntax table.

Types are memoised by their text, so a program's thousandth `tensor<8x128xf32>` is one dictionary look-up and
the same object as the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import repeat

from xdsl.dialects import builtin
from xdsl.ir import Attribute, TypeAttribute
from xdsl.ir.affine import AffineMap

from shardy_py.base.session import LARGE_TEXT, SESSION
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.builtin_attributes import is_integer, is_integral
from shardy_py.mlir.text.cursor import Cursor, is_integer_token
from shardy_py.mlir.text.float_formats import FORMATS

DYNAMIC = builtin.DYNAMIC_INDEX

_FLOATS = {type_.name: type_() for type_ in builtin.Builtin.attributes if type_.name in FORMATS}
_SCALARS: dict[str, Attribute] = {**_FLOATS, "index": builtin.IndexType(), "none": builtin.NoneType()}
_SIGNS = {
    "i": builtin.Signedness.SIGNLESS,
    "si": builtin.Signedness.SIGNED,
    "ui": builtin.Signedness.UNSIGNED,
}
_INTEGER = re.compile(r"(i|si|ui)([0-9]+)\Z", re.ASCII)
_DIMENSION = re.compile(r"\s*+(\?|[0-9]++|\[\s*+[0-9]++\s*+\])\s*+x", re.ASCII)
_PLAIN_DIMENSIONS = re.compile(r"(?:[0-9]{1,18}+x)++", re.ASCII)
_FLAT_TENSOR = re.compile(r"tensor<[^<>\"]*(?:<[^<>\"]*>[^<>\"]*)*>")
_MAX_WIDTH = 2**24 - 1
_MAX_SIZE = 2**63 - 1
_MAX_DIGITS = 19

_by_text: dict[str, Attribute] = SESSION.table("types by text")
_shared: dict[Attribute, Attribute] = SESSION.table("types")
_by_shape: dict[tuple[tuple[int, ...], Attribute], Attribute] = SESSION.table("types by shape")
_integers: dict[str, builtin.IntegerType] = SESSION.table("integer types")
_function_types: dict[tuple[int, ...], builtin.FunctionType] = SESSION.table("function types")
_sizes: dict[int, builtin.IntAttr] = SESSION.table("dimension sizes")


def integer_type(name: str) -> builtin.IntegerType | None:
    """The integer type of that name, None for another name or a width out of range."""
    found = _integers.get(name)
    if found is None:
        match = _INTEGER.match(name)
        if match is None or len(match[2]) > 8 or int(match[2]) > _MAX_WIDTH:
            return None
        found = _integers.setdefault(name, builtin.IntegerType(int(match[2]), _SIGNS[match[1]]))
    return found


def float_type(name: str) -> Attribute | None:
    """The float type of that name, None if there is none."""
    return _FLOATS.get(name)


def ranked_tensor(shape: tuple[int, ...], element: Attribute, encoding: Attribute | None = None) -> Attribute:
    """A tensor type, one object for equal ones; `DYNAMIC` is an unknown size."""
    if encoding is None and (known := _by_shape.get((shape, element))) is not None:
        return known
    made = builtin.TensorType.new((_shape(shape), element, encoding or builtin.NoneAttr()))
    made = _shared.setdefault(made, made)
    return made if encoding is not None else _by_shape.setdefault((shape, element), made)


def is_type_start(cursor: Cursor) -> bool:
    """True if a type may start at the cursor."""
    token = cursor.token
    return (
        token[:1] in ("!", "(") or token in _READERS or token in _SCALARS or _INTEGER.match(token) is not None
    )


def read_type(cursor: Cursor) -> Attribute:
    """The type at the cursor; fails with `expected non-function type`, or what is wrong inside it."""
    token = cursor.token
    if token == "tensor":
        return _memoised_tensor(cursor)
    found = _SCALARS.get(token) or integer_type(token)
    if found is not None:
        cursor.advance()
        return found
    reader = _READERS.get(token)
    if reader is not None:
        return cursor.nested(lambda: reader(cursor))
    if token[:1] == "!":
        return _dialect_type(cursor)
    if _INTEGER.match(token):
        cursor.error(f"integer bitwidth is limited to {_MAX_WIDTH} bits")
    return cursor.wrong_token("expected non-function type")


def _memoised_tensor(cursor: Cursor) -> Attribute:
    """A tensor type; what mentions no alias is read once."""
    match = _FLAT_TENSOR.match(cursor.text, cursor.offset)
    if match is None or match.end() - match.start() > LARGE_TEXT:
        return cursor.nested(lambda: _tensor(cursor))
    text = match[0]
    found = _by_text.get(text)
    if found is not None:
        cursor.move_to(match.end())
        return found
    made = cursor.nested(lambda: _tensor(cursor))
    if cursor.previous_end == match.end() and "#" not in text and "!" not in text and "//" not in text:
        return _by_text.setdefault(text, made)
    return made


def known_tensor(text: str) -> Attribute | None:
    """The tensor type of that text, if it has been read before."""
    return _by_text.get(text)


def read_type_or_function(cursor: Cursor) -> Attribute:
    """A type or a function type `(a, b) -> c`."""
    return cursor.nested(lambda: read_function_type(cursor)) if cursor.at("(") else read_type(cursor)


def read_function_type(cursor: Cursor) -> builtin.FunctionType:
    """`(a, b) -> c` or `(a, b) -> (c, d)`."""
    if not cursor.at("("):
        start = cursor.offset
        text = attribute_text(read_type(cursor))
        cursor.form_error(
            f"invalid kind of type specified: expected builtin.function, but found '{text}'", start
        )
    inputs = cursor.items(lambda: read_type_or_function(cursor), "(", ")")
    cursor.expect("->", " in function type")
    outputs = _read_result_types(cursor)
    return function_type(inputs, outputs)


def function_type(inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> builtin.FunctionType:
    """A function type, one object for the same types."""
    key = (*map(id, inputs), 0, *map(id, outputs))
    found = _function_types.get(key)
    if found is None:
        found = _function_types.setdefault(key, builtin.FunctionType.from_lists(inputs, outputs))
        SESSION.charge(len(key))
    return found


def _read_result_types(cursor: Cursor) -> list[Attribute]:
    if cursor.at("("):
        return cursor.items(lambda: read_type_or_function(cursor), "(", ")")
    return [read_type(cursor)]


def _shape(sizes: tuple[int, ...]) -> builtin.ArrayAttr[builtin.IntAttr]:
    return builtin.ArrayAttr(
        [_sizes.get(size) or _sizes.setdefault(size, builtin.IntAttr(size)) for size in sizes]
    )


def _dimensions(cursor: Cursor, *, is_vector: bool = False) -> list[tuple[int, bool]]:
    """The sizes before the element type, on which it leaves the cursor; each with whether it scales."""
    sizes: list[tuple[int, bool]] = []
    offset = cursor.offset
    plain = _PLAIN_DIMENSIONS.match(cursor.text, offset)
    if plain is not None:  # nearly always, and then at once
        sizes += zip(map(int, plain[0][:-1].split("x")), repeat(False))
        offset = plain.end()
    while match := _DIMENSION.match(cursor.text, offset):
        text = match[1]
        if text[0] == ("?" if is_vector else "["):
            break
        digits = text.strip("[] \t\r\n")
        if len(digits) > _MAX_DIGITS or (text != "?" and int(digits) > _MAX_SIZE):
            cursor.error("invalid dimension", match.start(1))
        sizes.append((DYNAMIC if text == "?" else int(digits), text[0] == "["))
        offset = match.end()
    if sizes:
        cursor.move_to(offset)
    if is_integer_token(cursor.token) or (cursor.at("?") and not is_vector):
        cursor.advance()
        cursor.wrong_token("expected 'x' in dimension list")
    return sizes


def _accept_unranked(cursor: Cursor) -> bool:
    """Steps over `*x`."""
    if not cursor.accept("*"):
        return False
    if cursor.token[:1] != "x":
        cursor.wrong_token("expected 'x' in dimension list")
    cursor.move_to(cursor.offset + 1)
    return True


def _tensor(cursor: Cursor) -> Attribute:
    cursor.advance()
    cursor.expect("<", " in tensor type")
    is_unranked = _accept_unranked(cursor)
    shape = () if is_unranked else tuple([size for size, _ in _dimensions(cursor)])
    start = cursor.offset
    element = read_type_or_function(cursor)
    encoding = cursor.attribute() if cursor.accept(",") and not cursor.at(">") else None
    check = getattr(encoding, "check_encoding", None)
    if check is not None and not is_unranked and (message := check(ranked_tensor(shape, element))):
        cursor.error(message)
    cursor.expect(">", " in tensor type")
    if isinstance(element, NO_TENSOR_ELEMENTS):
        cursor.error("invalid tensor element type", start)
    if not is_unranked:
        return ranked_tensor(shape, element, encoding)
    if encoding is not None:
        cursor.error("cannot apply encoding to unranked tensor")
    return builtin.UnrankedTensorType(element)


_MEMREFS = (builtin.MemRefType, builtin.UnrankedMemRefType)
NO_MEMREF_ELEMENTS = (builtin.TensorType, builtin.UnrankedTensorType, builtin.TupleType, builtin.NoneType)
NO_TENSOR_ELEMENTS = (*NO_MEMREF_ELEMENTS, *_MEMREFS, builtin.FunctionType)


def _vector(cursor: Cursor) -> Attribute:
    start = cursor.offset
    cursor.advance()
    cursor.expect("<", " in vector type")
    dimensions = _dimensions(cursor, is_vector=True)
    element = read_type(cursor)
    cursor.expect(">", " in vector type")
    if any(size < 1 for size, _ in dimensions):
        sizes = ", ".join(str(size) for size, _ in dimensions)
        cursor.error(f"vector types must have positive constant sizes but got {sizes}", start)
    if not is_integral(element) and element not in _FLOATS.values():
        cursor.error("failed to verify 'elementType': VectorElementTypeInterface instance", start)
    scalable = builtin.ArrayAttr([builtin.BoolAttr.from_bool(scales) for _, scales in dimensions])
    return builtin.VectorType(element, [size for size, _ in dimensions], scalable)


def _memref(cursor: Cursor) -> Attribute:
    cursor.advance()
    cursor.expect("<", " in memref type")
    is_unranked = _accept_unranked(cursor)
    shape = () if is_unranked else tuple([size for size, _ in _dimensions(cursor)])
    start = cursor.offset
    element = read_type(cursor)
    if isinstance(element, NO_MEMREF_ELEMENTS):
        cursor.error("invalid memref element type", start)
    layout: Attribute = builtin.NoneAttr()
    space: Attribute = builtin.NoneAttr()
    while cursor.accept(","):
        start = cursor.offset
        found = cursor.attribute()
        if isinstance(found, builtin.MemRefLayoutAttr):
            if is_unranked:
                cursor.error("cannot have affine map for unranked memref type", start)
            layout = found
        else:
            space = found
    cursor.expect(">", " in memref type")
    if is_unranked:
        return builtin.UnrankedMemRefType.new((element, space))
    if isinstance(layout, builtin.AffineMapAttr) and layout.data == AffineMap.identity(len(shape)):
        layout = builtin.NoneAttr()
    return builtin.MemRefType.new((_shape(shape), element, layout, space))


def _complex(cursor: Cursor) -> Attribute:
    cursor.advance()
    cursor.expect("<", " in complex type")
    start = cursor.offset
    element = read_type(cursor)
    cursor.expect(">", " in complex type")
    if not (is_integer(element) or element in _FLOATS.values()):
        cursor.error("invalid element type for complex", start)
    return builtin.ComplexType.new((element,))


def _tuple(cursor: Cursor) -> Attribute:
    cursor.advance()
    members = cursor.items(lambda: read_type_or_function(cursor), "<", ">", " in tuple type")
    return builtin.TupleType.new((builtin.ArrayAttr(members),))


_READERS = {"tensor": _tensor, "vector": _vector, "memref": _memref, "complex": _complex, "tuple": _tuple}


def _dialect_type(cursor: Cursor) -> Attribute:
    from shardy_py.mlir.text.dialect_symbols import read_dialect_symbol

    start = cursor.offset
    alias = cursor.type_aliases.get(cursor.token[1:])
    if alias is not None:
        cursor.use_alias(cursor.token)
        cursor.advance()
        return alias
    found = read_dialect_symbol(cursor, "types")
    if not isinstance(found, TypeAttribute):
        cursor.error("expected type", start)
    return found
