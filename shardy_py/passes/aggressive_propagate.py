"""`sdy-aggressive-propagate`: propagates axes, and settles conflicts between factors.

before: %0 = stablehlo.dot_general %arg0, %arg1     %arg0: [{"a", ?}, {?}]   %arg1: [{?}, {"a", ?}]
after:  %0 has [{"a", ?}, {?}]: the larger operand wins, the first of two alike
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from shardy_py.passes.propagating import PropagatePass
from shardy_py.propagation.propagate import PropagationOptions


@dataclass(frozen=True)
class AggressivePropagatePass(PropagatePass):
    """All ops at once; see `propagation/aggressive.py`."""

    name = "sdy-aggressive-propagate"
    propagation_strategy: str = "aggressive"

    @override
    def strategy(self) -> PropagationOptions:
        return PropagationOptions(
            self.propagation_strategy, run_op_priority_propagation=False, run_user_priority_propagation=False
        )
