"""`xla-sdy-round-trip-export-ops`: replaces ops of sdy by custom calls that XLA's HLO carries along.

    sdy.sharding_constraint, sdy.reshard   @Sharding
    sdy.sharding_group                     @xla.sdy.ShardingGroup
    sdy.propagation_barrier                @xla.sdy.PropagationBarrier
    sdy.constant                           stablehlo.constant

    before  sdy.sharding_group %0 group_id=3 : tensor<8xf32>
    after   custom_call @xla.sdy.ShardingGroup(%0)
                {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding_group_id = "3 : i64"}}

The way back: `xla-sdy-import-sdy-custom-calls`.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i1
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import (
    ConstantOp,
    PropagationBarrierOp,
    ReshardOp,
    ShardingConstraintOp,
    ShardingGroupOp,
)
from shardy_py.dialects.stablehlo import op_class
from shardy_py.graph.rewiring import replace_op
from shardy_py.gspmd.custom_calls import plain_sharding_call
from shardy_py.gspmd.frontend_attributes import (
    ALLOWED_DIRECTION,
    GROUP_ID,
    PROPAGATION_BARRIER,
    SHARDING_GROUP,
    Entries,
    with_frontend,
)
from shardy_py.ir import build_operation, erase, find_ops, place_before
from shardy_py.passes.without_sdy import replace_constant


@dataclass(frozen=True)
class XlaSdyRoundTripExportOpsPass(ModulePass):
    """Replaces ops of sdy by custom calls that keep what they say."""

    name = "xla-sdy-round-trip-export-ops"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = (
            ShardingConstraintOp.name,
            ReshardOp.name,
            ShardingGroupOp.name,
            PropagationBarrierOp.name,
            ConstantOp.name,
        )
        for inner in find_ops(op, *names):
            if isinstance(inner, ConstantOp):
                replace_constant(inner)
            elif isinstance(inner, ShardingGroupOp):
                place_before(_custom_call(inner, SHARDING_GROUP, {GROUP_ID: inner.group_id}), inner)
                erase(inner)
            elif isinstance(inner, PropagationBarrierOp):
                entries: Entries = {ALLOWED_DIRECTION: inner.allowed_direction}
                replace_op(inner, _custom_call(inner, PROPAGATION_BARRIER, entries))
            elif isinstance(inner, ShardingConstraintOp | ReshardOp):
                replace_op(inner, _constraint(inner))


def _constraint(op: ShardingConstraintOp | ReshardOp) -> Operation:
    made = plain_sharding_call(op.input, op.results[0].type, op.sharding.data, op.location)
    made.attributes = {**op.attributes, **made.attributes}
    if op.sharding.data.unreduced_axes:
        made.properties["has_side_effect"] = IntegerAttr(1, i1)
    return made


def _custom_call(op: Operation, target: str, entries: Entries) -> Operation:
    properties: dict[str, Attribute] = {
        "call_target_name": StringAttr(target),
        "has_side_effect": IntegerAttr(1, i1),
    }
    types = [result.type for result in op.results]
    attributes = with_frontend(op.attributes, entries)
    return build_operation(op_class("custom_call"), op.operands, types, properties, attributes, op.location)
