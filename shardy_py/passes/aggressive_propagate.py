"""`sdy-aggressive-propagate`: propagates axes and resolves conflicts between factors.

before: %0 = stablehlo.dot_general %arg0, %arg1     %arg0: [{"a", ?}, {?}]   %arg1: [{?}, {"a", ?}]
after:  %0 has [{"a", ?}, {?}]: the larger operand takes precedence, or the first of equal ones
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.passes.options import AggressivePropagateOptions
from shardy_py.passes.propagating import propagate_module
from shardy_py.propagation.propagate import PropagationOptions


def aggressive_propagate(module: ModuleOp, options: AggressivePropagateOptions) -> None:
    """Propagates shardings and resolves conflicts."""
    strategy = PropagationOptions(
        options.propagation_strategy, run_op_priority_propagation=False, run_user_priority_propagation=False
    )
    propagate_module(module, options, strategy)
