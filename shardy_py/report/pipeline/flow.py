"""The data flow of a loop's body over iterations: how many iterations later an op depends on another.

    flow = LoopFlow(loop)
    after = flow.after([permute])       by op, the iterations from a permute to it
    before = flow.before([permute])     by op, those from it to a permute

Bodies of manual computations are a part of the loop's. Not here: what is a pipeline (`detected.py`).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from shardy_py.mlir.dialects.sdy import ManualComputationOp
from shardy_py.mlir.ir import operands_of, terminator_of, walk_pre_order

Node = int
"""The identity of an op of the body, or of one of its arguments."""
Distances = Mapping[Node, int]


class LoopFlow:
    """The ops of the body of a loop, with what they read.

    ops: those of the body and of manual computations in it. invariant: arguments that each iteration hands on
    as they are. carried: the others.
    """

    def __init__(self, loop: Operation) -> None:
        body = loop.regions[1].blocks[0]
        self.loop = loop
        self._same: dict[int, SSAValue] = {}
        self.ops: tuple[Operation, ...] = tuple(self._flattened(body))
        self._inside = {id(inner): op for op in self.ops for inner in walk_pre_order(op)}
        self._next: dict[Node, list[tuple[Node, int]]] = defaultdict(list)
        self._previous: dict[Node, list[tuple[Node, int]]] = defaultdict(list)
        self.arguments = {id(argument): n for n, argument in enumerate(body.args)}
        for op in self.ops:
            for value in self.read(op):
                self._link(value, id(op), 0)
        handed_on = [self.resolved(value) for value in _returned(loop.regions[1])]
        pairs = list(zip(body.args, handed_on, strict=True))
        self.invariant = frozenset(id(argument) for argument, value in pairs if value is argument)
        self.carried = tuple(argument for argument, value in pairs if value is not argument)
        for argument, value in pairs:
            if value is not argument:
                self._link(value, id(argument), 1)

    def _flattened(self, block: Block) -> Iterator[Operation]:
        for op in block.ops:
            if isinstance(op, ManualComputationOp):
                inner = op.regions[0].blocks[0]
                self._same |= {id(a): v for a, v in zip(inner.args, operands_of(op), strict=True)}
                returned = zip(op.results, _returned(op.regions[0]), strict=True)
                self._same |= {id(result): value for result, value in returned}
                yield from self._flattened(inner)
            elif op.results:
                yield op

    def resolved(self, value: SSAValue) -> SSAValue:
        """Returns the value of the body that one is which goes into, or out of, a manual computation."""
        while id(value) in self._same:
            value = self._same[id(value)]
        return value

    def read(self, op: Operation) -> tuple[SSAValue, ...]:
        """Returns the values that an op reads, in its regions too."""
        own = {id(inner) for inner in walk_pre_order(op)}
        values = (value for inner in walk_pre_order(op) for value in operands_of(inner))
        found = {
            id(value): value
            for value in map(self.resolved, values)
            if not (isinstance(value, OpResult) and id(value.op) in own) and self._is_outside(value, op)
        }
        return tuple(found.values())

    @staticmethod
    def _is_outside(value: SSAValue, op: Operation) -> bool:
        block = value.owner if isinstance(value.owner, Block) else None
        while block is not None and (around := block.parent_op()) is not None:
            if around is op:
                return False
            block = around.parent
        return True

    def maker(self, value: SSAValue) -> Node:
        """Returns the op of the body that makes a value, or the argument that it is."""
        value = self.resolved(value)
        made = self._inside.get(id(value.op)) if isinstance(value, OpResult) else None
        return id(value) if made is None else id(made)

    def op_of(self, inner: Operation) -> Operation | None:
        """Returns the op of the body that has an op in its regions, or is it; None for those elsewhere."""
        return self._inside.get(id(inner))

    def _link(self, value: SSAValue, reader: Node, iterations: int) -> None:
        made = self.maker(value)
        self._next[made].append((reader, iterations))
        self._previous[reader].append((made, iterations))

    def after(self, ops: Iterable[Operation]) -> Distances:
        """Returns the fewest iterations from ops to each op and argument that depends on them."""
        return _distances(map(id, ops), self._next)

    def before(self, ops: Iterable[Operation]) -> Distances:
        """Returns the fewest iterations from each op and argument to some ops that depend on it."""
        return _distances(map(id, ops), self._previous)


def _returned(region: Region) -> Sequence[SSAValue]:
    last = terminator_of(region)
    return () if last is None else operands_of(last)


def _distances(starts: Iterable[Node], edges: Mapping[Node, list[tuple[Node, int]]]) -> Distances:
    found, pending = dict.fromkeys(starts, 0), deque[Node]()
    pending.extend(found)
    while pending:
        node = pending.popleft()
        for other, more in edges.get(node, ()):
            distance = found[node] + more
            if distance < found.get(other, distance + 1):
                found[other] = distance
                (pending.append if more else pending.appendleft)(other)
    return found
