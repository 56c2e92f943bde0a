"""`sdy-drop-sharding-rules`: removes the sharding rules that propagation left on ops; those users wrote stay.

before  stablehlo.negate %0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>}
after   stablehlo.negate %0
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import OpShardingRuleAttr
from shardy_py.graph.holders import RULE
from shardy_py.ir import walk_pre_order


@dataclass(frozen=True)
class DropShardingRulesPass(ModulePass):
    """Removes all sharding rules but custom ones."""

    name = "sdy-drop-sharding-rules"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in walk_pre_order(op, include_root=False):
            rule = inner.attributes.get(RULE)
            if rule is not None and isinstance(rule, OpShardingRuleAttr) and not rule.data.is_custom:
                del inner.attributes[RULE]
