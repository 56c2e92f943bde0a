"""The text of the attributes that describe replica groups as axes of a mesh.

>>> sub_axis_text(SubAxisInfo(1, 2))
'(1)2'

Not here: the sdy dialect's meshes, which are others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shardy_py.dialects.attribute_classes import ValueText, strict_text
from shardy_py.dialects.stablehlo import structs
from shardy_py.text.assembly import expect_words
from shardy_py.text.attribute_writer import attribute_text, string_literal
from shardy_py.text.cursor import Cursor


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


_AXIS_FIELDS: dict[str, Callable[[Cursor], Any]] = {"name": Cursor.string, "sub_axis_info": _read_sub_axis}


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
    attribute: Any = cursor.attribute() if cursor.token[:1] == "#" else None
    return _AXIS_TEXT.read(cursor) if attribute is None else attribute.data


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
