"""Copies of programs, simplified until nothing changes, as compilers do before they propagate shardings.

    Simplification(folds).of(module)

XLA repeats a pipeline until nothing changes, too. Not here: the simplifications (`folds.py`, `tpu_folds.py`,
`sunk_forms.py`, `equal_ops.py`), which ones a compiler makes (`for_gpu.py`, `for_tpu.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir import ir
from shardy_py.mlir.cloning import clone
from shardy_py.ops import TABLE
from shardy_py.propagation.graph.liveness import dead_ops
from shardy_py.xla.prepare.equal_ops import EqualOps
from shardy_py.xla.prepare.fold import choose_branches, fold_each
from shardy_py.xla.prepare.folding import Fold, Splats
from shardy_py.xla.prepare.folds import FOLDS
from shardy_py.xla.prepare.moved_converts import CONVERT_FOLDS
from shardy_py.xla.prepare.revisits import Changes
from shardy_py.xla.prepare.sunk_forms import SunkForms

_ROUNDS = 8
"""Real programs need two or three."""

Expanded = Callable[[Operation], Sequence[SSAValue] | None]
"""Makes the results of an op by others; None: it stays."""


@dataclass(frozen=True)
class Simplification:
    """Simplifications that a compiler makes.

    folds: of each op, tried in their order after those of `FOLDS`. expansions: classes of ops with several
    results, and what makes these by others, in this order. merges: whether one op is kept of each set of
    equal ones. moves_converts: whether conversions move to where fewer elements are converted.
    chooses_branches: whether branches that are known to run replace what chooses them.
    """

    folds: Mapping[str, tuple[Fold, ...]]
    expansions: tuple[tuple[type[Operation], Expanded], ...] = ()
    merges: bool = False
    moves_converts: bool = False
    chooses_branches: bool = False

    @cached_property
    def _folds(self) -> dict[str, tuple[Fold, ...]]:
        return {name: (*FOLDS.get(name, ()), *self.folds.get(name, ())) for name in {*FOLDS, *self.folds}}

    @cached_property
    def _folded(self) -> set[str]:
        """The names of ops that may be folded."""
        return {name for name, row in TABLE.items() if row.is_folded or row.moves_elements} | {*self._folds}

    def of(self, module: ModuleOp) -> ModuleOp:
        """Returns a simplified copy of a program without calls."""
        changes, splats = Changes(), Splats()
        equal, sunk = EqualOps(changes) if self.merges else None, SunkForms(changes, splats)
        module = clone(module, {}) if equal is None else equal.copied(module)
        if self.chooses_branches:
            choose_branches(module, splats)
        self._expand(module)
        for _ in range(_ROUNDS):
            ops = ir.ops_in(module)
            is_walked = not _erase_dead_ops(ops, changes)
            is_changed = equal is not None and equal.merge(ops)
            is_changed |= self._fold(ops, splats, changes)
            is_changed |= sunk.sink(ops if is_walked and not is_changed else ir.ops_in(module))
            if not is_changed:
                break
        else:
            _erase_dead_ops(ir.ops_in(module), changes)
        for _ in range(_ROUNDS if self.moves_converts else 0):
            moved = [op for op in ir.ops_in(module) if op.name in CONVERT_FOLDS]
            if not fold_each(moved, splats, CONVERT_FOLDS, changes):
                break
            self._fold(ir.ops_in(module), splats, changes)
            _erase_dead_ops(ir.ops_in(module), changes)
        changes.end()
        return module

    def _expand(self, module: ModuleOp) -> None:
        several = ir.find_ops(module, *[op_class.name for op_class, _ in self.expansions])
        for op_class, expanded in self.expansions:
            for op in several:
                if isinstance(op, op_class):
                    for old, new in zip(op.results, expanded(op) or op.results, strict=True):
                        ir.replace_uses(old, new)

    def _fold(self, ops: Iterable[Operation], splats: Splats, changes: Changes) -> bool:
        """Returns whether any op was folded."""
        due = (op for op in changes.folds.taken(ops) if op.name in self._folded)
        return fold_each(due, splats, self._folds, changes)


def _erase_dead_ops(ops: Iterable[Operation], changes: Changes) -> bool:
    """Returns whether any op was erased."""
    dead = dead_ops(changes.dead.taken(ops))
    for op in dead.values():
        if op.parent is not None:
            changes.erase(op)
    return bool(dead)
