"""Applies rewrites until none applies, as MLIR's greedy driver does: erases dead ops, hoists constants.

A program to which nothing applies costs one walk. Not here: the rewrites themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult
from xdsl.traits import OpTrait

from shardy_py.dialects.traits import is_dead_when_unused, is_foldable_constant
from shardy_py.ir import erase, operands_of, walk_pre_order
from shardy_py.passes.rewrites.constants import hoist_constants

MAX_ROUNDS = 10
"""MLIR's driver gives up after as many."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite.

    kind: the class of the ops that it applies to, or a trait of their classes.
    apply: changes the program around an op if possible; returns whether it did.
    label: the name that selects it; empty: it is never selected alone.
    """

    kind: type[Operation] | type[OpTrait]
    apply: Callable[[Operation], bool]
    label: str = ""

    def applies_to(self, op_class: type[Operation]) -> bool:
        """Returns whether it applies to the ops of a class."""
        if issubclass(self.kind, OpTrait):
            return op_class.get_trait(self.kind) is not None
        return issubclass(op_class, self.kind)


def apply_rewrites(module: ModuleOp, rewrites: Iterable[Rewrite]) -> None:
    """Applies `rewrites` to all ops of `module` until nothing changes."""
    driver = _Driver(module, tuple(rewrites))
    for _ in range(MAX_ROUNDS):
        if not driver.run_round():
            return


class _Driver:
    """The work on a module; what applies to an op is found by its class, so that an op costs one look-up."""

    def __init__(self, module: ModuleOp, rewrites: tuple[Rewrite, ...]) -> None:
        self._module = module
        self._rewrites = rewrites
        self._kinds: dict[type[Operation], tuple[tuple[Rewrite, ...], bool]] = {}
        self._candidates: list[Operation] = []
        self._unused: list[Operation] = []
        self._constants: list[Operation] = []

    def run_round(self) -> bool:
        """Applies each rewrite once to each op; returns whether anything changed."""
        self._walk()
        changed = hoist_constants(self._constants) if self._constants else False
        changed |= erase_dead(self._unused)
        rewritten = False
        for op in self._candidates:
            # The rewrite of an earlier op may have erased this one, alone or with an op around it.
            if self._is_attached(op):
                rewritten |= any(rewrite.apply(op) for rewrite in self._kinds[op.__class__][0])
        if rewritten:
            # Before constants are hoisted in the next round: their order depends on the ops before them.
            self._walk()
            erase_dead(self._unused)
        return changed or rewritten

    def _walk(self) -> None:
        """Collects ops to rewrite, without uses, and constants, in program order."""
        self._candidates, self._unused, self._constants = [], [], []
        kinds = self._kinds
        for op in walk_pre_order(self._module, include_root=False):
            for result in op.results:
                if result.first_use is not None:
                    break
            else:
                self._unused.append(op)
            kind = kinds.get(op.__class__)
            if kind is None:
                rewrites = tuple(rewrite for rewrite in self._rewrites if rewrite.applies_to(op.__class__))
                kind = kinds[op.__class__] = (rewrites, is_foldable_constant(op))
            if kind[1] and "value" in op.properties:
                self._constants.append(op)
            elif kind[0]:
                self._candidates.append(op)

    def _is_attached(self, op: Operation) -> bool:
        above: Operation | None = op
        while above is not None and above is not self._module:
            above = above.parent_op()
        return above is self._module


def erase_dead(candidates: Iterable[Operation]) -> bool:
    """Erases the dead ops among `candidates`, and ops that are dead then; returns whether there were any."""
    pending = [op for op in candidates if is_dead_when_unused(op)]
    found = bool(pending)
    while pending:
        op = pending.pop()
        if op.parent is None or any(result.first_use is not None for result in op.results):
            continue
        producers = {
            value.op
            for inner in walk_pre_order(op)
            for value in operands_of(inner)
            if isinstance(value, OpResult)
        }
        erase(op)
        pending.extend(p for p in producers if p.parent is not None and is_dead_when_unused(p))
    return found
