"""A computation or function as flat data, the same for HLO and for StableHLO.

Values have numbers: the parameters first, then the results of each node in order. Ops that only pass values
on (tuples, barriers, returns) are not nodes: their users use the values directly.

    p0, p1 -> add(p0, p1) -> negate -> result         values  0, 1 | 2 | 3
    Function(parameters=(t, t), nodes=(add (0, 1), negate (2,)), results=(3,))

Not here: conversions to functions (`from_hlo.py`, `from_mlir.py`), maps through functions (`fusion.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Literal

from shardy_py.base.errors import Position
from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord, TensorType

Form = Literal["op", "call", "branches", "loop"]


@dataclass(frozen=True, eq=False)
class Body:
    """A function that a node runs; `inputs` are the node's operands that become its parameters."""

    function: Function
    inputs: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Node:
    """One op.

    name: of the op (of its first result) in the program; may be empty.
    operands: numbers of values.
    form: "op": its maps are those of the op table; "call": those of its body; "branches": those of all its
        bodies, selected by operand 0; "loop": the bodies are condition and body, which runs on its own
        results.
    """

    name: str
    record: OpRecord
    operands: tuple[int, ...]
    form: Form = "op"
    bodies: tuple[Body, ...] = ()
    position: Position | None = None


@dataclass(frozen=True, eq=False)
class Function:
    """Nodes, each after those whose values it uses.

    parameter_names: the name of each parameter in the program.
    """

    name: str
    parameters: tuple[TensorType | None, ...]
    nodes: tuple[Node, ...]
    results: tuple[int, ...]
    parameter_names: tuple[str, ...] = ()

    @cached_property
    def first_results(self) -> tuple[int, ...]:
        """The number of the first result of each node."""
        counts = (len(node.record.results) for node in self.nodes)
        return tuple(accumulate(counts, initial=len(self.parameters)))[:-1] if self.nodes else ()

    @cached_property
    def types(self) -> tuple[TensorType | None, ...]:
        """The type of each value."""
        return (*self.parameters, *(t for node in self.nodes for t in node.record.results))

    @property
    def result_types(self) -> tuple[TensorType | None, ...]:
        """The types of the results."""
        return tuple(self.types[value] for value in self.results)


class Numbering:
    """Numbers the values of a function as its parameters and nodes are added, in order.

    types: those of the values so far.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.names: list[str] = []
        self.types: list[TensorType | None] = []
        self._parameters = 0

    def parameters(self, name: str, types: tuple[TensorType | None, ...]) -> tuple[int, ...]:
        """Adds a parameter with the leaves of its type, and returns their numbers."""
        self.names += [name] if len(types) == 1 else [f"{name}.{i}" for i in range(len(types))]
        self._parameters += len(types)
        return self.results(types)

    def results(self, types: tuple[TensorType | None, ...]) -> tuple[int, ...]:
        """Adds values of these types, and returns their numbers."""
        first = len(self.types)
        self.types += types
        return tuple(range(first, len(self.types)))

    def function(self, name: str, results: tuple[int, ...]) -> Function:
        """Returns all nodes as a function."""
        types = tuple(self.types[: self._parameters])
        return Function(name, types, tuple(self.nodes), results, tuple(self.names))


def element_of(leaves: Sequence[int], counts: Sequence[int], index: int) -> tuple[int, ...]:
    """Returns the leaves of one part of a tuple; counts: the leaves of each part."""
    start = sum(counts[:index])
    if not 0 <= index < len(counts) or start + counts[index] > len(leaves):
        raise IndexError(index)
    return tuple(leaves[start : start + counts[index]])


def function_of(record: OpRecord) -> Function:
    """A single op as a function of its operands.

    >>> t = TensorType((4,))
    >>> function_of(OpRecord("stablehlo.add", (t, t), (t,))).results
    (2,)
    """
    count = len(record.operands)
    node = Node("", record, tuple(range(count)))
    results = tuple(range(count, count + len(record.results)))
    return Function(record.name, record.operands, (node,), results)
