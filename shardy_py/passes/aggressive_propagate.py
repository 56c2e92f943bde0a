"""`sdy-aggressive-propagate`: propagates axes, and settles conflicts between factors.

before: %0 = stablehlo.dot_general %arg0, %arg1     %arg0: [{"a", ?}, {?}]   %arg1: [{?}, {"a", ?}]
after:  %0 has [{"a", ?}, {?}]: the larger operand wins, the first of two alike
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
class AggressivePropagatePass(ModulePass):
    """All ops at once; see `propagation/aggressive.py`."""

    name = "sdy-aggressive-propagate"
    keep_sharding_rules: bool = False
    module_dump_directory: str = ""
    conservative_propagation: bool = False
    debug_sharding_origins: bool = False
    debug_propagation_edge_sharding: bool = False
    propagation_strategy: str = "aggressive"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = PropagationOptions(
            self.propagation_strategy,
            by_op_priority=False,
            by_user_priority=False,
            is_conservative=self.conservative_propagation,
        )
        notes = Notes(origins=self.debug_sharding_origins, edges=self.debug_propagation_edge_sharding)
        keep = self.keep_sharding_rules
        propagate_module(op, options, keep_sharding_rules=keep, notes=notes)
