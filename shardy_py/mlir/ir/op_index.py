"""The operations of a module as a list, kept from search to search while passes run.

A walk follows a link per op; a search in the list compares classes, at a tenth of the time. The functions of
`changing.py` and `building.py` note what they place: a search for ops of such a class, and a list of all ops,
needs a new walk. What is erased is only left out. So a pass that runs within `indexed` places ops by `ir` alone.

>>> from xdsl.dialects.builtin import ModuleOp
>>> module = ModuleOp([ModuleOp([])])
>>> with indexed(OpIndex(module)) as index:
...     len(index.found(module, {ModuleOp}) or ()), index.found(ModuleOp([]), {ModuleOp})
(1, None)
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import compress

from xdsl.ir import Operation

from shardy_py.mlir.ir.reading import first_ops


class OpIndex:
    """The operations in a module, in program order, each before its nested operations.

    root: the module, which is not among them.
    """

    def __init__(self, root: Operation) -> None:
        self.root = root
        self._placed: dict[type[Operation], Operation] = {}
        """By class, an op that was placed since the walk."""
        self._walk()

    @property
    def samples(self) -> Iterable[tuple[type[Operation], Operation]]:
        """The classes that ops in the module can have, each with an op, which may be erased by now."""
        return (self._samples | self._placed).items()

    def found(self, root: Operation, classes: Collection[type[Operation]]) -> list[Operation] | None:
        """The operations in `root` of these classes; None if `root` is not known to be in the module."""
        span = self._span(root, is_renewed=not self._placed.keys().isdisjoint(classes))
        if span is None:
            return None
        matches = map(classes.__contains__, self._classes[span])
        return [op for op in compress(self._ops[span], matches) if op.parent is not None]

    def all_in(self, root: Operation) -> list[Operation] | None:
        """The operations in `root`; None if `root` is not known to be in the module."""
        span = self._span(root, is_renewed=bool(self._placed))
        return None if span is None else [op for op in self._ops[span] if op.parent is not None]

    def _span(self, root: Operation, *, is_renewed: bool) -> slice | None:
        """Where the ops in `root` are; walks anew if wanted and `root` was in the module."""
        is_known = root is self.root or id(root) in self._spans
        if is_known and is_renewed:
            self._walk()
        return slice(None) if root is self.root else self._spans.get(id(root))

    def note(self, op: Operation) -> None:
        """Notes that an op, with the ops in its regions, is at another place now."""
        placed = self._placed
        placed[op.__class__] = op
        entered: set[Operation] = set()  # the body of a function that calls itself may be placed within it
        around = [op] if op.regions else []
        while around:
            op = around.pop()
            entered.add(op)
            for first in first_ops(op):
                inner = first
                while inner is not None:
                    placed[inner.__class__] = inner
                    if inner.regions and inner not in entered:
                        around.append(inner)
                    inner = inner._next_op

    def _walk(self) -> None:
        self._ops: list[Operation] = []
        self._spans: dict[int, slice] = {}
        """By identity of an op with regions, where the ops in them begin and end."""
        add, ops, spans = self._ops.append, self._ops, self._spans
        stack: list[Operation | tuple[Operation, int] | None] = [*first_ops(self.root)]
        while stack:
            op = stack.pop()
            if isinstance(op, tuple):
                around, start = op
                spans[id(around)] = slice(start, len(ops))
                continue
            while op is not None:
                add(op)
                following = op._next_op
                if op.regions:
                    stack += following, (op, len(ops))
                    stack += first_ops(op)
                    break
                op = following
        self._classes = [*map(type, ops)]
        self._samples = dict(zip(self._classes, ops, strict=True))
        self._placed.clear()


_INDEX: ContextVar[OpIndex | None] = ContextVar("index", default=None)
current_index = _INDEX.get
"""Returns the index of the module that passes run on; None if there is none."""


@contextmanager
def indexed(index: OpIndex | None) -> Generator[OpIndex | None]:
    """While entered, searches and lists use `index`; None: they walk."""
    token = _INDEX.set(index)
    try:
        yield index
    finally:
        _INDEX.reset(token)
