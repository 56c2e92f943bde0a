"""The attributes that hold derived sharding rules: one object for each, by which passes know them.

An attribute that another pass or the text of a program gave an op is another object, though it may be equal.
"""

from __future__ import annotations

from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects.sdy import OpShardingRuleAttr
from shardy_py.sharding import ShardingRule

_DERIVED: dict[ShardingRule, OpShardingRuleAttr] = SESSION.table("rule attributes")


def derived_rule_attribute(rule: ShardingRule) -> OpShardingRuleAttr:
    """The attribute that holds `rule`, for ops for which `rule` is derived; one for all equal rules."""
    known = _DERIVED.get(rule)
    return _DERIVED.setdefault(rule, OpShardingRuleAttr(rule)) if known is None else known


def derived_rule_attributes() -> frozenset[int]:
    """The identities of all attributes of derived rules, until the next program."""
    return frozenset(map(id, [*_DERIVED.values()]))  # other threads add more
