"""The formats of meshes, axes, shardings, what collectives take, and propagation edges.

>>> from shardy_py.mlir.text.source import Source
>>> str(read_sharding(Cursor(Source('<@mesh, [{"x", "y":(1)2}, {?}p1], replicated={"z"}>'))))
'<@mesh, [{"x", "y":(1)2}, {?}p1], replicated={"z"}>'
"""

from __future__ import annotations

import re
from typing import get_args

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr

from shardy_py.mlir.dialects.sdy import attributes
from shardy_py.mlir.dialects.sdy.formats import (
    Format,
    Parameter,
    attribute_of,
    checked,
    integer,
    list_row,
    nested,
    row,
    sequence,
    several,
    string,
)
from shardy_py.mlir.dialects.sdy.verify_values import check_mesh, check_mesh_axis, check_steps
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.ops import REDUCTIONS
from shardy_py.sharding import (
    AxisEdge,
    AxisRef,
    DimensionSharding,
    EdgeNode,
    EdgeValueRef,
    Mesh,
    MeshAxis,
    PropagationStep,
    SubAxis,
    TensorSharding,
)
from shardy_py.sharding.spelling import string_literal

_PRIORITY = re.compile(r"p[0-9]+\Z", re.ASCII)
_MAX = 2**63 - 1

# ---------------------------------------------------------------------- axes

SUB_AXIS = row(attributes.SubAxisInfoAttr, SubAxis, "(", integer("pre_size"), ")", integer("size"))
_read_axis_name = string("name").reader("AxisRef")
_read_sub_axis = Parameter("sub_axis_info", "SubAxisInfoAttr", SUB_AXIS.nested).reader("AxisRef")


def _read_axis_ref(cursor: Cursor) -> AxisRef:
    """`"x"` or `"x":(2)4`."""
    name = _read_axis_name(cursor)
    return AxisRef(name, _read_sub_axis(cursor) if cursor.accept(":") else None)


AXIS_REF = Format(attributes.AxisRefAttr, _read_axis_ref)
AXES = list_row(attributes.AxisRefListAttr, "value", AXIS_REF, "{}")
AXIS_LISTS = list_row(attributes.ListOfAxisRefListsAttr, "value", AXES)
_STRING: Format[str] = Format(
    StringAttr, lambda cursor: attribute_of(StringAttr, cursor).data, string_literal
)
MANUAL_AXES = list_row(attributes.ManualAxesAttr, "value", _STRING, "{}")


def _all_to_all_text(move: attributes.AllToAllParam) -> str:
    axes, source, target = move
    return f"{AXES.write(axes)}: {source}->{target}"


ALL_TO_ALL_PARAM: Format[attributes.AllToAllParam] = row(
    attributes.AllToAllParamAttr,
    lambda *move: move,
    *("{", several("axes", AXIS_REF), "} :", integer("src_dim"), "->", integer("tgt_dim")),
    write=_all_to_all_text,
    owner="AllToAllParamAttr",
)
ALL_TO_ALL = list_row(attributes.AllToAllParamListAttr, "value", ALL_TO_ALL_PARAM)

# ---------------------------------------------------------------------- meshes

MESH_AXIS = row(
    attributes.MeshAxisAttr, MeshAxis, string("name"), "=", integer("size"), check=check_mesh_axis
)
_read_mesh_axes = several("axes", MESH_AXIS, "[]").reader("Mesh")


def read_mesh(cursor: Cursor) -> Mesh:
    """`<["x"=2, "y"=4], device_ids=[...]>`."""
    start = cursor.offset
    cursor.expect("<")
    axes = _read_mesh_axes(cursor)
    device_ids: tuple[int, ...] = ()
    if cursor.accept(","):
        cursor.expect("device_ids")
        cursor.expect("=")
        if not cursor.at("["):
            cursor.expect("[")
        device_ids = _read_device_ids(cursor)
    cursor.expect(">")
    return checked(cursor, start, check_mesh, without_usual_order(Mesh(axes, device_ids)))


def _read_integers(cursor: Cursor) -> tuple[int, ...]:
    """`[0, 1]`: at least one."""
    integers = cursor.integers()
    if not integers:
        cursor.move_to(cursor.previous_end - 1)
        cursor.form_error("expected integer value")
    return tuple(integers)


_read_device_ids = Parameter("device_ids", "::llvm::ArrayRef<int64_t>", _read_integers).reader("Mesh")


def without_usual_order(mesh: Mesh) -> Mesh:
    """The same mesh without the device ids 0, 1, 2, ... that it has anyway."""
    count = len(mesh.device_ids)
    is_usual = bool(mesh.axes) and count == mesh.device_count and mesh.device_ids == tuple(range(count))
    return Mesh(mesh.axes) if is_usual else mesh


MESH = Format(attributes.MeshAttr, read_mesh)

# ---------------------------------------------------------------------- shardings


