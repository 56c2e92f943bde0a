"""The operations of a module as a list, kept from search to search while passes run.

A walk follows a link per op; a search in the list compares classes, at a tenth of the time. The functions of
`changing.py` and `building.py` note what they place, which a search for ops of such a class, or for all ops,
puts into the list first; ops with regions need a new walk. What is erased is only left out. So a pass that
runs within `indexed` places ops by `mlir.ir` alone.

>>> from xdsl.dialects.builtin import ModuleOp
>>> module = ModuleOp([ModuleOp([])])
>>> with indexed(OpIndex(module)) as index:
...     len(index.found(module, {ModuleOp}) or ()), index.found(ModuleOp([]), {ModuleOp})
(1, None)
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate, compress, count

from xdsl.ir import Operation

from shardy_py.mlir.ir.reading import first_ops


class OpIndex:
    """The operations in a module, in program order, each before its nested operations.

    root: the module, which is not among them.
    has_erased: whether ops were erased since the last walk.
    """

    def __init__(self, root: Operation) -> None:
        self.root = root
        self._placed: dict[type[Operation], Operation] = {}
        """By class, an op that was placed and is not in the list."""
        self._noted: dict[int, Operation] = {}
        """By identity, the placed ops with regions whose ops have their classes in `_placed`."""
        self._inserted: list[tuple[Operation, Operation]] = []
        """Such ops, each with the op that it was placed before."""
        self._walk()

    @property
    def samples(self) -> Iterable[tuple[type[Operation], Operation]]:
        """The classes that ops in the module can have, each with an op, which may be erased by now."""
        if not self._classes:
            self._set_classes()
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
        if self.has_erased and root is self.root:
            self._is_mixed = True
        span = self._span(root, is_renewed=self._is_mixed or bool(self._placed))
        if span is None or not self.has_erased:
            return None if span is None else self._ops[span]
        return [op for op in self._ops[span] if op.parent is not None]

    def _span(self, root: Operation, *, is_renewed: bool) -> slice | None:
        """The place of the ops in `root`; renews the list if wanted and `root` was in the module."""
        if not self._classes:
            self._set_classes()
        if is_renewed and (root is self.root or id(root) in self._spans):
            self._renew()
        return slice(None) if root is self.root else self._spans.get(id(root))

    def reclassify(self) -> None:
        """Notes that ops have other classes now."""
        self._classes = []
        self._noted.clear()

    def _set_classes(self) -> None:
        self._classes = [*map(type, self._ops)]
        self._samples = dict(zip(self._classes, self._ops, strict=True))

    def note(self, op: Operation, before: Operation | None) -> None:
        """Notes that an op, with the ops in its regions, is at another place now.

        before: the op after it; None: it is the last one, or no longer in the module.
        """
        self._placed[op.__class__] = op
        if op.regions:
            self._note_nested(op)
        if before is None or op.regions:
            self._is_mixed = True
        elif not self._is_mixed:
            self._inserted.append((op, before))

    def _note_nested(self, op: Operation) -> None:
        placed, noted = self._placed, self._noted
        around = [op]
        while around:
            op = around.pop()
            noted[id(op)] = op
            for first in first_ops(op):
                inner = first
                while inner is not None:
                    placed[inner.__class__] = inner
                    if inner.regions and id(inner) not in noted:
                        around.append(inner)
                    inner = inner._next_op

    def _renew(self) -> None:
        """Brings the list up to date: inserts new ops without regions, or else walks."""
        positions = {} if self._is_mixed else dict(zip(map(id, self._ops), count(), strict=False))
        groups: dict[int, list[Operation]] = {}
        """New ops by the position of the op in the list that they come before."""
        group_of: dict[int, int] = {}
        for op, before in self._inserted:
            at = positions.get(id(before))
            if id(op) in positions or id(op) in group_of:
                break  # it was moved
            if at is not None:
                groups.setdefault(at, []).append(op)
            elif (at := group_of.get(id(before))) is not None:
                groups[at].insert(groups[at].index(before), op)
            else:
                break
            group_of[id(op)] = at
        else:
            if not self._is_mixed:
                self._insert(groups)
                return
        self._walk()

    def _insert(self, groups: dict[int, list[Operation]]) -> None:
        places = sorted(groups)
        old, ops, end = self._ops, list[Operation](), 0
        for place in places:
            ops += old[end:place]
            ops += groups[place]
            end = place
        ops += old[end:]
        totals = [0, *accumulate(len(groups[place]) for place in places)]

        def moved(position: int) -> int:
            return position + totals[bisect_left(places, position)]

        spans = ((identity, slice(moved(s.start), moved(s.stop))) for identity, s in self._spans.items())
        self._spans = dict(spans)
        self._set(ops)

    def _walk(self) -> None:
        self._spans: dict[int, slice] = {}
        """By identity of an op with regions, where the ops in them begin and end."""
        ops: list[Operation] = []
        add, spans = ops.append, self._spans
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
        self._set(ops)
        self.has_erased = False

    def _set(self, ops: list[Operation]) -> None:
        self._ops = ops
        self._set_classes()
        self._placed.clear()
        self._noted.clear()
        self._inserted.clear()
        self._is_mixed = False


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
