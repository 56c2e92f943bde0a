"""The ops that simplifications look at: each once, and again where a change may concern it.

    changes = Changes()
    changes.folds.taken(ops)   those that are new to the folds, or read something that changed since
    changes.erase(op)          notes the users of what the op reads, too, if they are the only ones left

A simplification reads an op, what makes its operands, the operands of those, and how often operands are
used; forms of values are read through elementwise ops (`spread_forms.py`). Not here: the
simplifications, and their order (`for_tpu.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import lru_cache

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir import ir
from shardy_py.mlir.ir import operands_of
from shardy_py.ops import TABLE


@dataclass
class Revisits:
    """The ops that one simplification looks at, which takes all of them in program order, some of them then.

    is_deep: whether it reads more than the operands of an op. seen: those that it has looked at, by identity;
    they are kept, so that no new op has the same. due: the identities of those that it looks at again.
    """

    is_deep: bool = True
    seen: dict[int, Operation] = field(default_factory=dict[int, Operation])
    due: set[int] = field(default_factory=set[int])

    def taken(self, ops: Iterable[Operation]) -> Iterator[Operation]:
        """Returns those of the ops to look at, in order; each counts as done before it is yielded."""
        seen, due = self.seen, self.due
        for op in ops:
            key = id(op)
            if key not in seen:
                seen[key] = op
                yield op
            elif key in due:
                due.remove(key)
                if self.is_deep and _is_read_through(op.__class__):
                    due.update(id(use.operation) for result in op.results for use in result.uses)
                yield op

    def note(self, op: Operation) -> None:
        """Notes that an op reads something else. What is new was noted when its users became such."""
        if id(op) in self.seen:
            self.due.add(id(op))
            if self.is_deep:
                self.due.update(id(use.operation) for result in op.results for use in result.uses)


@dataclass
class Changes:
    """Notes what changes of a program concern, for each simplification."""

    dead: Revisits = field(default_factory=lambda: Revisits(is_deep=False))
    merges: Revisits = field(default_factory=lambda: Revisits(is_deep=False))
    folds: Revisits = field(default_factory=Revisits)
    sinks: Revisits = field(default_factory=Revisits)
    _erased: list[Operation] = field(default_factory=list[Operation])

    def replace(self, op: Operation, values: Iterable[SSAValue]) -> None:
        """Replaces an op by values, and erases it."""
        users = [use.operation for result in op.results for use in result.uses]
        for old, new in zip(op.results, values, strict=True):
            ir.replace_uses(old, new)
        self.erase(op)
        for user in dict.fromkeys(users):
            self._note(user)

    def erase(self, op: Operation) -> None:
        """Erases an op without uses."""
        values, around = operands_of(op), _around(op)
        if op.regions:
            values = [value for reader in ir.walk_pre_order(op) for value in operands_of(reader)]
        ir.erase(op)
        self._erased.append(op)
        for value in values:
            if isinstance(value, OpResult):
                self.dead.due.add(id(value.op))
            use = value.first_use
            if use is not None and value.has_one_use():
                self.folds.due.add(id(use.operation))
        if around is not None:
            self._note(around)

    def end(self) -> None:
        """Frees the erased ops, which nothing refers to any more."""
        for op in self._erased:
            ir.cut_off(op)

    def _note(self, op: Operation | None) -> None:
        while op is not None:
            for each in (self.merges, self.folds, self.sinks):
                each.note(op)
            op = _around(op)


def _around(op: Operation) -> Operation | None:
    """The op that combines elements by, or runs, a region with this op; None in a function."""
    around = op.parent_op()
    return None if isinstance(around, FuncOp) else around


@lru_cache(maxsize=4096)
def _is_read_through(op_class: type[Operation]) -> bool:
    return bool(TABLE[op_class.name].is_elementwise)