def _read_dimension(cursor: Cursor) -> DimensionSharding:
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
        axes.append(_read_axis_ref(cursor))
    priority = _read_priority(cursor) if cursor.is_identifier() else None
    return DimensionSharding(tuple(axes), is_closed, priority)


def _read_priority(cursor: Cursor) -> int:
    token = cursor.advance()
    if _PRIORITY.match(token) is None:
        cursor.form_error(f"expecting priority in format 'p<number>', got: {token}")
    digits = token[1:]
    if digits[0] == "0" and len(digits) > 1:
        cursor.form_error(f"priorities with leading zeros are not allowed, got: {token}")
    if len(digits) > 19 or int(digits) > _MAX:
        cursor.form_error(f"expecting integer priority, got: {token}")
    return int(digits)


def _read_mesh_or_reference(cursor: Cursor) -> str | Mesh:
    """`@mesh` or `mesh<...>`."""
    if cursor.accept("mesh"):
        return cursor.explained(MESH.nested, "failed to parse MeshAttr")
    if cursor.token[:1] == "@":
        return cursor.symbol()
    return cursor.explained(
        _read_reference, "expecting MeshAttr or FlatSymbolRefAttr, got: <<NULL ATTRIBUTE>>"
    )


def _read_reference(cursor: Cursor) -> str:
    start = cursor.offset
    reference = cursor.attribute()
    if not isinstance(reference, SymbolRefAttr) or reference.nested_references.data:
        cursor.form_error("invalid kind of attribute specified", start)
    return reference.root_reference.data


def read_sharding(cursor: Cursor) -> TensorSharding:
    """`<@mesh, [{"x"}, {?}], replicated={...}, unreduced=max{...}>`."""
    cursor.expect("<")
    mesh = _read_mesh_or_reference(cursor)
    cursor.expect(",")
    dimensions = _read_dimensions(cursor)
    replicated: tuple[AxisRef, ...] = ()
    unreduced: tuple[AxisRef, ...] = ()
    reduction = "sum"
    while cursor.accept(","):
        if not replicated and cursor.accept("replicated"):
            replicated = cursor.explained(_read_replicated, _FAILED.format("replicated"))
        elif not unreduced and cursor.accept("unreduced"):
            if cursor.accept("=") and cursor.token in REDUCTIONS:
                reduction = cursor.advance()
            unreduced = cursor.explained(_read_axes, _FAILED.format("unreduced"))
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
        lambda cursor: sequence(cursor, AXIS_REF.nested),
        "failed to parse axis list which is expected to be an `ArrayRef<AxisRefAttr>`",
    )
    cursor.expect("}")
    return axes


DIMENSION = Format(attributes.DimensionShardingAttr, _read_dimension)
_read_dimensions = several("dim_shardings", DIMENSION, "[]").reader("TensorSharding")
SHARDING = Format(attributes.TensorShardingAttr, read_sharding)
PER_VALUE = row(
    attributes.TensorShardingPerValueAttr,
    tuple[TensorSharding, ...],
    *("<", several("shardings", SHARDING, "[]"), ">"),
    write=lambda shardings: f"<{SHARDING_LIST.write(shardings)}>",
)
SHARDING_LIST: Format[tuple[TensorSharding, ...]] = Format(
    attributes.TensorShardingPerValueAttr,
    lambda cursor: tuple(cursor.items(lambda: SHARDING.nested(cursor))),
    lambda shardings: f"[{', '.join(map(str, shardings))}]",
)
"""Shardings in an op's form: without angle brackets."""

# ---------------------------------------------------------------------- propagation edges

_NODES: tuple[EdgeNode, ...] = get_args(EdgeNode)


def _read_node(cursor: Cursor) -> EdgeNode:
    start = cursor.offset
    if cursor.token[:1] == '"':
        word = cursor.string()
    elif cursor.is_identifier():
        word = cursor.advance()
    else:
        cursor.form_error("expected valid keyword or string")
    for node in _NODES:
        if node == word:
            return node
    return cursor.form_error(f"expected ::mlir::sdy::EdgeNodeType to be one of: {', '.join(_NODES)}", start)


EDGE_VALUE = row(
    attributes.EdgeValueRefAttr,
    EdgeValueRef,
    *(Parameter("type", "::mlir::sdy::EdgeNodeType", _read_node), "-", integer("index")),
)
AXIS_EDGE = row(
    attributes.AxisToPropagationDetailsAttr,
    AxisEdge,
    *("{", nested("axis_name", AXIS_REF), "=", nested("source", EDGE_VALUE)),
    *("-> [", several("targets", EDGE_VALUE), "] }"),
)
STEP = row(
    attributes.PropagationOneStepAttr,
    PropagationStep,
    *("{ step -", integer("step_index"), "= [", several("axis_entries", AXIS_EDGE), "] }"),
)
EDGES = row(
    attributes.PropagationEdgesAttr,
    tuple[PropagationStep, ...],
    *("< [", several("value", STEP), "] >"),
    check=check_steps,
    write=lambda steps: f"<[{', '.join(map(str, steps))}]>",
)
