"""The forms in which ops of a GPU read values: reshapes, of which XLA makes bitcasts in kernels.

    forms = ReadForms(body, around, graph, value)
    graph.forms |= forms.of(number, node.inputs)

Not here: the ops (`lowering.py`), what kernels make of bitcasts (`kernel_measures.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, TensorType
from shardy_py.ops.reads import integers
from shardy_py.xla.targets.gpu.graph import BROADCAST, CONSTANT, GpuGraph, Shape
from shardy_py.xla.targets.model import DeviceBody, DeviceNode


@dataclass(frozen=True, slots=True)
class ReadForms:
    """The forms of operands.

    around: the types of values of computations around. value: returns the number of a node's value.
    """

    body: DeviceBody
    around: Mapping[int, TensorType | None]
    graph: GpuGraph
    value: Callable[[int], int]

    def is_reshaped(self, number: int) -> bool:
        """True if a node is a value in another form."""
        node, type_ = self.body.nodes.get(number), self.graph.types[self.value(number)]
        known = None if node is None else node.type
        return known is not None and type_ is not None and known.shape != type_.shape

    def of(self, made: int, inputs: Sequence[int]) -> dict[tuple[int, int], Shape]:
        """The shapes of operands that an op reads in another form, by the op and these."""
        own = [each for each in inputs if each >= 0]
        plain = {self.value(each) for each in own if not self.is_reshaped(each)}
        found: dict[tuple[int, int], Shape] = {}
        for each in own:
            value, type_ = self.value(each), self.body.nodes[each].type if each in self.body.nodes else None
            if value not in plain and type_ is not None:
                found[made, value] = type_.shape
        return found

    def type_before(self, node: DeviceNode, reads: Sequence[int], once: Sequence[bool]) -> TensorType | None:
        """The type of an elementwise op of reshapes that nothing else reads: it is computed before them.

        Values that are repeated along all dimensions but one are so in any form. Source: openxla/xla,
        xla/hlo/transforms/simplifiers/reshape_mover.cc.
        """
        row, inputs = TABLE.get(node.name), [each for each in node.inputs if each >= 0]
        is_elementwise = row is not None and node.step is not None and row.elementwise(node.step.record)
        if not is_elementwise or node.type is None or len(inputs) != len(reads) or len(once) != len(reads):
            return None
        shapes = set[Shape]()
        for each, value, is_once in zip(inputs, reads, once, strict=True):
            type_ = self.graph.types[value]
            if type_ is not None and self.is_reshaped(each) and is_once:
                shapes.add(type_.shape)
            elif not self._is_repeated(value):
                return None
        return TensorType(shapes.pop(), node.type.element) if len(shapes) == 1 else None

    def _is_repeated(self, number: int) -> bool:
        """True for a constant, or a value that is repeated along all dimensions but one."""
        if self.graph.kinds[number] != BROADCAST:
            return self.graph.kinds[number] == CONSTANT
        type_ = self.graph.types[self.graph.reads[number][0]]
        return type_ is not None and sum(size != 1 for size in type_.shape) <= 1

    def of_repeated(self, made: int, node: DeviceNode) -> dict[tuple[int, int], Shape]:
        """The shape of what a broadcast reads in another form: without dimensions of one element that grow.

        It also counts other ones that a reshape adds. Source: openxla/xla, `HandleBroadcast` in
        xla/hlo/transforms/simplifiers/algebraic_simplifier.cc.
        """
        step, type_, read = node.step, node.type, self.type_read(node, 0)
        held = self.graph.types[self.graph.reads[made][0]]
        if step is None or type_ is None or read is None or held is None:
            return {}
        dimensions = integers(step.record.attributes, "broadcast_dimensions")
        if len(dimensions) != read.rank or type_.rank <= max(dimensions, default=-1):
            return {}
        sizes = zip(read.shape, dimensions, strict=True)
        shape = tuple([size for size, d in sizes if size != 1 or type_.shape[d] == 1])
        return {} if _adds_ones(held.shape, shape) else {(made, self.graph.reads[made][0]): shape}

    def type_read(self, node: DeviceNode, position: int) -> TensorType | None:
        """The type of an operand, which may have another shape than the value that a reshape was made of."""
        each = [each for each in node.inputs if each >= 0][position]
        return self.body.nodes[each].type if each in self.body.nodes else self.around.get(each)


def _adds_ones(held: Shape, shape: Shape) -> bool:
    """True if a shape is another one with dimensions of one element between its own.

    >>> _adds_ones((2, 3), (2, 1, 3, 1)), _adds_ones((2, 1, 3), (2, 3)), _adds_ones((2, 3), (6,))
    (True, False, False)
    """
    matched = 0
    for size in shape:
        if matched < len(held) and held[matched] == size:
            matched += 1
        elif size != 1:
            return False
    return matched == len(held)
