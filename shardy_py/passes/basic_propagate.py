"""`sdy-basic-propagate`: propagates axes on which all tensors of an op agree.

before: %0 = stablehlo.add %arg0, %arg1             %arg0: [{"a", ?}, {?}]
after:  %0 has [{"a", ?}, {?}], and so has %arg1
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from shardy_py.passes.propagating import PropagatePass
from shardy_py.propagation.propagate import PropagationOptions


@dataclass(frozen=True)
class BasicPropagatePass(PropagatePass):
    """The lowest of the four strategies; see `propagation/basic.py`."""

    name = "sdy-basic-propagate"

    @override
    def strategy(self) -> PropagationOptions:
        return PropagationOptions(
            "basic", run_op_priority_propagation=False, run_user_priority_propagation=False
        )
