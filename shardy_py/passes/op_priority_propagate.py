"""`sdy-op-priority-propagate`: propagates through the ops first that cost nothing to shard alike.

before: dot(transpose(%arg0), %arg1), both arguments sharded by "a"
after:  the transpose follows %arg0 before the dot, with both its operands sharded, is decided
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.passes.propagating import Notes, propagate_module
from shardy_py.propagation import PropagationOptions


@dataclass(frozen=True)
class OpPriorityPropagatePass(ModulePass):
    """Rounds by op; see `propagation/schedule.py`."""

    name = "sdy-op-priority-propagate"
    keep_sharding_rules: bool = False
    module_dump_directory: str = ""
    conservative_propagation: bool = False
    debug_sharding_origins: bool = False
    debug_propagation_edge_sharding: bool = False
    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = PropagationOptions(
            self.propagation_strategy,
            by_op_priority=self.run_op_priority_propagation,
            by_user_priority=False,
            is_conservative=self.conservative_propagation,
        )
        notes = Notes(origins=self.debug_sharding_origins, edges=self.debug_propagation_edge_sharding)
        keep = self.keep_sharding_rules
        propagate_module(op, options, keep_sharding_rules=keep, notes=notes)
