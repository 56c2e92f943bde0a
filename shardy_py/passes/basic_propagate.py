"""`sdy-basic-propagate`: propagates axes on which all tensors of an op agree.

before: %0 = stablehlo.add %arg0, %arg1             %arg0: [{"a", ?}, {?}]
after:  %0 has [{"a", ?}, {?}], and so has %arg1
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
class BasicPropagatePass(ModulePass):
    """The lowest of the four strategies; see `propagation/basic.py`."""

    name = "sdy-basic-propagate"
    keep_sharding_rules: bool = False
    module_dump_directory: str = ""
    conservative_propagation: bool = False
    debug_sharding_origins: bool = False
    debug_propagation_edge_sharding: bool = False

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = PropagationOptions(
            "basic",
            by_op_priority=False,
            by_user_priority=False,
            is_conservative=self.conservative_propagation,
        )
        notes = Notes(origins=self.debug_sharding_origins, edges=self.debug_propagation_edge_sharding)
        keep = self.keep_sharding_rules
        propagate_module(op, options, keep_sharding_rules=keep, notes=notes)
