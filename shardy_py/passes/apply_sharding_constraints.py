"""`sdy-apply-sharding-constraints`: copies the sharding of a constraint to its input where it dictates it.

That is where the constraint is closed, the input has no sharding yet and no constraint contradicts.

    before  %0 = stablehlo.add ...                  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]>
    after   %0 = stablehlo.add ... {sdy.sharding = ...<[<@mesh, [{"x"}]>]>}
            %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]>

If the input is a target of a data-flow edge, whose other targets shall stay free, its users use the
constraint instead. Of a chain of constraints, the last one serves the users of the input behind it.
In-shardings of manual computations count as constraints.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.constraints import CONSTRAINT, MANUAL, SetInput, apply_constraint, apply_in_shardings
from shardy_py.ir import walk_post_order
from shardy_py.passes.debug_trail import DebugTrail


@dataclass(frozen=True)
class ApplyShardingConstraintsPass(ModulePass):
    """Applies constraints that dictate the sharding of their input."""

    name = "sdy-apply-sharding-constraints"
    debug_sharding_origins: bool = False
    debug_propagation_edge_sharding: bool = False

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.debug_sharding_origins or self.debug_propagation_edge_sharding:
            trail = DebugTrail(
                op, origins=self.debug_sharding_origins, edges=self.debug_propagation_edge_sharding
            )
            apply_all(op, trail.set_input)
            trail.write()
        else:
            apply_all(op)


def apply_all(module: ModuleOp, *set_input: SetInput) -> None:
    """Apply all constraints of `module`, in the order of MLIR's walk."""
    for inner in walk_post_order(module):
        if inner.name == CONSTRAINT:
            apply_constraint(inner, *set_input)
        elif inner.name == MANUAL:
            apply_in_shardings(inner)
