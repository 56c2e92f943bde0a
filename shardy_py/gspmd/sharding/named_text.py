"""Parses XLA's text of shardings by mesh and axes: `mesh['x'=4,'y'=2], [{'x'}, {?}], manual={'y'}`.

Also the tokens of all text of shardings. Not here: the braces around it (`text.py`), printing (`named.py`).

>>> str(read_named(ShardingCursor("mesh['x'=4], [{'x':(1)2, ?}]")))
"mesh['x'=4], [{'x':(1)2, ?}]"
"""

from __future__ import annotations

import re

from shardy_py.cursor import TokenCursor, token_expression
from shardy_py.gspmd.sharding.named import GROUPS, REDUCTIONS, NamedHloSharding, checked_mesh
from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding

MESH_WORDS = ("mesh", "maximal_mesh", "single_device")
"""The words that such a sharding starts with; `single_device` is the newer spelling of `maximal_mesh`."""


class ShardingCursor(TokenCursor):
    """A cursor over the text of a sharding."""

    TOKEN = token_expression(
        r"\s++|/\*.*?\*/",
        arrow="<=",
        number="-?[0-9]++",
        word=r"[A-Za-z_]\w*+",
        string=r""" "(?:[^"\\]|\\.)*+" | '(?:[^'\\]|\\.)*+' """,
        unclosed=r"""(?:["']|/\*).*+""",
    )

    def string(self) -> str:
        """Steps over a string in quotes of either kind and returns it without them."""
        return re.sub(r"\\(.)", r"\1", self.take("string", "a string")[1:-1], flags=re.DOTALL)

    def integers(self, opening: str = "[", closing: str = "]") -> tuple[int, ...]:
        """Steps over a list of at least one integer in brackets."""
        found = self.items(self.integer, opening, closing)
        if not found:
            self.error("expected at least one integer", self.previous_end - 1)
        return tuple(found)

    def order(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Steps over `T(1,0)`, the order of the dimensions of an iota; without it they are in order."""
        return self.integers("(", ")") if self.accept("T") else tuple(range(len(sizes)))


def read_named(cursor: ShardingCursor) -> NamedHloSharding:
    """The sharding at the cursor, up to its closing brace or its metadata."""
    start = cursor.offset
    if cursor.one_of(*MESH_WORDS) != "mesh":
        return NamedHloSharding(TensorSharding(_read_single_device(cursor), ()))
    mesh = _read_mesh(cursor)
    dimensions: tuple[DimensionSharding, ...] = ()
    groups: dict[str, tuple[AxisRef, ...]] = {}
    reduction = "sum"
    while cursor.at(",") and cursor.following() != "metadata":
        cursor.advance()
        if cursor.at("["):
            dimensions = tuple(cursor.items(lambda: _read_dimension(cursor, mesh)))
            continue
        word = cursor.one_of(*GROUPS)
        has_axes = cursor.accept("=")
        if has_axes and word == "unreduced" and not cursor.at("{"):
            reduction = cursor.one_of(*REDUCTIONS)
            has_axes = cursor.at("{")
        if has_axes:
            groups[word] = tuple(cursor.items(lambda: _read_axis(cursor, mesh), "{", "}"))
        elif word != "replicated":
            groups[word] = tuple(AxisRef(axis.name) for axis in mesh.axes)
    replicated, unreduced, manual = (groups.get(word, ()) for word in GROUPS)
    named = NamedHloSharding(TensorSharding(mesh, dimensions, replicated, unreduced, reduction), manual)
    with cursor.errors_at(start):
        return named.checked()


def _read_single_device(cursor: ShardingCursor) -> Mesh:
    for token in ("[", "device_id", "="):
        cursor.expect(token)
    device = cursor.integer()
    cursor.expect("]")
    return Mesh((), (device,))


def _read_mesh(cursor: ShardingCursor) -> Mesh:
    start = cursor.offset
    axes = cursor.items(lambda: _read_mesh_axis(cursor))
    ids: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    perm: tuple[int, ...] = ()
    if cursor.at(",") and cursor.following() == "device_ids":
        for token in (",", "device_ids", "="):
            cursor.expect(token)
        if cursor.following() == "[":
            cursor.expect("(")
            sizes = cursor.integers()
            perm = cursor.order(sizes)
            cursor.expect(")")
        else:
            ids = cursor.integers("(", ")")
    with cursor.errors_at(start):
        return checked_mesh(axes, ids, sizes, perm)


def _read_mesh_axis(cursor: ShardingCursor) -> tuple[str, int]:
    name = cursor.string()
    cursor.expect("=")
    return name, cursor.integer()


def _read_dimension(cursor: ShardingCursor, mesh: Mesh) -> DimensionSharding:
    parts = cursor.items(lambda: None if cursor.accept("?") else _read_axis(cursor, mesh), "{", "}")
    if None in parts[:-1]:
        cursor.error("expected '?' only behind the axes")
    return DimensionSharding(tuple(axis for axis in parts if axis is not None), is_closed=None not in parts)


def _read_axis(cursor: ShardingCursor, mesh: Mesh) -> AxisRef:
    """An axis by its name, or by its number where XLA printed it without a mesh."""
    name = cursor.string()
    if name not in mesh.sizes and name.isdecimal() and int(name) < len(mesh.axes):
        name = mesh.axes[int(name)].name
    if not cursor.accept(":"):
        return AxisRef(name)
    cursor.expect("(")
    pre_size = cursor.integer()
    cursor.expect(")")
    return AxisRef(name, SubAxis(pre_size, cursor.integer()))
