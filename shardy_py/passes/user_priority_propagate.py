"""`sdy-user-priority-propagate`: propagates dimensions of priority 0 first, then 1, and so on.

before: %0 = stablehlo.add %arg0, %arg1     %arg0: [{"a"}p1, {?}]   %arg1: [{?}, {"a", ?}]
after:  %0 has [{?}, {"a", ?}]: nothing of %arg0 counts until priority 0 is done
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.passes.propagating import Dump, Notes, propagate_module
from shardy_py.propagation import PropagationOptions


@dataclass(frozen=True)
class UserPriorityPropagatePass(ModulePass):
    """The whole of propagation; see `propagation/propagate.py`."""

    name = "sdy-user-priority-propagate"
    keep_sharding_rules: bool = False
    module_dump_directory: str = ""
    conservative_propagation: bool = False
    debug_sharding_origins: bool = False
    debug_propagation_edge_sharding: bool = False
    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True
    dump_index: int = 0

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = PropagationOptions(
            self.propagation_strategy,
            by_op_priority=self.run_op_priority_propagation,
            is_conservative=self.conservative_propagation,
        )
        notes = Notes(origins=self.debug_sharding_origins, edges=self.debug_propagation_edge_sharding)
        keep = self.keep_sharding_rules
        dump = Dump(self.module_dump_directory, self.dump_index)
        propagate_module(op, options, keep_sharding_rules=keep, notes=notes, dump=dump)
