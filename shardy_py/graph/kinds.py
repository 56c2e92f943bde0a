"""What kind of step an op makes: its rule, its role among op priorities.

Not here: slots and uses (`build.py`), what a role means (`propagation/schedule.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute

from shardy_py.graph.plain import tensor_type
from shardy_py.ops import OpRecord, is_elementwise
from shardy_py.propagation.flat import Role
from shardy_py.sharding import ShardingRule

ROLES: dict[str, Role] = {
    "stablehlo.reshape": Role.PASS_THROUGH,
    "stablehlo.transpose": Role.PASS_THROUGH,
    "stablehlo.dynamic_slice": Role.SLICE,
    "stablehlo.dynamic_update_slice": Role.SLICE,
    "stablehlo.broadcast_in_dim": Role.BROADCAST,
}
"""Ops with a role of their own; elementwise ops pass through, all others have none."""

OFFLOADS = frozenset({"MoveToDevice", "MoveToHost"})
"""Targets of custom calls that pass through."""

ELEMENTWISE_SDY = frozenset({"sdy.propagation_barrier", "sdy.sharding_constraint", "sdy.reshard"})
"""Ops that no table calls elementwise, but that propagation treats so."""


@dataclass(frozen=True, slots=True)
class OpInfo:
    """What the steps of alike ops have in common."""

    rule: ShardingRule
    role: Role
    is_elementwise: bool


def op_info(record: OpRecord, rule: ShardingRule | None) -> OpInfo | None:
    """The common part of the steps of an op with this rule; None without a rule."""
    if rule is None:
        return None
    elementwise = record.name in ELEMENTWISE_SDY or is_elementwise(record)
    role = Role.PASS_THROUGH if elementwise else ROLES.get(record.name, Role.OTHER)
    if record.name == "stablehlo.custom_call" and record.attributes.get("call_target_name") in OFFLOADS:
        role = Role.PASS_THROUGH
    return OpInfo(rule, role, elementwise)


def identity_rule(type_: Attribute, operand_count: int) -> ShardingRule | None:
    """The rule of an op whose tensors are all of `type_` and sharded alike; None without a static shape."""
    tensor = tensor_type(type_)
    if tensor is None:
        return None
    shape = tuple(size for size in tensor.shape if size is not None)
    return ShardingRule.identity(shape, operand_count) if len(shape) == tensor.rank else None
