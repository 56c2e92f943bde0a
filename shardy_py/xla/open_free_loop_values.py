"""`xla-open-free-loop-values`: puts an open constraint between a sharded value and the loop that uses it.

    before  while(...) { ... add %a, %b ... }               %a is sharded and defined outside
    after   %c = sdy.sharding_constraint %a <@mesh, [{?}]>
            while(...) { ... add %c, %b ... }

A closed sharding outside then does not bind the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import ShardingConstraintOp, TensorShardingAttr
from shardy_py.graph.value_shardings import rank_of, sharding_of
from shardy_py.ir import build_operation, free_values, place_before, replace_uses, walk_pre_order
from shardy_py.sharding import TensorSharding
from shardy_py.xla.drop_invariant_loop_values import loops_in


@dataclass(frozen=True)
class OpenFreeLoopValuesPass(ModulePass):
    """Puts an open constraint between a sharded value and the loop that uses it."""

    name = "xla-open-free-loop-values"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in loops_in(op):
            inside = {id(inner) for inner in walk_pre_order(loop, include_root=False)}
            for value in dict.fromkeys(free_values(loop)):
                sharding = sharding_of(value)
                if sharding is None:
                    continue
                opened = TensorSharding.fully_open(sharding.mesh, rank_of(value.type))
                properties: dict[str, Attribute] = {"sharding": TensorShardingAttr(opened)}
                constraint = build_operation(
                    ShardingConstraintOp, [value], [value.type], properties, {}, loop.location
                )
                place_before(constraint, loop)
                replace_uses(
                    value, constraint.results[0], only=lambda use, inside=inside: id(use.operation) in inside
                )
