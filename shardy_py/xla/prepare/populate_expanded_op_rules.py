"""`xla-populate-expanded-op-rules`: gives ops that XLA expands the rule of their indexing maps.

    before  %0 = chlo.lgamma %a : tensor<8xf32>
    after   %0 = chlo.lgamma %a {sdy.sharding_rule = ...<([i])->([i]) {i=8}>} : tensor<8xf32>

XLA expands ops of chlo into ops that have a rule. Here they are kept, so that reports name the user's ops.
`ragged_dot` has the rule that XLA adds to Shardy's.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.dialects.chlo import ErfOp, RaggedDotOp, TopKOp
from shardy_py.mlir.dialects.sdy import OpShardingRuleAttr
from shardy_py.mlir.dialects.stablehlo import CustomCallOp
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import find_ops, operands_of
from shardy_py.mlir.record import record_of
from shardy_py.ops import BY_MAPS, TABLE, OpRecord, Policy, call_target, row_of
from shardy_py.propagation.rules import derive_from_maps, ragged_dot_rule
from shardy_py.sharding import ShardingRule


def populate_expanded_op_rules(module: ModuleOp) -> None:
    """Gives ops that XLA expands the rule that follows from their indexing maps; constants have none."""
    names = [name for name in TABLE if name.startswith("chlo.")]
    for inner in find_ops(module, CustomCallOp.name, *names):
        if RULE not in inner.attributes and operands_of(inner):
            populate_rule(inner)


def populate_rule(op: Operation) -> None:
    """Gives one such op the rule that follows from its indexing maps, if XLA does not leave it to Shardy."""
    record = record_of(op)
    rule = _rule(record) if None not in record.results and record.is_static else None
    if rule is not None:
        op.attributes[RULE] = OpShardingRuleAttr(rule)


def _rule(record: OpRecord) -> ShardingRule | None:
    """The rule of an op that XLA expands, or knows although Shardy does not."""
    if record.name == RaggedDotOp.name:
        return ragged_dot_rule(record)
    policy, maps = _policy(record), row_of(record).maps
    return None if policy is None or maps is None else derive_from_maps(maps(record), record, policy=policy)


_TOP_K = TABLE["stablehlo.custom_call@mhlo.topk"].policy


def _policy(record: OpRecord) -> Policy | None:
    """The policy by which the rule is derived; None if XLA leaves the op to Shardy.

    HLO has top_k and erf too: XLA has a rule for top_k, and since some release one for erf.
    """
    if record.name == ErfOp.name and not Behaviour.ERF_HAS_RULE.holds:
        return None
    if record.name.startswith("chlo."):
        return _TOP_K if record.name == TopKOp.name else BY_MAPS
    if call_target(record) == "ApproxTopK":
        # Hardware without such an op sorts and slices.
        config: Any = record.attributes.get("mhlo.backend_config") or record.attributes.get("backend_config")
        return BY_MAPS if isinstance(config, dict) and config.get("is_fallback") is True else None  # pyright: ignore[reportUnknownMemberType]
    return None
