"""`sdy-populate-op-sharding-rules`: attaches the sharding rule of each op as an attribute.

before: %0 = stablehlo.negate %arg0 : tensor<8xf32>
after:  %0 = stablehlo.negate %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>} : ...
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.graph.holders import RULE
from shardy_py.graph.record import record_of
from shardy_py.ir import walk_pre_order
from shardy_py.ops import OpRecord
from shardy_py.passes.options import ConservativeOptions
from shardy_py.passes.propagating import rule_attribute, rule_deriver, warn_of_unknown_ops


def populate_op_sharding_rules(module: ModuleOp, options: ConservativeOptions) -> None:
    """Attaches sharding rules, for debugging: propagation derives the same rules itself."""
    rule_of = rule_deriver(conservative_propagation=options.conservative_propagation)
    without_rule: list[tuple[Operation, OpRecord]] = []
    for inner in walk_pre_order(module, include_root=False):
        if RULE not in inner.attributes:
            record = record_of(inner)
            rule = rule_of(record)
            if rule is not None:
                inner.attributes[RULE] = rule_attribute(rule)
            else:
                without_rule.append((inner, record))
    warn_of_unknown_ops(without_rule)
