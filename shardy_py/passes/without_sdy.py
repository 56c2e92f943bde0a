"""Ops of sdy that other dialects say otherwise: those that only move data, and its constants.

Not here: what they become (the passes that write other dialects).
"""

from __future__ import annotations

from xdsl.ir import Operation

from shardy_py.dialects.sdy import ConstantOp
from shardy_py.dialects.stablehlo import op_class
from shardy_py.graph.holders import PROPERTY_OF
from shardy_py.graph.rewiring import replace_op
from shardy_py.ir import build_operation

WITHOUT_MOVE = ("sdy.all_reduce", "sdy.propagation_barrier")
"""Ops that result in their operand, sharded as it is."""

MOVING = tuple(name for name in PROPERTY_OF if name not in (*WITHOUT_MOVE, "sdy.data_flow_edge"))
"""Ops that result in their operand, sharded as a property of them says."""


def replace_constant(op: ConstantOp) -> Operation:
    """Put StableHLO's constant in place of sdy's, which stood for it to keep each use its own."""
    types = [result.type for result in op.results]
    properties, attributes = dict(op.properties), dict(op.attributes)
    constant = build_operation(op_class("constant"), (), types, properties, attributes, op.location)
    replace_op(op, constant)
    return constant
