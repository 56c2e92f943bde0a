"""The text of shardings: readers; printing is `str` of the values.

>>> from shardy_py.text.source import Source
>>> str(read_sharding(Cursor(Source('<@mesh, [{"x", "y":(1)2}, {?}p1], replicated={"z"}>'))))
'<@mesh, [{"x", "y":(1)2}, {?}p1], replicated={"z"}>'
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from xdsl.dialects.builtin import SymbolRefAttr

from shardy_py.dialects.sdy.attributes import DimensionShardingAttr, MeshAttr, TensorShardingAttr
from shardy_py.dialects.sdy.syntax_axes import read_axis_ref, read_listed_axis, read_mesh
from shardy_py.dialects.sdy.syntax_parameters import bare_or_full, optional_list, sequence
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, TensorSharding
from shardy_py.text.cursor import Cursor

REDUCTIONS = ("sum", "max", "min")

_DIGITS = re.compile(r"p[0-9]+\Z", re.ASCII)
_MAX = 2**63 - 1


def read_dimension_sharding(cursor: Cursor) -> DimensionSharding:
    """`{"x", ?}p1`."""
    cursor.expect("{")
    axes: list[AxisRef] = []
    is_closed = True
    while not cursor.accept("}"):
        if axes:
            cursor.expect(",")
        if cursor.accept("?"):
            is_closed = False
            cursor.expect("}")
            break
        axes.append(read_axis_ref(cursor))
    priority = _read_priority(cursor) if cursor.is_identifier() else None
    return DimensionSharding(tuple(axes), is_closed, priority)


def _read_priority(cursor: Cursor) -> int:
    token = cursor.advance()
    if _DIGITS.match(token) is None:
        cursor.form_error(f"expecting priority in format 'p<number>', got: {token}")
    digits = token[1:]
    if digits[0] == "0" and len(digits) > 1:
        cursor.form_error(f"priorities with leading zeros are not allowed, got: {token}")
    if len(digits) > 19 or int(digits) > _MAX:
        cursor.form_error(f"expecting integer priority, got: {token}")
    return int(digits)


def read_mesh_or_reference(cursor: Cursor) -> str | Mesh:
    """`@mesh` or `mesh<...>`."""
    if cursor.accept("mesh"):
        return cursor.explained(lambda: bare_or_full(cursor, MeshAttr, read_mesh), "failed to parse MeshAttr")
    if cursor.token[:1] == "@":
        return cursor.symbol()
    return cursor.explained(
        lambda: _read_reference(cursor),
        "expecting MeshAttr or FlatSymbolRefAttr, got: <<NULL ATTRIBUTE>>",
    )


def _read_reference(cursor: Cursor) -> str:
    start = cursor.offset
    found: Any = cursor.attribute()
    if not isinstance(found, SymbolRefAttr) or found.nested_references.data:
        cursor.form_error("invalid kind of attribute specified", start)
    return found.root_reference.data


def read_sharding(cursor: Cursor) -> TensorSharding:
    """`<@mesh, [{"x"}, {?}], replicated={...}, unreduced=max{...}>`."""
    cursor.expect("<")
    mesh = read_mesh_or_reference(cursor)
    cursor.expect(",")
    dimensions = optional_list(
        cursor,
        "TensorSharding",
        "dim_shardings",
        "DimensionShardingAttr",
        lambda: bare_or_full(cursor, DimensionShardingAttr, read_dimension_sharding),
    )
    replicated: tuple[AxisRef, ...] = ()
    unreduced: tuple[AxisRef, ...] = ()
    reduction = "sum"
    while cursor.accept(","):
        if not replicated and cursor.accept("replicated"):
            replicated = cursor.explained(lambda: _read_replicated(cursor), _FAILED.format("replicated"))
        elif not unreduced and cursor.accept("unreduced"):
            if cursor.accept("=") and cursor.token in REDUCTIONS:
                reduction = cursor.advance()
            unreduced = cursor.explained(lambda: _read_axes(cursor), _FAILED.format("unreduced"))
        else:
            cursor.form_error(
                "failed to parse Sdy_TensorSharding, expected valid named axis list after comma"
            )
    cursor.expect(">")
    return TensorSharding(mesh, dimensions, replicated, unreduced, reduction)


_FAILED = "failed to parse Sdy_TensorSharding parameter '{}_axes'"


def _read_replicated(cursor: Cursor) -> tuple[AxisRef, ...]:
    cursor.expect("=")
    return _read_axes(cursor)


def _read_axes(cursor: Cursor) -> tuple[AxisRef, ...]:
    """`{"x", "y"}`: at least one."""
    cursor.expect("{")
    axes = cursor.explained(
        lambda: sequence(cursor, lambda: read_listed_axis(cursor)),
        "failed to parse axis list which is expected to be an `ArrayRef<AxisRefAttr>`",
    )
    cursor.expect("}")
    return axes


def read_sharding_list(cursor: Cursor) -> tuple[TensorSharding, ...]:
    """`[<@mesh, [...]>, ...]`."""
    return tuple(cursor.items(lambda: _read_listed_sharding(cursor)))


def _read_listed_sharding(cursor: Cursor) -> TensorSharding:
    return bare_or_full(cursor, TensorShardingAttr, read_sharding)


def sharding_list_text(shardings: Iterable[TensorSharding]) -> str:
    """`[<@mesh, [...]>, ...]`."""
    return f"[{', '.join(map(str, shardings))}]"


def read_per_value(cursor: Cursor) -> tuple[TensorSharding, ...]:
    """`<[<@mesh, [...]>, ...]>`."""
    cursor.expect("<")
    shardings = optional_list(
        cursor,
        "TensorShardingPerValue",
        "shardings",
        "TensorShardingAttr",
        lambda: _read_listed_sharding(cursor),
    )
    cursor.expect(">")
    return shardings
