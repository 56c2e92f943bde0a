"""The program of one GPU before its ops become kernels: ops of values with types, in XLA's post-order.

Reshapes vanish, and so do conversions there and back. Collectives send dimension 0: others are transposed
around them. Not here: the program as compilers' passes leave it (`xla/targets/`), kernels (`kernels.py`).

    graph = GpuGraph.of(body, {})
    graph.kinds[3], graph.reads[3]
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.indexing.layout import element_type
from shardy_py.mlir.dialects.chlo import RaggedDotOp
from shardy_py.mlir.dialects.sdy import ConstantOp as SdyConstantOp
from shardy_py.mlir.dialects.stablehlo import (
    BroadcastInDimOp,
    ConcatenateOp,
    ConstantOp,
    ConvertOp,
    ConvolutionOp,
    DotGeneralOp,
    DynamicSliceOp,
    MultiplyOp,
    ReduceOp,
    ReduceWindowOp,
    TransposeOp,
)
from shardy_py.ops import TABLE, Control, Family, TensorType
from shardy_py.ops.dimensions import ConvolutionDimensions, DotDimensions
from shardy_py.ops.reads import integers
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.gpu.expanded import (
    add_cumulative,
    add_ragged,
    cumulative_dimension,
)
from shardy_py.xla.buffers.gpu.facet import KERNELS, KernelRow
from shardy_py.xla.buffers.gpu.moved import outwards, transposed_around
from shardy_py.xla.buffers.local_sizes import measured
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.merging import is_vector_product
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole, Transfer
from shardy_py.xla.targets.parts import shape_of

WINDOW, RAGGED = ReduceWindowOp.name, RaggedDotOp.name
CONVOLUTION, DOT, MULTIPLY = ConvolutionOp.name, DotGeneralOp.name, MultiplyOp.name
CONVERT, TRANSPOSE, REDUCE = ConvertOp.name, TransposeOp.name, ReduceOp.name
SLICE, BROADCAST, CONSTANT = DynamicSliceOp.name, BroadcastInDimOp.name, ConstantOp.name
_CONSTANTS = (CONSTANT, SdyConstantOp.name)
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
    index: dict[int, int] = field(default_factory=dict[int, int])
    """By number the position of an element, among the results of its op."""
    known: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """Ops that were added, by keys that are equal for equal ones."""
    forms: dict[tuple[int, int], Hashable] = field(default_factory=dict["tuple[int, int]", Hashable])
    """By op and operand the form in which it reads it, where that is not the operand's own: a bitcast."""
    returned_forms: set[int] = field(default_factory=set[int])
    """Values that are returned in another form only."""
    orders: dict[int, tuple[int, ...]] = field(default_factory=dict[int, "tuple[int, ...]"])
    """The permutations of transposes that the program does not have."""

    @staticmethod
    def of(body: DeviceBody, around: Mapping[int, TensorType | None]) -> GpuGraph:
        """Returns the ops of a computation. around: the types of nodes of computations around."""
        return _Lowering(body, around).graph

    def add(
        self, kind: str, reads: Sequence[int], type_: TensorType | None, node: DeviceNode | None = None
    ) -> int:
        """Adds an op and returns its number."""
        self.kinds.append(kind)
        self.reads.append(tuple(reads))
        self.types.append(type_)
        is_free = type_ is None or kind == CONSTANT  # constants are no temporaries
        self.sizes.append(0 if is_free or type_ is None else measured(type_, "linear"))
        self.nodes.append(node)
        return len(self.kinds) - 1

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
        return kind == CONVERT or (record is not None and row.elementwise(record))

    def order_of(self, number: int) -> tuple[int, ...]:
        """The permutation of a transpose; () if it is not known."""
        step = self.step(number)
        return (
            self.orders.get(number, ()) if step is None else integers(step.record.attributes, "permutation")
        )

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


def elements_of(type_: TensorType | None) -> int:
    """The number of elements of a type."""
    return 0 if type_ is None else prod(shape_of(type_))


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


