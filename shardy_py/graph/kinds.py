"""What kind of step an op makes: its rule, its role among op priorities.

Not here: slots and uses (`build.py`), what a role means (`propagation/schedule.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute

from shardy_py.graph.plain import tensor_type
from shardy_py.ops import OpRecord, Role, row_of
from shardy_py.sharding import ShardingRule


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
    row = row_of(record)
    elementwise = row.elementwise(record)
    role = Role.PASS_THROUGH if elementwise else row.role
    return OpInfo(rule, role, elementwise)


def identity_rule(type_: Attribute, operand_count: int) -> ShardingRule | None:
    """The rule of an op whose tensors are all of `type_` and sharded alike; None without a static shape."""
    tensor = tensor_type(type_)
    if tensor is None:
        return None
    shape = tuple(size for size in tensor.shape if size is not None)
    return ShardingRule.identity(shape, operand_count) if len(shape) == tensor.rank else None
