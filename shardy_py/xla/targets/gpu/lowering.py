"""The program of one GPU before its ops become kernels: ops of values with types, in XLA's post-order.

Reshapes vanish, and so do conversions there and back. Collectives send dimension 0: others are transposed
around them. Not here: the program as compilers' passes leave it (`xla/targets/`), kernels (`kernels.py`).

    graph = lowered(body, {})
    graph.kinds[3], graph.reads[3]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from shardy_py.mlir.dialects.stablehlo import (
    ConcatenateOp,
    IotaOp,
    PadOp,
    SelectAndScatterOp,
    SortOp,
)
from shardy_py.ops import TABLE, Family, TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.ops.reads import integers
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.gpu.constants import is_constant_float, is_float, is_zeros, scaled
from shardy_py.xla.targets.gpu.convolutions import Convolutions
from shardy_py.xla.targets.gpu.expanded import (
    add_cumulative,
    add_pooled_gradient,
    add_ragged,
    cumulative_dimension,
)
from shardy_py.xla.targets.gpu.facet import KERNELS
from shardy_py.xla.targets.gpu.graph import (
    ADD,
    ARGUMENT,
    BROADCAST,
    CONVERT,
    CONVOLUTION,
    DIVIDE,
    DOT,
    ELEMENT,
    MULTIPLY,
    OUTER,
    RAGGED,
    REDUCE,
    SLICE,
    TRANSPOSE,
    WINDOW,
    GpuGraph,
    is_loop,
    node_kind,
)
from shardy_py.xla.targets.gpu.moved import inwards, is_turned, outwards
from shardy_py.xla.targets.gpu.padding import add_cut
from shardy_py.xla.targets.gpu.read_forms import ReadForms
from shardy_py.xla.targets.gpu.reductions import in_steps
from shardy_py.xla.targets.gpu.repeated import add_filled, add_outer, add_scaled
from shardy_py.xla.targets.merging import is_vector_product
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole, Transfer
from shardy_py.xla.targets.parts import elements_of, shape_of
from shardy_py.xla.targets.sends import transposed_around

_RENAMED = (NodeForm.RESHAPE, NodeForm.COPY, NodeForm.BARRIER)
"""The forms of ops whose results are their operands."""


def lowered(body: DeviceBody, around: Mapping[int, TensorType | None]) -> GpuGraph:
    """Returns the ops of a computation, the same for all that ask. around: the types of nodes around it."""
    known = body.kept.get(GpuGraph)
    if not isinstance(known, GpuGraph):
        known = body.kept[GpuGraph] = _Lowering(body, around).graph
    return known


class _Lowering:
    """Adds the ops of a body; values: the number of each node's value."""

    def __init__(self, body: DeviceBody, around: Mapping[int, TensorType | None]) -> None:
        self.body, self.around = body, around
        self.graph = GpuGraph()
        self.values: dict[int, int] = {}
        self.convolutions = Convolutions(self.graph, self._copied)
        self.forms = ReadForms(body, around, self.graph, self._value)
        arguments = [self._argument(number) for number in body.arguments]
        for number in body.order:
            if number not in self.values:
                self.values[number] = self._lowered(number, body.nodes[number])
        self.graph.arguments = tuple(arguments)
        returned = [each for each in body.results if each >= 0]
        self.graph.results = tuple(map(self._returned, returned))
        same = {self.values[each] for each in returned if not self.forms.is_reshaped(each)}
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

    def _returned(self, number: int) -> int:
        """The number of a value that is returned, in the order that the program has."""
        value = self._value(number)
        return self._copied(value) if value in self.convolutions.features_last else value

    def _lowered(self, number: int, node: DeviceNode) -> int:
        graph = self.graph
        reads = [self._value(each) for each in node.inputs if each >= 0]
        if node.role is NodeRole.SENT and node.transfer is not None:
            return self._sent(node, node.transfer, reads[0])
        if node.role is NodeRole.ELEMENT:
            return self._element(node, reads)
        if is_loop(node):
            reads = self._read_by_loop(node, reads)
        kind, form = node_kind(node), self.body.form(number)
        if kind == ConcatenateOp.name and node.step is None and node.type is None:
            return self._together(reads)
        if kind == ConcatenateOp.name and node.step is None and self._is_total(node, reads):
            # XLA simplifies the sum of a value and zeros to the value.
            kept = [each for each in reads if not is_zeros(graph, each)]
            return kept[0] if len(kept) == 1 else graph.add(ADD, reads, node.type)
        if reads and node.type is not None and self._is_renamed(node, form, reads[0]):
            return reads[0]
        if form is NodeForm.CONVERT and node.type is not None:
            return self._converted(reads[0], node.type, node)
        if kind == DOT and node.type is not None:
            return self._product(node, node.type, reads)
        if kind == TRANSPOSE and node.type is not None and node.step is not None:
            order = integers(node.step.record.attributes, "permutation")
            return self._transposed(reads[0], order, node.type, node)
        whole = self._whole(node, reads)
        if whole is not None:
            return graph.add(SLICE, (graph.add(kind, reads, whole, node),), node.type)
        if kind == CONVOLUTION and node.step is not None:
            nodes = [self.body.nodes.get(each) for each in node.inputs if each >= 0]
            forms = [each.type if each else graph.types[n] for each, n in zip(nodes, reads, strict=True)]
            return self.convolutions.add(node, reads, forms)
        once = [self.body.only_user(each) is not None for each in node.inputs if each >= 0]
        ended = self.convolutions.ended(node, kind, reads, once)
        if ended is not None:
            return ended
        expanded = None if node.type is None else self._expanded(node, kind, node.type, reads)
        if expanded is not None:
            return expanded
        if kind == REDUCE and node.type is not None and (stepwise := self._reduced(node, node.type, reads)):
            return stepwise
        if kind == PadOp.name and node.type is not None and (cut := add_cut(graph, node, node.type, reads)):
            return cut
        if kind == BROADCAST and reads and graph.kinds[reads[0]] == IotaOp.name:
            kind, reads = IotaOp.name, []  # XLA counts along a dimension of the whole
        if kind == DIVIDE and is_constant_float(graph, reads[-1]):
            kind = MULTIPLY  # by the inverse, which XLA computes
        product = scaled(graph, node, reads, once) if kind == MULTIPLY and len(reads) == 2 else None
        if product is not None:
            return product
        is_numbered = kind == SortOp.name and len(reads) > 1 and graph.kinds[reads[-1]] == IotaOp.name
        if KERNELS.of(kind).is_in_place and reads and node.type is not None:
            reads = [add_filled(graph, reads[0], node.type), *reads[1:]]
        type_ = self.forms.type_before(node, reads, once) or node.type
        made = graph.add(kind, reads[:-1] if is_numbered else reads, type_, node)
        if is_numbered:
            graph.numbered.add(made)
        if kind == BROADCAST:
            graph.forms |= self.forms.of_repeated(made, node)
        elif type_ is node.type:
            graph.forms |= self.forms.of(made, node.inputs)
        last = self.convolutions.features_last
        if (graph.is_elementwise(made) or kind == WINDOW) and not last.isdisjoint(reads):
            last.add(made)
        return made

    def _is_total(self, node: DeviceNode, reads: Sequence[int]) -> bool:
        """True for the sum of what a loop started with and what it added, which is summed after it."""
        made = elements_of(node.type)
        return len(reads) == 2 and all(self.graph.elements(each) == made for each in reads)

    def _together(self, reads: Sequence[int]) -> int:
        """The number of values one after another, for products that are one."""
        graph = self.graph
        flat = [part for each in reads for part in (graph.reads[each] if each in graph.together else (each,))]
        types = [type_ for each in flat if (type_ := graph.types[each]) is not None]
        whole = TensorType((sum(map(elements_of, types)),), types[0].element) if types else None
        graph.together.add(number := graph.add(ConcatenateOp.name, flat, whole))
        return number

    def _expanded(self, node: DeviceNode, kind: str, made: TensorType, reads: Sequence[int]) -> int | None:
        """The number of an op that XLA computes by others; None for all else."""
        types = [self.graph.types[each] for each in reads]
        if kind == RAGGED and len(reads) > 2:
            return add_ragged(self.graph, reads, types, made)
        if kind == SelectAndScatterOp.name and len(reads) == 3 and types[1] is not None:
            return add_pooled_gradient(self.graph, reads, types[1], made)
        if kind != WINDOW or node.step is None or types[0] is None or types[0].shape != made.shape:
            return None
        dimension = cumulative_dimension(node.step.record)
        given = node.step.record.results[0]
        if dimension is None or given is None or given.shape[dimension] != made.shape[dimension]:
            return None
        return add_cumulative(self.graph, reads[0], made, dimension)

    def _reduced(self, node: DeviceNode, made: TensorType, reads: Sequence[int]) -> int | None:
        """The last number of a reduction in two steps; None if it is one."""
        graph, step = self.graph, node.step
        type_, given = graph.types[reads[0]], None if step is None else step.record.operands[0]
        if step is None or type_ is None or given is None or given.rank != type_.rank:
            return None
        dimensions = integers(step.record.attributes, "dimensions")
        return self._stepwise(reads[0], reads[1:], dimensions, made)

    def _stepwise(
        self, source: int, others: Sequence[int], dimensions: Sequence[int], made: TensorType
    ) -> int | None:
        """The last number of a reduction of a value in two steps; None if it is one."""
        graph, numbers = self.graph, [source]
        type_ = graph.types[source]
        steps = None if type_ is None else in_steps(shape_of(type_), dimensions)
        if steps is None:
            return None
        for shape in (TensorType(steps.shape, made.element), made):
            numbers.append(graph.add(REDUCE, (numbers[-1], *others), shape))
        graph.columns.update(
            number for number, keeps in zip(numbers[1:], steps.keeps_last, strict=True) if keeps
        )
        return numbers[-1]

    def _whole(self, node: DeviceNode, reads: Sequence[int]) -> TensorType | None:
        """The type of what an op makes of a whole operand, of which a device keeps its part."""
        step, made = node.step, node.type
        if node.role is not NodeRole.OP or node.bodies or made is None or step is None or not reads:
            return None
        if TABLE[node.name].kind is not Family.OTHER or KERNELS.of(node.name).is_fused:
            return None
        source, given = self.graph.types[reads[0]], step.record.operands[0]
        result = step.record.results[0]
        if source is None or given is None or result is None:
            return None
        if not source.rank == given.rank == result.rank == made.rank:
            return None
        dimensions = zip(given.shape, result.shape, source.shape, made.shape, strict=True)
        whole = TensorType(
            tuple(held if old == new else own for old, new, held, own in dimensions), made.element
        )
        return whole if elements_of(whole) > elements_of(made) else None

    def _transposed(
        self, source: int, order: tuple[int, ...], type_: TensorType, node: DeviceNode | None = None
    ) -> int:
        """A value with its dimensions in another order: of a transpose of a transpose one is left."""
        graph = self.graph
        inner = graph.order_of(source) if graph.kinds[source] == TRANSPOSE else ()
        if order and len(inner) == len(order):
            order = tuple([inner[d] for d in order])
            (source,) = graph.reads[source]
            if order == tuple(range(len(order))):
                return source
        number = graph.add(TRANSPOSE, (source,), type_, node)
        graph.orders[number] = order
        return number

    def _copied(self, number: int) -> int:
        """A copy of a value with its dimensions in another order, the same one for all that read it."""
        key, graph = ("copy", number), self.graph
        if key not in graph.known:
            source, *others = graph.reads[number] or (number,)
            if graph.kinds[number] == OUTER:
                graph.known[key] = graph.add(OUTER, (), graph.types[number])
                graph.copied_around[graph.known[key]] = graph.outer[number]
            elif graph.kinds[number] == SLICE and graph.kinds[source] == OUTER:
                reads = self._copied(source), *others
                graph.known[key] = graph.add(SLICE, reads, graph.types[number], graph.nodes[number])
            else:
                graph.known[key] = graph.add(TRANSPOSE, (number,), graph.types[number])
        return graph.known[key]

    def _read_by_loop(self, node: DeviceNode, reads: Sequence[int]) -> list[int]:
        """The values that a loop reads: copies instead of values that its convolutions want in another order.

        XLA lays out what a loop only reads as its body wants it, so that it is copied once, before the loop.
        Source: openxla/xla, xla/service/layout_assignment.cc.
        """
        types = {**self.around, **{number: each.type for number, each in self.body.nodes.items()}}
        copied, plain = dict[int, None](), set[int]()
        for inner in node.bodies:
            graph = lowered(inner, types)
            copied |= dict.fromkeys(map(self._value, graph.copied_around.values()))
            used = {value for read in graph.reads for value in read} | {*graph.results}
            plain |= {self._value(outer) for value, outer in graph.outer.items() if value in used}
        carried = len(node.bodies[-1].results)
        kept = [each for each in reads[carried:] if each not in copied or each in plain]
        return [*reads[:carried], *kept, *map(self._copied, copied)]

    def _is_renamed(self, node: DeviceNode, form: NodeForm, source: int) -> bool:
        """True if the value is its operand in another form."""
        if node.role is not NodeRole.OP or node.bodies or node.type is None:
            return False
        type_ = self.graph.types[source]
        if type_ is None or type_.element != node.type.element:
            return False
        return (TABLE[node.name].is_wire or form in _RENAMED) and elements_of(type_) == elements_of(node.type)

    def _element(self, node: DeviceNode, reads: Sequence[int]) -> int:
        """A result of an op with several; of a barrier the operand, which is used after it."""
        graph, maker = self.graph, reads[0]
        number = graph.add(ELEMENT, (maker,), node.type, node)
        graph.index[number] = node.index
        step = graph.step(maker)
        if (
            step is not None
            and COMPILED.of(step.record.name).form is NodeForm.BARRIER
            and node.index < len(graph.reads[maker])
        ):
            graph.reads[number] = (graph.reads[maker][node.index], maker)
        return number

    def _product(self, node: DeviceNode, type_: TensorType, reads: Sequence[int]) -> int:
        """A product; what contracts nothing is a multiplication, with a vector a multiplication and a sum."""
        graph, step = self.graph, node.step
        left = graph.types[reads[0]]
        numbers = None if step is None else DotDimensions.of(step.record.attributes)
        if left is None or step is None or numbers is None:
            return graph.add(DOT, reads, type_, node)
        batching = len(numbers.batching[0])
        batch = prod(size or 0 for size in type_.shape[:batching])
        made = elements_of(type_)
        given = [graph.elements(each) for each in reads[:2]]
        if given[0] * given[1] == made * batch:
            return add_outer(graph, reads, step.record, type_)
        if is_vector_product(batch, made, given[0], given[1]):
            side = given.index(max(given))
            matrix, vector, contracted = reads[side], reads[1 - side], [*numbers.contracting[side]]
            turned = {graph.order_of(each) if graph.kinds[each] == TRANSPOSE else () for each in reads}
            if not type_.rank and len(turned) == 1 and () not in turned:  # in any order it is the same sum
                matrix, vector = [graph.reads[each][0] for each in (matrix, vector)]
                contracted = [*range(len(turned.pop()))]
            order = graph.order_of(matrix) if graph.kinds[matrix] == TRANSPOSE and not batching else ()
            if len(order) == 2:  # XLA reads what is transposed
                (matrix,), contracted = graph.reads[matrix], [order[d] for d in contracted]
            whole = self.forms.type_read(node, side) if matrix == reads[side] else graph.types[matrix]
            batches = numbers.batching[side] if matrix == reads[side] else ()
            number = add_scaled(graph, matrix, vector, whole or type_, (*batches, *contracted))
            stepwise = self._stepwise(number, (), contracted, type_)
            number = graph.add(REDUCE, (number,), type_) if stepwise is None else stepwise
            if stepwise is None and whole is not None and whole.rank - 1 not in contracted:
                graph.columns.add(number)
            if is_turned(numbers, side):
                graph.turned.add(number)
            return number
        number = graph.add(DOT, reads, type_, node)
        self.graph.shapes |= self.forms.of(number, node.inputs)
        return number

    def _converted(self, source: int, type_: TensorType, node: DeviceNode | None = None) -> int:
        """A value as another type; what it was converted from is converted at once, also to a wider type."""
        graph = self.graph
        given = graph.types[source]
        if given is None or given.element == type_.element:
            return source
        if graph.kinds[source] == CONVERT and all(map(is_float, (given, type_))):
            earlier = graph.reads[source][0]
            first = graph.types[earlier]
            if first is not None and is_float(first):
                source, given = earlier, first
        if given.element == type_.element:
            return source
        return graph.add(CONVERT, (source,), type_, node)

    def _sent(self, node: DeviceNode, transfer: Transfer, source: int) -> int:
        """A collective, with conversions and transposes around it."""
        graph, collective = self.graph, transfer.collective
        given = graph.types[source]
        if given is not None and given.element != collective.element_type:
            source = self._converted(source, TensorType(given.shape, collective.element_type), node)
            given = graph.types[source]
        before, after = transposed_around(transfer)
        if before and given is not None:
            order = inwards(collective.held_shape, transfer.result_shape)
            if order and prod(collective.held_shape) == elements_of(given):
                given = TensorType(tuple([collective.held_shape[d] for d in order]), given.element)
            source = self._transposed(source, order, given)
        made = TensorType(transfer.result_shape, collective.element_type)
        number = graph.add(transfer.kind, (source,), made, node)
        if not before and given is not None and len(given.shape) != len(collective.held_shape):
            graph.forms[number, source] = collective.held_shape
        if after:
            number = self._transposed(number, outwards(collective.held_shape, made.shape), made)
        return (
            number
            if node.type is None
            else self._converted(number, TensorType(made.shape, node.type.element))
        )
