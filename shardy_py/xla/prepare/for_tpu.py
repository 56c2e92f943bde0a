"""The program as XLA:TPU simplifies it before it propagates shardings.

    simplified_for_tpu(module)      a copy, after `xla-before-propagation-pipeline`

What it sends follows from the shardings of that program: a table that is read as it is, not transposed first,
gets another one. Known from dumps of XLA:TPU's passes: simplification-1 (cse, algsimp, dce,
simplify-conditional), simplification-2 (reshape-mover), simplification-3 (convert-mover, algsimp), then
xla-partitioner (shardy-xla, tpu-spmd-partitioning).

Not here: the simplifications (`tpu_folds.py`, `sunk_forms.py`, `equal_ops.py`), those whose shardings do not
depend on them (`xla/targets/simplified.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.mlir.dialects.chlo import TopKOp
from shardy_py.mlir.dialects.stablehlo import CustomCallOp
from shardy_py.xla.prepare.linear_algebra import expanded_call
from shardy_py.xla.prepare.selection_sorts import sorted_selection
from shardy_py.xla.prepare.simplifying import Simplification
from shardy_py.xla.prepare.tpu_folds import TPU_FOLDS

_SIMPLIFICATION = Simplification(
    TPU_FOLDS,
    ((TopKOp, sorted_selection), (CustomCallOp, expanded_call)),
    merges=True,
    moves_converts=True,
    chooses_branches=True,
)


def simplified_for_tpu(module: ModuleOp) -> ModuleOp:
    """Returns a simplified copy of a program without calls."""
    return _SIMPLIFICATION.of(module)
