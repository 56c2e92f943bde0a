"""The text of propagation edges: readers; printing is `str` of the values.

>>> from shardy_py.text.source import Source
>>> edges_text(read_edges(Cursor(Source('<[{step-2 = [{"x" = operand-0 -> [result-0, operand-1]}]}]>'))))
'<[{step-2 = [{"x" = operand-0 -> [result-0, operand-1]}]}]>'
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from shardy_py.dialects.sdy.attributes import (
    AxisRefAttr,
    AxisToPropagationDetailsAttr,
    EdgeValueRefAttr,
    PropagationOneStepAttr,
)
from shardy_py.dialects.sdy.syntax_axes import read_axis_ref
from shardy_py.dialects.sdy.syntax_parameters import (
    bare_or_full,
    checked,
    integer_parameter,
    list_parameter,
    parameter,
)
from shardy_py.dialects.sdy.verify_values import check_steps
from shardy_py.sharding import AxisEdge, EdgeNode, EdgeValueRef, PropagationStep
from shardy_py.text.cursor import Cursor

_NODES: tuple[EdgeNode, ...] = get_args(EdgeNode)


def read_edge_value(cursor: Cursor) -> EdgeValueRef:
    """`operand-0`."""
    owner = "EdgeValueRef"
    node: EdgeNode = parameter(cursor, owner, "type", "::mlir::sdy::EdgeNodeType", lambda: _read_node(cursor))
    cursor.expect("-")
    return EdgeValueRef(node, integer_parameter(cursor, owner, "index"))


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


def read_axis_edge(cursor: Cursor) -> AxisEdge:
    """`{"x" = operand-0 -> [result-0]}`."""
    owner = "AxisToPropagationDetails"

    def value() -> EdgeValueRef:
        return bare_or_full(cursor, EdgeValueRefAttr, read_edge_value)

    cursor.expect("{")
    axis = parameter(
        cursor,
        owner,
        "axis_name",
        "::mlir::sdy::AxisRefAttr",
        lambda: bare_or_full(cursor, AxisRefAttr, read_axis_ref),
    )
    cursor.expect("=")
    source = parameter(cursor, owner, "source", "::mlir::sdy::EdgeValueRefAttr", value)
    cursor.expect("->")
    cursor.expect("[")
    targets = list_parameter(cursor, owner, "targets", "EdgeValueRefAttr", value)
    cursor.expect("]")
    cursor.expect("}")
    return AxisEdge(axis, source, targets)


def read_step(cursor: Cursor) -> PropagationStep:
    """`{step-0 = [{"x" = operand-0 -> [result-0]}]}`."""
    owner = "PropagationOneStep"
    cursor.expect("{")
    cursor.expect("step")
    cursor.expect("-")
    index = integer_parameter(cursor, owner, "step_index")
    cursor.expect("=")
    cursor.expect("[")
    edges = list_parameter(
        cursor,
        owner,
        "axis_entries",
        "AxisToPropagationDetailsAttr",
        lambda: bare_or_full(cursor, AxisToPropagationDetailsAttr, read_axis_edge),
    )
    cursor.expect("]")
    cursor.expect("}")
    return PropagationStep(index, edges)


def read_edges(cursor: Cursor) -> tuple[PropagationStep, ...]:
    """`<[{step-0 = [...]}, {step-3 = [...]}]>`."""
    start = cursor.offset
    cursor.expect("<")
    cursor.expect("[")
    steps = list_parameter(
        cursor,
        "PropagationEdges",
        "value",
        "PropagationOneStepAttr",
        lambda: bare_or_full(cursor, PropagationOneStepAttr, read_step),
    )
    cursor.expect("]")
    cursor.expect(">")
    return checked(cursor, start, check_steps, steps)


def edges_text(steps: Iterable[PropagationStep]) -> str:
    """`<[{step-0 = [...]}, {step-3 = [...]}]>`."""
    return f"<[{', '.join(map(str, steps))}]>"
