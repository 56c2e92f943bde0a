"""`xla-open-free-loop-values`: puts an open constraint between a sharded value and the loop that uses it.

    before  while(...) { ... add %a, %b ... }               %a is sharded and defined outside
    after   %c = sdy.sharding_constraint %a <@mesh, [{?}]>
            while(...) { ... add %c, %b ... }

A closed sharding outside then does not bind the loop.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from shardy_py.dialects.sdy import ShardingConstraintOp, TensorShardingAttr
from shardy_py.graph.nesting import free_values
from shardy_py.graph.value_shardings import rank_of, sharding_of
from shardy_py.ir import build_operation, place_before, replace_uses, walk_pre_order
from shardy_py.sharding import TensorSharding
from shardy_py.xla.drop_invariant_loop_values import loops_in


def open_free_loop_values(module: ModuleOp) -> None:
    """Puts an open constraint between a sharded value and the loop that uses it."""
    for loop in loops_in(module):
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
