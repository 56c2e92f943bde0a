"""`sdy-op-priority-propagate`: propagates through the ops first that cost nothing to shard alike.

before: dot(transpose(%arg0), %arg1), both arguments sharded by "a"
after:  the transpose follows %arg0 before the dot, with both its operands sharded, is decided
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from shardy_py.passes.propagating import PropagatePass
from shardy_py.propagation.propagate import PropagationOptions


@dataclass(frozen=True)
class OpPriorityPropagatePass(PropagatePass):
    """Rounds by op; see `propagation/schedule.py`."""

    name = "sdy-op-priority-propagate"
    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True

    @override
    def strategy(self) -> PropagationOptions:
        return PropagationOptions(
            self.propagation_strategy,
            run_op_priority_propagation=self.run_op_priority_propagation,
            run_user_priority_propagation=False,
        )
