"""The program as XLA:TPU simplifies it before it propagates shardings, unlike XLA:CPU and XLA:GPU.

    simplified_for_tpu(module)      a copy, after `xla-before-propagation-pipeline`

What it sends follows from the shardings of that program: a table that is read as it is, not transposed first,
gets another one. Known from dumps of XLA:TPU's passes: simplification-1 (cse, algsimp, dce),
simplification-2 (reshape-mover), simplification-3 (convert-mover, algsimp), then xla-partitioner
(shardy-xla, tpu-spmd-partitioning).

Not here: the simplifications (`tpu_folds.py`, `sunk_forms.py`, `equal_ops.py`), those whose shardings do not
depend on them (`xla/targets/simplified.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.mlir import ir
from shardy_py.mlir.dialects.chlo import TopKOp
from shardy_py.mlir.dialects.stablehlo import CustomCallOp
from shardy_py.ops import TABLE
from shardy_py.propagation.graph.liveness import dead_ops
from shardy_py.xla.prepare.equal_ops import EqualOps
from shardy_py.xla.prepare.fold import fold_each
from shardy_py.xla.prepare.folding import Splats
from shardy_py.xla.prepare.folds import FOLDS
from shardy_py.xla.prepare.linear_algebra import expanded_call
from shardy_py.xla.prepare.moved_converts import CONVERT_FOLDS
from shardy_py.xla.prepare.revisits import Changes
from shardy_py.xla.prepare.selection_sorts import sorted_selection
from shardy_py.xla.prepare.sunk_forms import SunkForms
from shardy_py.xla.prepare.tpu_folds import TPU_FOLDS

_ROUNDS = 8
"""XLA repeats a pipeline until nothing changes, too; real programs need two or three rounds."""
_FOLDS = {name: (*FOLDS.get(name, ()), *TPU_FOLDS.get(name, ())) for name in {*FOLDS, *TPU_FOLDS}}
_EXPANSIONS = (TopKOp, sorted_selection), (CustomCallOp, expanded_call)
"""Ops with several results, and what makes these by others, or returns None; in this order."""


def simplified_for_tpu(module: ModuleOp) -> ModuleOp:
    """Returns a simplified copy of a program without calls."""
    changes, splats = Changes(), Splats()
    equal, sunk = EqualOps(changes), SunkForms(changes, splats)
    module = equal.copied(module)
    several = ir.find_ops(module, *[op_class.name for op_class, _ in _EXPANSIONS])
    for op_class, expanded in _EXPANSIONS:
        for op in several:
            if isinstance(op, op_class):
                for old, new in zip(op.results, expanded(op) or op.results, strict=True):
                    ir.replace_uses(old, new)
    folded = {name for name, row in TABLE.items() if row.is_folded or row.moves_elements} | _FOLDS.keys()
    for _ in range(_ROUNDS):
        ops = ir.ops_in(module)
        is_walked = not _erase_dead_ops(ops, changes)
        is_changed = equal.merge(ops)
        due = (op for op in changes.folds.taken(ops) if op.name in folded)
        is_changed |= fold_each(due, splats, _FOLDS, changes)
        is_changed |= sunk.sink(ops if is_walked and not is_changed else ir.ops_in(module))
        if not is_changed:
            break
    else:
        _erase_dead_ops(ir.ops_in(module), changes)
    for _ in range(_ROUNDS):
        moved = [op for op in ir.ops_in(module) if op.name in CONVERT_FOLDS]
        if not fold_each(moved, splats, CONVERT_FOLDS, changes):
            break
        due = (op for op in changes.folds.taken(ir.ops_in(module)) if op.name in folded)
        fold_each(due, splats, _FOLDS, changes)
        _erase_dead_ops(ir.ops_in(module), changes)
    changes.end()
    return module


def _erase_dead_ops(ops: Iterable[Operation], changes: Changes) -> bool:
    """Returns whether any op was erased."""
    dead = dead_ops(changes.dead.taken(ops))
    for op in dead.values():
        if op.parent is not None:
            changes.erase(op)
    return bool(dead)
