"""The text of axes and meshes: a reader beside each printer that `str` of the value is not.

>>> from shardy_py.text.source import Source
>>> str(read_mesh(Cursor(Source('<["x"=2, "y"=4]>'))))
'<["x"=2, "y"=4]>'
"""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.dialects.sdy.attributes import AxisRefAttr, MeshAxisAttr, SubAxisInfoAttr
from shardy_py.dialects.sdy.syntax_parameters import (
    bare_or_full,
    checked,
    integer_parameter,
    optional_list,
    parameter,
    string_attribute_data,
)
from shardy_py.dialects.sdy.verify_values import check_mesh, check_mesh_axis
from shardy_py.sharding import AxisRef, Mesh, MeshAxis, SubAxis
from shardy_py.text.attribute_writer import string_literal
from shardy_py.text.cursor import Cursor

_STRING = "::llvm::StringRef"


def read_axis_ref(cursor: Cursor) -> AxisRef:
    """`"x"` or `"x":(2)4`."""
    name = parameter(cursor, "AxisRef", "name", _STRING, cursor.string)
    if not cursor.accept(":"):
        return AxisRef(name)
    return AxisRef(
        name,
        parameter(
            cursor,
            "AxisRef",
            "sub_axis_info",
            "SubAxisInfoAttr",
            lambda: bare_or_full(cursor, SubAxisInfoAttr, read_sub_axis),
        ),
    )


def read_sub_axis(cursor: Cursor) -> SubAxis:
    """`(2)4`."""
    cursor.expect("(")
    pre_size = integer_parameter(cursor, "SubAxisInfo", "pre_size")
    cursor.expect(")")
    return SubAxis(pre_size, integer_parameter(cursor, "SubAxisInfo", "size"))


def read_listed_axis(cursor: Cursor) -> AxisRef:
    """An axis in a list, where it may be given in full."""
    return bare_or_full(cursor, AxisRefAttr, read_axis_ref)


def read_axes(cursor: Cursor) -> tuple[AxisRef, ...]:
    """`{"x", "y"}`."""
    return optional_list(
        cursor, "AxisRefList", "value", "AxisRefAttr", lambda: read_listed_axis(cursor), "{}"
    )


def axes_text(axes: Iterable[AxisRef]) -> str:
    """`{"x", "y"}`."""
    return f"{{{', '.join(map(str, axes))}}}"


def read_mesh(cursor: Cursor) -> Mesh:
    """`<["x"=2, "y"=4], device_ids=[...]>`."""
    start = cursor.offset
    cursor.expect("<")
    axes = optional_list(
        cursor,
        "Mesh",
        "axes",
        "MeshAxisAttr",
        lambda: bare_or_full(cursor, MeshAxisAttr, read_mesh_axis),
    )
    device_ids: tuple[int, ...] = ()
    if cursor.accept(","):
        cursor.expect("device_ids")
        cursor.expect("=")
        device_ids = _read_device_ids(cursor)
    cursor.expect(">")
    return checked(cursor, start, check_mesh, _without_usual_order(Mesh(axes, device_ids)))


def _read_device_ids(cursor: Cursor) -> tuple[int, ...]:
    """`[0, 1]`: at least one."""
    if not cursor.at("["):
        cursor.expect("[")

    def read() -> list[int]:
        found = cursor.integers()
        if not found:
            cursor.move_to(cursor.previous_end - 1)
            cursor.form_error("expected integer value")
        return found

    return tuple(parameter(cursor, "Mesh", "device_ids", "::llvm::ArrayRef<int64_t>", read))


def _without_usual_order(mesh: Mesh) -> Mesh:
    """The same mesh without the device ids 0, 1, 2, ... that it has anyway."""
    count = len(mesh.device_ids)
    is_usual = bool(mesh.axes) and count == mesh.device_count and mesh.device_ids == tuple(range(count))
    return Mesh(mesh.axes) if is_usual else mesh


def read_mesh_axis(cursor: Cursor) -> MeshAxis:
    """`"x"=2`."""
    start = cursor.offset
    name = parameter(cursor, "MeshAxis", "name", _STRING, cursor.string)
    cursor.expect("=")
    return checked(
        cursor, start, check_mesh_axis, MeshAxis(name, integer_parameter(cursor, "MeshAxis", "size"))
    )


def read_manual_axes(cursor: Cursor) -> tuple[str, ...]:
    """`{"x", "y"}`: full axes by name."""
    return optional_list(
        cursor, "ManualAxes", "value", "StringAttr", lambda: string_attribute_data(cursor), "{}"
    )


def manual_axes_text(axes: Iterable[str]) -> str:
    """`{"x", "y"}`."""
    return f"{{{', '.join(map(string_literal, axes))}}}"