class _Lowering:
    """Adds the ops of a body; values: the number of each node's value."""

    def __init__(self, body: DeviceBody, around: Mapping[int, TensorType | None]) -> None:
        self.body, self.around = body, around
        self.graph = GpuGraph()
        self.values: dict[int, int] = {}
        arguments = [self._argument(number) for number in body.arguments]
        for number in body.order:
            if number not in self.values:
                self.values[number] = self._lowered(number, body.nodes[number])
        self.graph.arguments = tuple(arguments)
        returned = [each for each in body.results if each >= 0]
        self.graph.results = tuple(map(self._value, returned))
        same = {self.values[each] for each in returned if not self._is_reshaped(each)}
        self.graph.returned_forms = set(self.graph.results) - same

    def _argument(self, number: int) -> int:
        node = self.body.nodes[number]
        self.values[number] = self.graph.add(ARGUMENT, (), node.type, node)
        return self.values[number]

    def _value(self, number: int) -> int:
        if number not in self.values:  # of a computation around
            self.values[number] = self.graph.add(OUTER, (), self.around.get(number))
            self.graph.outer[self.values[number]] = number
        return self.values[number]

    def _lowered(self, number: int, node: DeviceNode) -> int:
        graph = self.graph
        reads = [self._value(each) for each in node.inputs if each >= 0]
        if node.role is NodeRole.SENT and node.transfer is not None:
            return self._sent(node, node.transfer, reads[0])
        if node.role is NodeRole.ELEMENT:
            return self._element(node, reads)
        kind, form = node_kind(node), COMPILED.of(node.name).form
        if kind == ConcatenateOp.name and node.step is None and node.type is None:
            return graph.add(kind, reads, self._together(reads))
        if reads and node.type is not None and self._is_renamed(node, form, reads[0]):
            return reads[0]
        if form is NodeForm.CONVERT and node.type is not None:
            return self._converted(reads[0], node.type, node)
        if kind == DOT and node.type is not None:
            return self._product(node, node.type, reads)
        whole = self._whole(node, reads)
        if whole is not None:
            return graph.add(SLICE, (graph.add(kind, reads, whole, node),), node.type)
        if kind == CONVOLUTION and node.step is not None:
            return self._convolution(node, node.step, reads)
        expanded = None if node.type is None else self._expanded(node, kind, node.type, reads)
        if expanded is not None:
            return expanded
        made = graph.add(kind, reads, node.type, node)
        self._note_forms(made, node.inputs)
        return made

    def _together(self, reads: Sequence[int]) -> TensorType | None:
        """The type of values one after another; None if one is not known."""
        types = [self.graph.types[each] for each in reads]
        known = [each for each in types if each is not None]
        if len(known) < len(types):
            return None
        return TensorType((sum(map(elements_of, known)),), known[0].element)

    def _is_reshaped(self, number: int) -> bool:
        """True if a node is a value in another form."""
        node, type_ = self.body.nodes.get(number), self.graph.types[self._value(number)]
        known = None if node is None else node.type
        return known is not None and type_ is not None and known.shape != type_.shape

    def _note_forms(self, made: int, inputs: Sequence[int]) -> None:
        """Notes the operands that an op reads in another form."""
        own = [each for each in inputs if each >= 0]
        plain = {self._value(each) for each in own if not self._is_reshaped(each)}
        for each in own:
            value, type_ = self._value(each), self.body.nodes[each].type if each in self.body.nodes else None
            if value not in plain and type_ is not None:
                self.graph.forms[made, value] = type_.shape

    def _expanded(self, node: DeviceNode, kind: str, made: TensorType, reads: Sequence[int]) -> int | None:
        """The number of an op that XLA computes by others; None for all else."""
        types = [self.graph.types[each] for each in reads]
        if kind == RAGGED and len(reads) > 2:
            return add_ragged(self.graph, reads, types, made)
        if kind != WINDOW or node.step is None or types[0] is None or types[0].shape != made.shape:
            return None
        dimension = cumulative_dimension(node.step.record)
        given = node.step.record.results[0]
        if dimension is None or given is None or given.shape[dimension] != made.shape[dimension]:
            return None
        return add_cumulative(self.graph, reads[0], made, dimension)

    def _whole(self, node: DeviceNode, reads: Sequence[int]) -> TensorType | None:
        """The type of what an op makes of a whole operand, of which a device keeps its part."""
        step, made = node.step, node.type
        if node.role is not NodeRole.OP or node.bodies or made is None or step is None or not reads:
            return None
        if TABLE[node.name].kind is not Family.OTHER or KERNELS.of(node.name).is_fused:
            return None
        source, given = self.graph.types[reads[0]], step.record.operands[0]
        result = step.record.results[0]
        if source is None or given is None or result is None or not source.rank == given.rank == result.rank:
            return None
        dimensions = zip(given.shape, result.shape, source.shape, made.shape, strict=True)
        whole = TensorType(
            tuple(held if old == new else own for old, new, held, own in dimensions), made.element
        )
        return whole if elements_of(whole) > elements_of(made) else None

    def _convolution(self, node: DeviceNode, step: PlannedOp, reads: Sequence[int]) -> int:
        """A convolution by cuDNN: in its kernel features of the result are first, others last."""
        graph = self.graph
        numbers = ConvolutionDimensions.of(step.record.attributes)
        order = (numbers.out_feature, *numbers.kernel_spatial, numbers.in_feature)
        image, kernel = reads[:2]
        if order != tuple(range(len(order))):
            kernel = self._copied(kernel)
        if numbers.image != tuple(range(len(numbers.image))):
            image = self._copied(image)
        return graph.add(CONVOLUTION, (image, kernel, *reads[2:]), node.type, node)

    def _copied(self, number: int) -> int:
        """A copy of a value with its dimensions in another order, the same one for all that read it."""
        key = "copy", number
        if key not in self.graph.known:
            self.graph.known[key] = self.graph.add(TRANSPOSE, (number,), self.graph.types[number])
        return self.graph.known[key]

    def _is_renamed(self, node: DeviceNode, form: NodeForm, source: int) -> bool:
        """True if the value is its operand in another form."""
        if node.role is not NodeRole.OP or node.bodies or node.type is None:
            return False
        type_ = self.graph.types[source]
        if type_ is None or type_.element != node.type.element:
            return False
        is_free = STORED.of(node.name).is_free or TABLE[node.name].is_wire
        return (is_free or form is NodeForm.COPY or STORED.of(node.name).holds_back) and (
            elements_of(type_) == elements_of(node.type)
        )

    def _element(self, node: DeviceNode, reads: Sequence[int]) -> int:
        """A result of an op with several; of a barrier the operand, which is used after it."""
        graph, maker = self.graph, reads[0]
        number = graph.add(ELEMENT, (maker,), node.type, node)
        graph.index[number] = node.index
        step = graph.step(maker)
        if (
            step is not None
            and STORED.of(step.record.name).holds_back
            and node.index < len(graph.reads[maker])
        ):
            graph.reads[number] = (graph.reads[maker][node.index], maker)
        return number

    def _product(self, node: DeviceNode, type_: TensorType, reads: Sequence[int]) -> int:
        """A product; what contracts nothing is a multiplication, with a vector a multiplication and a sum."""
        graph, step = self.graph, node.step
        left = graph.types[reads[0]]
        numbers = None if step is None else DotDimensions.of(step.record.attributes)
        if left is None or numbers is None:
            return graph.add(DOT, reads, type_, node)
        batch = prod(size or 0 for size in type_.shape[: len(numbers.batching[0])])
        made = elements_of(type_)
        given = [graph.elements(each) for each in reads[:2]]
        if given[0] * given[1] == made * batch:
            return graph.add(MULTIPLY, reads, type_)
        if is_vector_product(batch, made, given[0], given[1]):
            number = graph.add(MULTIPLY, reads, graph.types[max(reads[:2], key=graph.elements)])
            return graph.add(REDUCE, (number,), type_)
        number = graph.add(DOT, reads, type_, node)
        self._note_forms(number, node.inputs)
        return number

    def _converted(self, source: int, type_: TensorType, node: DeviceNode | None = None) -> int:
        """A value as another type; what it was converted from is converted at once, also to a wider type."""
        graph = self.graph
        given = graph.types[source]
        if given is None or given.element == type_.element:
            return source
        if graph.kinds[source] == CONVERT and all(map(_is_float, (given, type_))):
            earlier = graph.reads[source][0]
            first = graph.types[earlier]
            if first is not None and _is_float(first):
                source, given = earlier, first
        if given.element == type_.element:
            return source
        return graph.add(CONVERT, (source,), type_, node)

    def _sent(self, node: DeviceNode, transfer: Transfer, source: int) -> int:
        """A collective, with conversions and transposes around it."""
        graph, collective = self.graph, transfer.collective
        given = graph.types[source]
        if given is not None and given.element != collective.element_type:
            source = self._converted(source, TensorType(given.shape, collective.element_type))
            given = graph.types[source]
        before, after = transposed_around(transfer)
        if before and given is not None:
            source = graph.add(TRANSPOSE, (source,), given)
        made = TensorType(transfer.result_shape, collective.element_type)
        number = graph.add(transfer.kind, (source,), made, node)
        if not before and given is not None and len(given.shape) != len(collective.held_shape):
            graph.forms[number, source] = collective.held_shape
        if after:
            number = graph.add(TRANSPOSE, (number,), made)
            graph.orders[number] = outwards(collective.held_shape, made.shape)
        return (
            number
            if node.type is None
            else self._converted(number, TensorType(made.shape, node.type.element))
        )


def _is_float(type_: TensorType) -> bool:
    return type_.element.startswith(("f", "bf"))


def bits(type_: TensorType) -> int:
    """The bits of an element."""
    return element_type(type_.element).bits


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
