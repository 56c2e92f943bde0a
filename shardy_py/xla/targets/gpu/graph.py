"""The ops of a computation on a GPU by number, each with the values that it reads.

    graph.kinds[3], graph.reads[3]

Not here: how a program becomes such a graph (`lowering.py`), kernels (`kernels.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.chlo import RaggedDotOp
from shardy_py.mlir.dialects.sdy import ConstantOp as SdyConstantOp
from shardy_py.mlir.dialects.stablehlo import (
    AddOp,
    BroadcastInDimOp,
    ConcatenateOp,
    ConstantOp,
    ConvertOp,
    ConvolutionOp,
    DivideOp,
    DotGeneralOp,
    DynamicSliceOp,
    MaximumOp,
    MultiplyOp,
    ReduceOp,
    ReduceWindowOp,
    TransposeOp,
)
from shardy_py.ops import TABLE, Control, TensorType
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.targets.gpu.facet import KERNELS, KernelRow
from shardy_py.xla.targets.model import DeviceNode, NodeRole, Transfer
from shardy_py.xla.targets.parts import bytes_of, elements_of

WINDOW, RAGGED = ReduceWindowOp.name, RaggedDotOp.name
ADD, DIVIDE, MAXIMUM = AddOp.name, DivideOp.name, MaximumOp.name
CONVOLUTION, DOT, MULTIPLY = ConvolutionOp.name, DotGeneralOp.name, MultiplyOp.name
CONVERT, TRANSPOSE, REDUCE = ConvertOp.name, TransposeOp.name, ReduceOp.name
SLICE, BROADCAST, CONSTANT = DynamicSliceOp.name, BroadcastInDimOp.name, ConstantOp.name
_CONSTANTS = (CONSTANT, SdyConstantOp.name)
Shape = tuple[int | None, ...]
_ELEMENTWISE = (CONVERT, ADD, MULTIPLY)
"""The kinds of elementwise ops that are added without a step."""
OUTER, ARGUMENT, ELEMENT = "outer", "argument", "element"
"""Kinds of values of the computation around, of arguments, of the results of an op with several."""


@dataclass
class GpuGraph:
    """The ops of a computation, by number: each after those that it reads.

    kinds: the names of ops, or what else a value is. reads: the operands. types: of the results; None for
    others than tensors. sizes: their bytes. nodes: what they are in the program. results, arguments: of the
    computation. outer: by number the node of a computation around that a value is.
    """

    kinds: list[str] = field(default_factory=list[str])
    reads: list[tuple[int, ...]] = field(default_factory=list["tuple[int, ...]"])
    types: list[TensorType | None] = field(default_factory=list["TensorType | None"])
    sizes: list[int] = field(default_factory=list[int])
    nodes: list[DeviceNode | None] = field(default_factory=list["DeviceNode | None"])
    results: tuple[int, ...] = ()
    arguments: tuple[int, ...] = ()
    outer: dict[int, int] = field(default_factory=dict[int, int])
    copied_around: dict[int, int] = field(default_factory=dict[int, int])
    """By number the node of a computation around of which a value is a copy, in another order."""
    index: dict[int, int] = field(default_factory=dict[int, int])
    """By number the position of an element, among the results of its op."""
    known: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """Ops that were added, by keys that are equal for equal ones."""
    forms: dict[tuple[int, int], Hashable] = field(default_factory=dict["tuple[int, int]", Hashable])
    """By op and operand the form in which it reads it, where that is not the operand's own: a bitcast."""
    bitcasts: dict[tuple[int, int], int] = field(default_factory=dict["tuple[int, int]", int])
    """By product in parts and operand how often it reads it, each time as a bitcast of its own."""
    shapes: dict[tuple[int, int], Shape] = field(default_factory=dict["tuple[int, int]", "Shape"])
    """By product and operand the shape in which it reads it, where that is not the operand's own."""
    returned_forms: set[int] = field(default_factory=set[int])
    """Values that are returned in another form only."""
    orders: dict[int, tuple[int, ...]] = field(default_factory=dict[int, "tuple[int, ...]"])
    """The permutations of transposes, where they are known."""
    together: set[int] = field(default_factory=set[int])
    """Concatenations of operands of products that are one."""
    columns: set[int] = field(default_factory=set[int])
    """Sums of products with vectors that keep the last dimension."""
    workspaces: dict[int, int] = field(default_factory=dict[int, int])
    """By product the bytes that a library may use beside."""
    over: dict[int, tuple[int, ...]] = field(default_factory=dict[int, "tuple[int, ...]"])
    """By product the values of which its kernel reads only the element that it writes."""
    numbered: set[int] = field(default_factory=set[int])
    """Sorts of the places of elements among others, which need no operand for these."""
    turned: set[int] = field(default_factory=set[int])
    """Values that are in memory in another order than that of their dimensions."""

    def add(
        self, kind: str, reads: Sequence[int], type_: TensorType | None, node: DeviceNode | None = None
    ) -> int:
        """Adds an op and returns its number."""
        self.kinds.append(kind)
        self.reads.append(tuple(reads))
        self.types.append(type_)
        is_free = type_ is None or kind == CONSTANT  # constants are no temporaries
        self.sizes.append(0 if is_free or type_ is None else bytes_of(type_))
        self.nodes.append(node)
        return len(self.kinds) - 1

    def add_element(self, maker: int, position: int, type_: TensorType | None) -> int:
        """Adds one of the results of an op and returns its number."""
        number = self.add(ELEMENT, (maker,), type_)
        self.index[number] = position
        return number

    def row(self, number: int) -> KernelRow:
        """The row of an op in a kernel."""
        return KERNELS.of(self.kinds[number])

    def is_elementwise(self, number: int) -> bool:
        """True if each element is computed from the same element of all operands."""
        kind, node = self.kinds[number], self.nodes[number]
        row = TABLE.get(kind)
        if row is None:
            return False
        record = None if node is None or node.step is None else node.step.record
        return kind in _ELEMENTWISE or (record is not None and row.elementwise(record))

    def order_of(self, number: int) -> tuple[int, ...]:
        """The permutation of a transpose; () if it is not known."""
        return self.orders.get(number, ())

    def elements(self, number: int) -> int:
        """The number of elements of a result."""
        return elements_of(self.types[number])

    def users(self) -> list[list[int]]:
        """By number the ops that read a value."""
        found: list[list[int]] = [[] for _ in self.kinds]
        for number, reads in enumerate(self.reads):
            for each in dict.fromkeys(reads):
                found[each].append(number)
        return found

    def transfer(self, number: int) -> Transfer | None:
        """The collective that an op is."""
        node = self.nodes[number]
        is_sent = node is not None and node.role is NodeRole.SENT and self.kinds[number] == node_kind(node)
        return node.transfer if node is not None and is_sent else None

    def step(self, number: int) -> PlannedOp | None:
        """The step that an op is for."""
        node = self.nodes[number]
        return None if node is None else node.step


def node_kind(node: DeviceNode) -> str:
    """The kind of a node of the program: a value with borders of its neighbours is a concatenation.

    So are the operands of products that are one, whose results are slices of it.
    """
    if node.role is NodeRole.OP and node.step is None:
        return ConcatenateOp.name if len(node.inputs) > 1 else SLICE
    if node.role is NodeRole.SENT and node.transfer is not None:
        return node.transfer.kind
    kinds = {NodeRole.ARGUMENT: ARGUMENT, NodeRole.ELEMENT: ELEMENT, NodeRole.SLICE: SLICE}
    return CONSTANT if node.name in _CONSTANTS else kinds.get(node.role, node.name)


def is_loop(node: DeviceNode | None) -> bool:
    """True if a node runs a body until a condition holds."""
    return node is not None and bool(node.bodies) and TABLE[node.name].control is Control.LOOP


def live(graph: GpuGraph, roots: Iterable[int]) -> list[bool]:
    """By number whether the roots need a value."""
    found = [False] * len(graph.kinds)
    left = [*roots]
    while left:
        number = left.pop()
        if not found[number]:
            found[number] = True
            left += graph.reads[number]
    return found
