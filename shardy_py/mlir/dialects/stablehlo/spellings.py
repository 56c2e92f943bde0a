"""The text of attributes with a notation of their own: convolutions, and replica groups as axes of a mesh.

The dimension numbers of a convolution are `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`. A letter is the role of
a dimension: `b` batch, `f` feature, `i` and `o` the kernel's input and output feature; a number is a spatial
dimension's.

>>> numbers = structs.ConvDimensionNumbers(0, 2, (1,), 1, 2, (0,), 0, 2, (1,))
>>> conv_text(numbers), sub_axis_text(structs.SubAxisInfo(1, 2))
('[b, 0, f]x[0, i, o]->[b, 0, f]', '(1)2')

Not here: the window of a convolution (`elements.py`), the sdy dialect's meshes, which are others.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from shardy_py.mlir.dialects.attribute_classes import ValueText, fields_text, read_fields, strict_text
from shardy_py.mlir.dialects.stablehlo import structs
from shardy_py.mlir.dialects.stablehlo.structs import ConvDimensionNumbers
from shardy_py.mlir.text.assembly import expect_words
from shardy_py.mlir.text.attribute_writer import attribute_text, string_literal
from shardy_py.mlir.text.cursor import Cursor

_PARTS = {"input": ("", "bf"), "kernel": ("x", "io"), "output": ("->", "bf")}
"""The text before each part, and its letters."""
_MOST_NAMED = 10


def conv_text(numbers: ConvDimensionNumbers) -> str | None:
    """The short text; None if the numbers do not number the dimensions."""
    texts: list[str] = []
    for name, dimensions in numbers.sides().items():
        before, letters = _PARTS[name]
        roles = dict(zip(dimensions, (*letters, *map(str, range(len(dimensions) - 2))), strict=True))
        if sorted(roles) != list(range(len(dimensions))):
            return None
        texts.append(f"{before}[{', '.join(roles[dimension] for dimension in range(len(dimensions)))}]")
    return "".join(texts)


def read_conv(cursor: Cursor) -> ConvDimensionNumbers:
    """Reads the short text."""
    values: list[Any] = []
    for before, letters in _PARTS.values():
        if before:
            cursor.expect(before)
        values += _read_part(cursor, letters)
    return ConvDimensionNumbers(*values)


def _read_part(cursor: Cursor, letters: str) -> tuple[int, int, tuple[int, ...]]:
    """`[b, 0, 1, f]`: the positions of the two letters, and those of the numbers."""
    missing = sorted(letters, key="bfio".index)
    named: dict[str, int] = {}
    spatial: dict[int, int] = {}
    cursor.expect("[")
    index = 0
    while True:
        if cursor.is_integer():
            _read_spatial(cursor, spatial, index)
        else:
            named[_read_letter(cursor, missing)] = index
        index += 1
        if not cursor.accept(","):
            break
    if missing:
        cursor.form_error(f"Expected dimensions {', '.join(missing)} not specified")
    cursor.expect("]")
    absent = (str(number) for number in range(max(spatial, default=-1) + 1) if number not in spatial)
    if listed := list(islice(absent, _MOST_NAMED)):
        cursor.form_error(f"Expected spatial dimensions {', '.join(listed)} not specified")
    return named[letters[0]], named[letters[1]], tuple(spatial[number] for number in range(len(spatial)))


def _read_spatial(cursor: Cursor, spatial: dict[int, int], index: int) -> None:
    start = cursor.offset
    number = cursor.integer()
    if number < 0:
        cursor.form_error(f"Unexpected dimension {number}", start)
    if number in spatial:
        cursor.form_error(f"Duplicate entries for spatial dimension {number}", start)
    spatial[number] = index


def _read_letter(cursor: Cursor, missing: list[str]) -> str:
    start = cursor.offset
    letter = cursor.keyword()
    if len(letter) != 1 or not missing:
        cursor.form_error(f"Unexpected keyword {letter}", start)
    if letter not in missing:
        cursor.form_error(f"Unexpected dimension {letter}, expecting {', '.join(missing)}", start)
    missing.remove(letter)
    return letter


def _read(cursor: Cursor) -> ConvDimensionNumbers:
    cursor.expect("<")
    if cursor.accept("raw"):
        return read_fields(cursor, ConvDimensionNumbers)
    numbers = read_conv(cursor)
    cursor.expect(">")
    return numbers


CONV_TEXT = ValueText(_read, lambda value: f"<{conv_text(value) or 'raw ' + fields_text(value)}>")
"""`<[b, 0, f]x[0, i, o]->[b, 0, f]>`, or `<raw ...>` with all fields."""


def _read_sub_axis(cursor: Cursor) -> structs.SubAxisInfo:
    cursor.expect("(")
    pre_size = cursor.integer()
    cursor.expect(")")
    return structs.SubAxisInfo(pre_size, cursor.integer())


def sub_axis_text(value: structs.SubAxisInfo) -> str:
    """`(1)2`."""
    return f"({value.pre_size}){value.size}"


SUB_AXIS_TEXT = ValueText(_read_sub_axis, sub_axis_text)
"""`(1)2`, without angle brackets."""


_AXIS_FIELDS: dict[str, Callable[[Cursor], object]] = {"name": Cursor.string, "sub_axis_info": _read_sub_axis}


def _read_axis_ref(cursor: Cursor) -> structs.StablehloAxisRef:
    fields: dict[str, Any] = {}

    def item() -> None:
        name = cursor.token
        if name not in _AXIS_FIELDS or name in fields:
            cursor.error(f"duplicate or unknown struct parameter name: {name}")
        cursor.advance()
        cursor.expect("=")
        fields[name] = _AXIS_FIELDS[name](cursor)

    cursor.items(item, "<", ">")
    if "name" not in fields:
        cursor.error("struct is missing required parameter: name")
    return structs.StablehloAxisRef(**fields)


def _axis_ref_text(axis: structs.StablehloAxisRef) -> str:
    part = f", sub_axis_info = {sub_axis_text(axis.sub_axis_info)}" if axis.sub_axis_info else ""
    return f"<name = {string_literal(axis.name)}{part}>"


AXIS_REF_TEXT = ValueText(_read_axis_ref, _axis_ref_text)
"""`<name = "x", sub_axis_info = (1)2>`."""


_AXIS_TEXT = strict_text(structs.StablehloMeshAxis)


def _read_mesh_axis(cursor: Cursor) -> structs.StablehloMeshAxis:
    if cursor.token[:1] != "#":
        return _AXIS_TEXT.read(cursor)
    start = cursor.offset
    axis: object = getattr(cursor.attribute(), "data", None)
    if not isinstance(axis, structs.StablehloMeshAxis):
        cursor.form_error("invalid kind of attribute specified", start)
    return axis


def _read_mesh(cursor: Cursor) -> structs.StablehloMesh:
    expect_words(cursor, "<axes = [")
    axes = [_read_mesh_axis(cursor)]
    while cursor.accept(","):
        axes.append(_read_mesh_axis(cursor))
    cursor.expect("]")
    device_ids = None
    if cursor.accept(","):
        expect_words(cursor, "device_ids =")
        device_ids = cursor.attribute()
    cursor.expect(">")
    return structs.StablehloMesh(tuple(axes), device_ids)


def _mesh_text(mesh: structs.StablehloMesh) -> str:
    axes = ", ".join(map(_AXIS_TEXT.write, mesh.axes))
    ids = f", device_ids={attribute_text(mesh.device_ids)}" if mesh.device_ids is not None else ""
    return f"<axes=[{axes}]{ids}>"


MESH_TEXT = ValueText(_read_mesh, _mesh_text)
"""`<axes=[<name = "x", size = 2>], device_ids=dense<[1, 0]> : tensor<2xi64>>`."""
