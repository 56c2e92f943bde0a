"""`xla-sdy-round-trip-export-ops`: replaces ops of sdy by custom calls that XLA's HLO preserves.

    sdy.sharding_constraint, sdy.reshard   @Sharding
    sdy.sharding_group                     @xla.sdy.ShardingGroup
    sdy.propagation_barrier                @xla.sdy.PropagationBarrier
    sdy.constant                           stablehlo.constant

    before  sdy.sharding_group %0 group_id=3 : tensor<8xf32>
    after   custom_call @xla.sdy.ShardingGroup(%0)
                {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding_group_id = "3 : i64"}}

The inverse: `xla-sdy-import-sdy-custom-calls`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1
from xdsl.ir import Operation

from shardy_py.dialects.sdy import ConstantOp, ReshardOp, ShardingConstraintOp
from shardy_py.graph.movements import replace_op
from shardy_py.gspmd.custom_calls import custom_call, sharding_call
from shardy_py.gspmd.encoding import ENCODED_OPS, SHARDING_TARGET, EncodedOp, with_frontend
from shardy_py.ir import find_ops
from shardy_py.passes.without_sdy import replace_constant

_BY_NAME = {row.op_class.name: row for row in ENCODED_OPS}


def xla_sdy_round_trip_export_ops(module: ModuleOp) -> None:
    """Replaces ops of sdy by custom calls that encode them."""
    kinds = (ShardingConstraintOp, ReshardOp, ConstantOp)
    for inner in find_ops(module, *(kind.name for kind in kinds), *_BY_NAME):
        if isinstance(inner, ConstantOp):
            replace_constant(inner)
        elif isinstance(inner, ShardingConstraintOp | ReshardOp):
            replace_op(inner, _constraint(inner))
        else:
            replace_op(inner, _encoded(inner, _BY_NAME[inner.name]))


def _constraint(op: ShardingConstraintOp | ReshardOp) -> Operation:
    sharding, type_ = op.sharding.data, op.results[0].type
    call = sharding_call(SHARDING_TARGET, op.input, type_, sharding, op.location, lists_open=False)
    call.attributes = {**op.attributes, **call.attributes}
    if sharding.unreduced_axes:
        call.properties["has_side_effect"] = IntegerAttr(1, i1)
    return call


def _encoded(op: Operation, row: EncodedOp) -> Operation:
    attributes = with_frontend(op.attributes, {row.entry.name: op.properties[row.property]})
    return custom_call(row.target, op.operands, [r.type for r in op.results], attributes, op.location)
