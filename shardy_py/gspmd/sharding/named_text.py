"""Reads XLA's text of shardings by mesh and axes: `mesh['x'=4,'y'=2], [{'x'}, {?}], manual={'y'}`.

Not here: the braces around it (`text.py`), writing (`named.py`).

>>> str(read_named(TextCursor("mesh['x'=4], [{'x':(1)2, ?}]", "sharding")))
"mesh['x'=4], [{'x':(1)2, ?}]"
"""

from __future__ import annotations

from math import prod

from shardy_py.gspmd.sharding.named import NamedHloSharding, check_named
from shardy_py.gspmd.sharding.text_cursor import TextCursor
from shardy_py.gspmd.sharding.tile_assignment import TileAssignment
from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.mesh import Mesh, MeshAxis
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding

MESH_WORDS = ("mesh", "maximal_mesh", "single_device")
"""The words with which such a sharding starts; `single_device` is the newer spelling of `maximal_mesh`."""

_GROUPS = ("replicated", "unreduced", "manual")
_REDUCTIONS = ("sum", "max", "min")


def read_named(cursor: TextCursor) -> NamedHloSharding:
    """The sharding at the cursor, up to its closing brace or its metadata."""
    if cursor.advance() != "mesh":
        return NamedHloSharding(TensorSharding(_read_single_device(cursor), ()))
    mesh = _read_mesh(cursor)
    dimensions: tuple[DimensionSharding, ...] = ()
    groups: dict[str, tuple[AxisRef, ...]] = {}
    reduction = "sum"
    while cursor.token == "," and not cursor.text.startswith("metadata", _after_comma(cursor)):
        cursor.advance()
        if cursor.at("["):
            dimensions = cursor.list("[", "]", lambda: _read_dimension(cursor, mesh))
            continue
        word = cursor.one_of(_GROUPS)
        has_value = cursor.accept("=")
        if has_value and word == "unreduced" and not cursor.at("{"):
            reduction = cursor.one_of(_REDUCTIONS)
            has_value = cursor.at("{")
        if has_value:
            groups[word] = cursor.list("{", "}", lambda: _read_axis(cursor, mesh))
        elif word != "replicated":
            groups[word] = tuple(AxisRef(axis.name) for axis in mesh.axes)
    replicated, unreduced, manual = (groups.get(word, ()) for word in _GROUPS)
    named = NamedHloSharding(TensorSharding(mesh, dimensions, replicated, unreduced, reduction), manual)
    check_named(named)
    return named


def _after_comma(cursor: TextCursor) -> int:
    offset = cursor.offset + 1
    while cursor.text[offset : offset + 1].isspace():
        offset += 1
    return offset


def _read_single_device(cursor: TextCursor) -> Mesh:
    cursor.expect("[")
    cursor.expect("device_id")
    cursor.expect("=")
    device = cursor.integer()
    cursor.expect("]")
    return Mesh((), (device,))


def _read_mesh(cursor: TextCursor) -> Mesh:
    axes = cursor.list("[", "]", lambda: _read_mesh_axis(cursor))
    names = [axis.name for axis in axes]
    if len(set(names)) < len(names):
        raise cursor.error("the axes of a mesh have different names")
    if cursor.token == "," and cursor.text.startswith("device_ids", _after_comma(cursor)):
        cursor.advance()
        return Mesh(axes, _read_device_ids(cursor, prod(axis.size for axis in axes)))
    return Mesh(axes)


def _read_mesh_axis(cursor: TextCursor) -> MeshAxis:
    name = cursor.string()
    cursor.expect("=")
    size = cursor.integer()
    if size < 1:
        raise cursor.error(f"the size of axis '{name}' is positive")
    return MeshAxis(name, size)


def _read_device_ids(cursor: TextCursor, count: int) -> tuple[int, ...]:
    """`device_ids=(1,0)` or `device_ids=([2,2]T(1,0))`; () where they are in order."""
    cursor.expect("device_ids")
    cursor.expect("=")
    start = cursor.offset
    cursor.expect("(")
    if cursor.token == "[":
        sizes = cursor.integers("[", "]")
        perm = cursor.integers("(", ")") if cursor.accept("T") else tuple(range(len(sizes)))
        cursor.expect(")")
        if min(sizes) < 1 or prod(sizes) != count or sorted(perm) != list(range(len(sizes))):
            raise cursor.error(f"expected an order of {count} devices", start)
        ids = TileAssignment.iota((count,), sizes, perm).devices
    else:
        listed = [cursor.integer()]
        while cursor.accept(","):
            listed.append(cursor.integer())
        cursor.expect(")")
        ids = tuple(listed)
        if sorted(ids) != list(range(count)):
            raise cursor.error(f"expected each of the devices 0 to {count - 1} once", start)
    return () if ids == tuple(range(count)) else ids


def _read_dimension(cursor: TextCursor, mesh: Mesh) -> DimensionSharding:
    parts = cursor.list("{", "}", lambda: None if cursor.accept("?") else _read_axis(cursor, mesh))
    if None in parts[:-1]:
        raise cursor.error("`?` stands behind the axes")
    axes = tuple(axis for axis in parts if axis is not None)
    return DimensionSharding(axes, is_closed=None not in parts)


def _read_axis(cursor: TextCursor, mesh: Mesh) -> AxisRef:
    """An axis by its name, or by its number where XLA has printed it without a mesh."""
    name = cursor.string()
    if name not in mesh.sizes and name.isdecimal() and int(name) < len(mesh.axes):
        name = mesh.axes[int(name)].name
    if not cursor.accept(":"):
        return AxisRef(name)
    cursor.expect("(")
    pre_size = cursor.integer()
    cursor.expect(")")
    return AxisRef(name, SubAxis(pre_size, cursor.integer()))
