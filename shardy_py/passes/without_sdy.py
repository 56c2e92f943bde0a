"""Classes of sdy ops that are exported to other dialects in the same way, and the export of constants.

Not here: the ops that replace them (the passes that write other dialects).
"""

from __future__ import annotations

from xdsl.ir import Operation

from shardy_py.dialects.sdy import AllReduceOp, ConstantOp, DataFlowEdgeOp, PropagationBarrierOp, Sdy
from shardy_py.dialects.stablehlo import op_class
from shardy_py.dialects.traits import ShardingProperty
from shardy_py.graph.movements import replace_op
from shardy_py.ir import build_operation

IDENTITIES = (AllReduceOp.name, PropagationBarrierOp.name)
"""Ops whose result is their operand, with the same sharding."""

RESHARDS = tuple(
    op.name
    for op in Sdy.operations
    if op.has_trait(ShardingProperty) and op not in (AllReduceOp, DataFlowEdgeOp)
)
"""Ops whose result is their operand with another sharding, held in a property."""


def replace_constant(op: ConstantOp) -> Operation:
    """Replaces an `sdy.constant` by the equal `stablehlo.constant`."""
    types = [result.type for result in op.results]
    properties, attributes = dict(op.properties), dict(op.attributes)
    constant = build_operation(op_class("constant"), (), types, properties, attributes, op.location)
    replace_op(op, constant)
    return constant
