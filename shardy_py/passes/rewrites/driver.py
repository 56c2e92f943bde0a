"""Debug information of propagation: the origins of axes, and the edges along which they propagated."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.dialects.builtin import ModuleOp, UnknownLoc, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, OpResult
from xdsl.traits import OpTrait

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.traits import is_dead_when_unused, is_foldable_constant, is_isolated
from shardy_py.mlir.ir import (
    OperandChanges,
    erase,
    operands_of,
    operands_set_together,
    ops_in,
    place_at_start,
    replace_uses,
    set_operands,
    take_out,
    walk_pre_order,
)


def hoist_constants(constants: Iterable[Operation]) -> bool:
    """Hoists `constants`, in program order, and merges equal ones; returns whether any changed.

    One behind constants at the start of its block stays there; others go before all of them.
    """
    first_of: dict[tuple[int, str, Attribute, Attribute], Operation] = {}
    placed: set[int] = set()
    changed = False
    for op in constants:
        block = op.parent
        assert block is not None
        home = _home(block)
        key = (id(home), op.name, op.properties["value"], op.results[0].type)
        same = first_of.get(key)
        if same is not None:
            replace_uses(op.results[0], same.results[0])
            erase(op)
            same.location = UnknownLoc()
            changed = True
            continue
        first = home.first_op
        previous = op.prev_op
        if first is not op and not (block is home and previous is not None and id(previous) in placed):
            if block is not home:
                op.location = UnknownLoc()
            take_out(op)
            place_at_start(op, home)
            changed = True
        first_of[key] = op
        placed.add(id(op))
    return changed


def _home(block: Block) -> Block:
    """The first block of the region that constants in `block` are hoisted to."""
    while True:
        parent, region = block.parent_op(), block.parent
        assert parent is not None
        assert region is not None
        # The regions of unregistered ops may be isolated.
        if is_isolated(parent) or isinstance(parent, UnregisteredOp) or parent.parent is None:
            return region.blocks[0]
        block = parent.parent


MAX_ROUNDS = 10
"""MLIR's driver gives up after as many."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite.

    kind: the class of the ops that it applies to, or a trait of their classes.
    apply: changes the program around an op if possible; returns whether it did.
    label: the name that selects it; empty: it is never selected alone.
    begin: called before each round, in which `apply` is given the ops that are there, in program order.
    reads_few: `apply` reads operands of ops that have few alone, so those of others are set later, together.
    """

    kind: type[Operation] | type[OpTrait]
    apply: Callable[[Operation], bool]
    label: str = ""
    begin: Callable[[], object] | None = None
    reads_few: bool = False

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
        self._walk()
        changed = hoist_constants(self._constants) if self._constants else False
        changed |= erase_dead(self._unused)
        for rewrite in self._rewrites:
            if rewrite.begin is not None:
                rewrite.begin()
        with operands_set_together() as changes:
            rewritten = False
            for op in self._candidates:
                # The rewrite of an earlier op may have erased this one, alone or with an op around it.
                if self._is_attached(op):
                    rewritten |= any(
                        self._applies(rewrite, op, changes) for rewrite in self._kinds[op.__class__][0]
                    )
        if rewritten:
            # Before constants are hoisted in the next round: their order depends on the ops before them.
            self._walk()
            erase_dead(self._unused)
        return changed or rewritten

    @staticmethod
    def _applies(rewrite: Rewrite, op: Operation, changes: OperandChanges) -> bool:
        if changes and not rewrite.reads_few:
            set_operands(changes)
        return rewrite.apply(op)

    def _walk(self) -> None:
        """Collects ops to rewrite, without uses, and constants, in program order."""
        self._candidates, self._unused, self._constants = [], [], []
        kinds = self._kinds
        for op in ops_in(self._module):
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
