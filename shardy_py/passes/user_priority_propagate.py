"""`sdy-user-priority-propagate`: propagates dimensions of priority 0 first, then 1, and so on.

before: %0 = stablehlo.add %arg0, %arg1     %arg0: [{"a"}p1, {?}]   %arg1: [{?}, {"a", ?}]
after:  %0 has [{?}, {"a", ?}]: nothing of %arg0 counts until priority 0 is done
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from shardy_py.passes.propagating import Dump, PropagatePass
from shardy_py.propagation.propagate import PropagationOptions


@dataclass(frozen=True)
class UserPriorityPropagatePass(PropagatePass):
    """The whole of propagation; see `propagation/propagate.py`."""

    name = "sdy-user-priority-propagate"
    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True
    dump_index: int = 0

    @override
    def strategy(self) -> PropagationOptions:
        return PropagationOptions(
            self.propagation_strategy, run_op_priority_propagation=self.run_op_priority_propagation
        )

    @override
    def dump(self) -> Dump:
        return Dump(self.module_dump_directory, self.dump_index)
