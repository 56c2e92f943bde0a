"""`xla-sdy-export-ops`: replaces the ops of sdy that only move data by custom calls that GSPMD supports.

Reshards, constraints and collectives become @Sharding with the sharding of their result, open dimensions
listed as unspecified; group members @Sharding with an unknown sharding and the id of the group; constants
those of StableHLO. All-reduces and barriers, which change no sharding, are erased.

    before  %1 = sdy.reshard %0 <@mesh, [{"x"}, {}]>
    after   %1 = custom_call @Sharding(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}

`xla-sdy-stablehlo-export-shardings` converts the shardings.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, Use

from shardy_py.dialects.sdy import ConstantOp, ShardingGroupOp, TensorShardingAttr
from shardy_py.dialects.traits import sharding_property
from shardy_py.errors import ShardyError
from shardy_py.graph.movements import replace_by_values, replace_op
from shardy_py.graph.op_errors import error_at
from shardy_py.gspmd.custom_calls import custom_call, sharding_call
from shardy_py.gspmd.encoding import SHARDING_TARGET, XLA_SHARDING
from shardy_py.gspmd.sharding.hlo_sharding import HloSharding, ShardGroup
from shardy_py.ir import erase, find_ops, place_before, replace_uses
from shardy_py.passes.without_sdy import IDENTITIES, RESHARDS, replace_constant


def xla_sdy_export_ops(module: ModuleOp) -> None:
    """Replaces ops of sdy that move data by @Sharding custom calls."""
    for inner in find_ops(module, ConstantOp.name, ShardingGroupOp.name, *RESHARDS, *IDENTITIES):
        if isinstance(inner, ShardingGroupOp):
            _export_member(inner)
        elif isinstance(inner, ConstantOp):
            replace_constant(inner)
        elif inner.name in IDENTITIES:
            replace_by_values(inner, inner.operands)
        else:
            replace_op(inner, _constraint(inner))


def _constraint(op: Operation) -> Operation:
    sharding = op.properties[sharding_property(op) or ""]
    if not isinstance(sharding, TensorShardingAttr):
        raise error_at(op, ShardyError("expected a sharding"))
    call = sharding_call(SHARDING_TARGET, op.operands[0], op.results[0].type, sharding.data, op.location)
    call.attributes = {**op.attributes, **call.attributes}
    return call


def _export_member(group: ShardingGroupOp) -> None:
    """Makes the users after a group use a custom call whose result is a member of it."""
    value, block = group.input, group.parent
    assert block is not None
    sharding = HloSharding.unknown().with_shard_group(ShardGroup(group.group_id.value.data, is_shard_as=True))
    attributes: dict[str, Attribute] = {XLA_SHARDING: StringAttr(str(sharding))}
    call = custom_call(SHARDING_TARGET, (value,), (value.type,), attributes, group.location)
    place_before(call, group)

    def is_after(use: Use) -> bool:
        ancestor = block.find_ancestor_op_in_block(use.operation)
        return ancestor is not None and group.is_before_in_block(ancestor)

    replace_uses(value, call.results[0], only=is_after)
    erase(group)
