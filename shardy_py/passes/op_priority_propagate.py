"""`sdy-op-priority-propagate`: propagates through pass-through ops first.

before: dot(transpose(%arg0), %arg1), both arguments sharded by "a"
after:  the transpose follows %arg0 before the dot, with both its operands sharded, is decided
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.passes.options import OpPriorityPropagateOptions
from shardy_py.passes.propagating import propagate_module
from shardy_py.propagation.propagate import PropagationOptions


def op_priority_propagate(module: ModuleOp, options: OpPriorityPropagateOptions) -> None:
    """Propagates aggressively, through pass-through ops first."""
    strategy = PropagationOptions(
        options.propagation_strategy, options.run_op_priority_propagation, run_user_priority_propagation=False
    )
    propagate_module(module, options, strategy)
