"""`xla-sdy-export-ops`: replaces the ops of sdy that only move data by custom calls that GSPMD knows.

Reshards, constraints and collectives become @Sharding with the sharding of their result, dimensions that are
open listed as unspecified; sdy's constants become those of StableHLO; all-reduces and barriers, which change
no sharding, go.

    before  %1 = sdy.reshard %0 <@mesh, [{"x"}, {}]>
    after   %1 = custom_call @Sharding(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}

What the shardings then become: `xla-sdy-stablehlo-export-shardings`.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import ConstantOp, TensorShardingAttr
from shardy_py.dialects.stablehlo import op_class
from shardy_py.errors import ShardyError
from shardy_py.graph.custom_call_shardings import sharding_call
from shardy_py.graph.frontend_attributes import SHARDING_TARGET, error_at
from shardy_py.graph.holders import PROPERTY_OF
from shardy_py.graph.rewiring import erase, replace_op, replace_uses
from shardy_py.graph.walk import find_ops
from shardy_py.text.construct import build_operation

_WITHOUT_MOVE = ("sdy.all_reduce", "sdy.propagation_barrier")
_MOVING = tuple(name for name in PROPERTY_OF if name not in (*_WITHOUT_MOVE, "sdy.data_flow_edge"))


@dataclass(frozen=True)
class XlaSdyExportOpsPass(ModulePass):
    """Replaces ops of sdy that move data by @Sharding custom calls."""

    name = "xla-sdy-export-ops"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in find_ops(op, ConstantOp.name, *_MOVING, *_WITHOUT_MOVE):
            if inner.name in _WITHOUT_MOVE:
                replace_uses(inner.results[0], inner.operands[0])
                erase(inner)
            elif inner.name == ConstantOp.name:
                replace_op(inner, _constant(inner))
            else:
                replace_op(inner, _custom_call(inner))


def _constant(op: Operation) -> Operation:
    types = [result.type for result in op.results]
    properties, attributes = dict(op.properties), dict(op.attributes)
    return build_operation(op_class("constant"), (), types, properties, attributes, op.location)


def _custom_call(op: Operation) -> Operation:
    sharding = op.properties[PROPERTY_OF[op.name]]
    if not isinstance(sharding, TensorShardingAttr):
        raise error_at(op, ShardyError("expected a sharding"))
    call = sharding_call(SHARDING_TARGET, op.operands[0], op.results[0].type, sharding.data, op.location)
    call.attributes = {**op.attributes, **call.attributes}
    return call
