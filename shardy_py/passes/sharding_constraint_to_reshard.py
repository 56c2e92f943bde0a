"""`sdy-sharding-constraint-to-reshard`: converts sharding constraints to reshards.

Propagation has decided what was open, so what constrained it now merely moves data.

    before  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    after   %1 = sdy.reshard %0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.dialects.sdy import ReshardOp, ShardingConstraintOp
from shardy_py.graph.movements import note_moved, replace_op
from shardy_py.ir import build_operation, find_ops


def sharding_constraint_to_reshard(module: ModuleOp) -> None:
    """Converts sharding constraints to reshards."""
    for constraint in find_ops(module, ShardingConstraintOp.name):
        reshard = build_operation(
            ReshardOp,
            constraint.operands,
            [constraint.results[0].type],
            dict(constraint.properties),
            dict(constraint.attributes),
            constraint.location,
        )
        replace_op(constraint, reshard)
        note_moved(reshard.results, constraint.results, "sdy-sharding-constraint-to-reshard")
