"""`sdy-drop-sharding-rules`: removes derived sharding rules; those of users are kept.

before  stablehlo.negate %0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>}
after   stablehlo.negate %0
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.dialects.sdy import OpShardingRuleAttr
from shardy_py.graph.holders import RULE
from shardy_py.ir import walk_pre_order


def drop_sharding_rules(module: ModuleOp) -> None:
    """Removes all sharding rules but custom ones."""
    for inner in walk_pre_order(module, include_root=False):
        rule = inner.attributes.get(RULE)
        if rule is not None and isinstance(rule, OpShardingRuleAttr) and not rule.data.is_custom:
            del inner.attributes[RULE]
