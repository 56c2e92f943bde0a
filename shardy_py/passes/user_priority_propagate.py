"""`sdy-user-priority-propagate`: propagates dimensions of priority 0 first, then 1, and so on.

before: %0 = stablehlo.add %arg0, %arg1     %arg0: [{"a"}p1, {?}]   %arg1: [{?}, {"a", ?}]
after:  %0 has [{?}, {"a", ?}]: nothing of %arg0 counts until priority 0 is done
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.passes.options import UserPriorityPropagateOptions
from shardy_py.passes.propagating import propagate_module
from shardy_py.propagation.propagate import PropagationOptions


def user_priority_propagate(module: ModuleOp, options: UserPriorityPropagateOptions) -> None:
    """Propagates by op priority within each user priority."""
    strategy = PropagationOptions(options.propagation_strategy, options.run_op_priority_propagation)
    propagate_module(module, options, strategy, dump_index=options.dump_index)
