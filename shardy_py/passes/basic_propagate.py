"""`sdy-basic-propagate`: propagates axes on which all tensors of an op agree.

before: %0 = stablehlo.add %arg0, %arg1             %arg0: [{"a", ?}, {?}]
after:  %0 has [{"a", ?}, {?}], and so has %arg1
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.passes.options import PropagateOptions
from shardy_py.passes.propagating import propagate_module
from shardy_py.propagation.propagate import PropagationOptions


def basic_propagate(module: ModuleOp, options: PropagateOptions) -> None:
    """Propagates shardings where all tensors agree."""
    strategy = PropagationOptions(
        "basic", run_op_priority_propagation=False, run_user_priority_propagation=False
    )
    propagate_module(module, options, strategy)
