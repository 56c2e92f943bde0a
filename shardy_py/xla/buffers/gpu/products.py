"""Products as XLA:GPU's Triton kernels: with ops around them, and split along what they contract.

A kernel of a product computes conversions to wider types, transposes and the like of its operands itself,
and narrowing conversions of its result. If there are few tiles, parts of what is contracted are
separate products, which are added up. Source: openxla/xla, xla/backends/gpu/transforms/gemm_fusion.cc,
xla/service/gpu/triton_tiling_propagation.cc, xla/backends/gpu/transforms/splitk_rewriter.cc.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import ceil, prod

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import ConcatenateOp, SliceOp
from shardy_py.ops import TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.buffers.gpu.costs import H100, GpuDescription
from shardy_py.xla.buffers.gpu.fragments import (
    Fragments,
    before_transpose,
    canonical_order,
    fragments_of,
    is_matrix,
    regrouped,
    reordered,
)
from shardy_py.xla.buffers.gpu.graph import (
    ARGUMENT,
    BROADCAST,
    CONSTANT,
    CONVERT,
    DOT,
    OUTER,
    REDUCE,
    TRANSPOSE,
    GpuGraph,
    bits,
    elements_of,
)

_MOST_PARAMETERS = 4
"""The most values that a kernel reads for one operand."""
_TOLERANCE = 1024
"""Bytes by which what a kernel reads may grow."""
_TILE = 128
_LEAST_TILED = 64
"""Elements of a free dimension that are one tile if values are put together along it."""


@dataclass(frozen=True, slots=True)
class SplitWeights:
    """The weights by which XLA compares products that are split, measured by its authors on a GPU."""

    compute: float = 100.0
    memory: float = 0.194136
    reduction: float = 193.1384
    launch: float = 4.36e7


_HOPPER = SplitWeights()


@dataclass(frozen=True, slots=True)
class ProductSizes:
    """Sizes of a product: batches, rows, columns, what is contracted; bits of elements.

    >>> ProductSizes(1, 512, 512, 512, 16, 16, 16).parts()
    4
    """

    batch: int
    rows: int
    columns: int
    contracted: int
    left_bits: int
    right_bits: int
    made_bits: int

    def parts(self, gpu: GpuDescription = H100, weights: SplitWeights = _HOPPER) -> int:
        """The parts of what is contracted that are separate products; 1: it is not split."""
        return min((1 << n for n in range(12)), key=lambda parts: self._cost(parts, gpu, weights))

    def _cost(self, parts: int, gpu: GpuDescription, weights: SplitWeights) -> float:
        depth, batch = -(-self.contracted // parts), self.batch * parts
        tile = min(self.rows, _TILE) * min(self.columns, _TILE)
        tiles = batch * ceil(self.rows / _TILE) * ceil(self.columns / _TILE)
        waves = max(1.0, tiles * tile / (gpu.cores * _TILE * _TILE))
        compute = 2 * tile * depth * waves * weights.compute
        size = self.rows * self.columns
        given = self.rows * self.left_bits + self.columns * self.right_bits
        read = given * self.contracted * self.batch / 8
        partial = size * batch * 4
        written = partial if parts > 1 else size * batch * self.made_bits / 8
        cost = max(compute, (read + written) * weights.memory)
        if parts == 1:
            return cost
        added = partial + self.batch * size * self.made_bits / 8
        return cost + weights.launch + added * weights.reduction


def with_products(graph: GpuGraph) -> GpuGraph:
    """The graph with products that read what their kernels read, split where XLA splits them."""
    found = _Products(graph)
    for number in range(len(graph.kinds)):
        if graph.kinds[number] == DOT:
            found.fuse(number)
    return found.split()


Shape = tuple[int | None, ...]


class _Products:
    """Notes for each product what its kernel reads, and with which op it ends.

    reads: by product, the values. ends: by the last op of a kernel, its product. copied: products, with
    operands whose dimensions are put in another order first.
    """

    def __init__(self, graph: GpuGraph) -> None:
        self.graph, self.users = graph, graph.users()
        self.returned = set(graph.results)
        self.reads: dict[int, tuple[int, ...]] = {}
        self.ends: dict[int, int] = {}
        self.copied: dict[int, dict[int, Hashable]] = {}
        self.orders: dict[Hashable, list[tuple[int, ...]]] = {}

    def fuse(self, number: int) -> None:
        """Notes what the kernel of a product reads, and with which op it ends."""
        reads: dict[int, None] = {}
        step = self.graph.step(number)
        numbers = None if step is None else DotDimensions.of(step.record.attributes)
        for side, operand in enumerate(self.graph.reads[number][:2]):
            shape = self._shape_read(number, operand)
            given = None if step is None else step.record.operands[side]
            fragments: Fragments | None = None
            if numbers is not None and given is not None and shape is not None and len(shape) == given.rank:
                fragments = fragments_of(numbers, side, shape)
                if not is_matrix(fragments):
                    before = self._before(operand, self._regrouped(operand, fragments))
                    if before is None or not is_matrix(before):
                        order = self._order(
                            number, operand, fragments, canonical_order(numbers, side, given.rank)
                        )
                        self.copied.setdefault(number, {})[operand] = shape, order
                        reads[operand] = None
                        continue
                fragments = self._regrouped(operand, fragments)
            reads |= dict.fromkeys(self._read(number, operand, fragments))
        self.reads[number] = tuple(reads)
        end, others = self._end(number)
        self.ends[end] = number
        self.reads[number] = (*self.reads[number], *others)

    def _order(
        self, product: int, operand: int, fragments: Fragments, wanted: tuple[int, ...]
    ) -> tuple[int, ...]:
        """The order in which an operand is copied for a product, which wants it in another one.

        What an op computes is in memory as its first product wants it, if others can read that; what is in
        another form is copied for each order. Source: openxla/xla, xla/service/layout_assignment.cc.
        """
        graph, form = self.graph, self._shape_read(product, operand)
        known = self.orders.setdefault((operand, form), [])
        is_moved = (product, operand) in graph.forms or graph.kinds[operand] == TRANSPOSE
        if graph.row(operand).is_fused and not is_moved:
            for order in known:
                if is_matrix(reordered(fragments, order)):
                    return order
        known.append(wanted)
        return wanted

    def _shape_read(self, number: int, operand: int) -> Shape | None:
        """The shape in which an op reads an operand; None if not known."""
        form, type_ = self.graph.forms.get((number, operand)), self.graph.types[operand]
        if form is not None:
            return form if isinstance(form, tuple) else None
        return None if type_ is None else type_.shape

    def _regrouped(self, number: int, fragments: Fragments | None) -> Fragments | None:
        """The fragments of a value in its own form."""
        type_ = self.graph.types[number]
        return None if fragments is None or type_ is None else regrouped(fragments, type_.shape)

    def _read(self, product: int, operand: int, fragments: Fragments | None) -> list[int]:
        """The values that a kernel reads for an operand of its product. fragments: those of the operand."""
        queue, inputs, again = [operand], {operand: None}, 0
        known = {operand: fragments}
        done = set[int]()
        while len(queue) > again:
            number = queue.pop(0)
            reads = dict.fromkeys(self.graph.reads[number])
            if len(inputs) + len(reads) - 1 > _MOST_PARAMETERS:
                queue.append(number)
                again += 1
                continue
            again = 0
            if number in done or not reads:
                continue
            if number == operand and self._is_tiled(product, operand):
                inputs.pop(number)
                inputs |= dict.fromkeys(map(self._moved, reads))
                continue
            if not self._is_absorbed(number):
                continue
            before = self._before(number, known.get(number))
            if before is None and not self._keeps_matrices(number):
                continue
            done.add(number)
            inputs.pop(number, None)
            for each in reads:
                inputs[each] = None
                known[each] = self._regrouped(each, before)
                queue.append(each)
        return [*inputs]

    def _moved(self, number: int) -> int:
        """The value that one is with its dimensions in another order, as a collective left it."""
        return self.graph.reads[number][0] if number in self.graph.orders else number

    def _is_tiled(self, product: int, operand: int) -> bool:
        """True for operands of products that are one, if tiles are of one of them only."""
        graph = self.graph
        if graph.kinds[operand] != ConcatenateOp.name or graph.nodes[operand] is not None:
            return False
        sizes = self._sizes(product)
        if sizes is None:
            return False
        row = sizes.batch * sizes.contracted
        return all(graph.elements(each) % (row * _LEAST_TILED) == 0 for each in graph.reads[operand])

    def _keeps_matrices(self, number: int) -> bool:
        """True if what an op reads is a matrix as its result is one, whichever the fragments are."""
        type_ = self.graph.types[number]
        return self.graph.kinds[number] != TRANSPOSE or type_ is None or type_.rank < 3

    def _before(self, number: int, fragments: Fragments | None) -> Fragments | None:
        """The fragments of what an op reads, by its own; None if they are not known, or no matrix."""
        graph, type_ = self.graph, self.graph.types[number]
        if fragments is None or type_ is None or len(fragments) != type_.rank:
            return None
        if graph.kinds[number] == TRANSPOSE:
            order = graph.order_of(number)
            found = before_transpose(fragments, order) if len(order) == type_.rank else None
            return found if found is not None and is_matrix(found) else None
        return fragments if graph.is_elementwise(number) else None

    def _is_absorbed(self, number: int) -> bool:
        """True if a kernel computes a value of which its product is made."""
        graph = self.graph
        kind, type_ = graph.kinds[number], graph.types[number]
        if (
            not graph.row(number).is_absorbed
            or type_ is None
            or (number not in graph.orders and self._is_put_together(number))
        ):
            return False
        reads = graph.reads[number]
        if len(reads) == 2 and graph.is_elementwise(number) and any(map(self._is_plain_broadcast, reads)):
            return True
        grown = sum(graph.sizes[each] for each in reads) - graph.sizes[number]
        if grown <= _TOLERANCE:
            return True
        if len(self.users[number]) > 1 or number in self.returned:
            return False
        plain = all(graph.kinds[each] in (ARGUMENT, OUTER, CONSTANT) for each in reads)
        return plain and (kind == SliceOp.name or all(len(self.users[each]) == 1 for each in reads))

    def _is_put_together(self, number: int) -> bool:
        return any(self.graph.kinds[user] == ConcatenateOp.name for user in self.users[number])

    def _is_plain_broadcast(self, number: int) -> bool:
        reads = self.graph.reads[number]
        is_broadcast = self.graph.kinds[number] == BROADCAST
        return is_broadcast and self.graph.kinds[reads[0]] in (ARGUMENT, OUTER, CONSTANT)

    def _end(self, number: int) -> tuple[int, list[int]]:
        """The last op of the kernel of a product, and what the ops up to it read beside the product."""
        graph = self.graph
        found: list[int] = []
        while len(self.users[number]) == 1 and number not in self.returned:
            (user,) = self.users[number]
            row = graph.row(user)
            others = [each for each in graph.reads[user] if each != number]
            type_ = graph.types[number]
            if graph.kinds[user] == TRANSPOSE and (type_ is None or type_.rank > 2):
                break
            is_small = graph.sizes[user] <= sum(graph.sizes[each] for each in graph.reads[user]) + _TOLERANCE
            if not row.is_scaling or not is_small or not all(map(self._is_simple, others)):
                break
            found += [graph.reads[each][0] if graph.kinds[each] == BROADCAST else each for each in others]
            number = user
        return number, found

    def _is_simple(self, number: int) -> bool:
        """True if another operand of the last op is a value that is read, or one number for all."""
        graph = self.graph
        if graph.kinds[number] in (ARGUMENT, OUTER):
            return True
        if graph.kinds[number] != BROADCAST:
            return False
        (source,) = graph.reads[number]
        return graph.elements(source) == 1 or graph.kinds[source] in (ARGUMENT, OUTER)

    def split(self) -> GpuGraph:
        """The graph with the kernels of products, each in the place of its last op."""
        made = GpuGraph()
        old = self.graph
        values: dict[int, int] = {}
        for number, kind in enumerate(old.kinds):
            product = self.ends.get(number)
            if product is None:
                reads = [values[each] for each in old.reads[number]]
                values[number] = made.add(kind, reads, old.types[number], old.nodes[number])
                if number in old.index:
                    made.index[values[number]] = old.index[number]
                if number in old.outer:
                    made.outer[values[number]] = old.outer[number]
                made.sizes[values[number]] = old.sizes[number]
                for each in old.reads[number]:
                    if (number, each) in old.forms:
                        made.forms[values[number], values[each]] = old.forms[number, each]
            else:
                values[number] = self._product(made, product, number, values)
        made.arguments = tuple(values[each] for each in old.arguments)
        made.results = tuple(values[each] for each in old.results)
        made.returned_forms = {values[each] for each in old.returned_forms}
        return made

    def _product(self, made: GpuGraph, product: int, end: int, values: dict[int, int]) -> int:
        graph = self.graph
        reads = [values[each] for each in self.reads[product]]
        for each, order in self.copied.get(product, {}).items():
            key = "copy", values[each], order
            copy = made.known.get(key)
            if copy is None:
                copy = made.known[key] = made.add(TRANSPOSE, (values[each],), graph.types[each])
            reads = [copy if value == values[each] else value for value in reads]
        node, type_ = graph.nodes[product], graph.types[end]
        parts = self._parts(product)
        if parts == 1 or type_ is None:
            return self._noted(made, product, made.add(DOT, reads, type_, node), parts)
        partial = TensorType((parts, *type_.shape), "f32")
        number = self._noted(made, product, made.add(DOT, reads, partial, node), parts)
        number = made.add(REDUCE, (number,), TensorType(type_.shape, "f32"))
        return number if type_.element == "f32" else made.add(CONVERT, (number,), type_)

    def _noted(self, made: GpuGraph, product: int, number: int, parts: int) -> int:
        """The number of a product, whose operands have a dimension of each kind, and one for its parts.

        Operands with others are read in another form. Source: openxla/xla,
        xla/hlo/transforms/expanders/dot_decomposer.cc, xla/backends/gpu/transforms/hoist_fused_bitcasts.cc.
        """
        step = self.graph.step(product)
        if step is None:
            return number
        numbers = DotDimensions.of(step.record.attributes)
        for each in made.reads[number]:
            type_ = made.types[each]
            ranks = {self._rank(numbers, side, step.record.operands[side]) for side in (0, 1)}
            if type_ is not None and (parts > 1 or type_.rank not in ranks):
                made.forms[number, each] = "product", *ranks, parts
        return number

    @staticmethod
    def _rank(numbers: DotDimensions, side: int, given: TensorType | None) -> int:
        """The dimensions of an operand in a product: of batches, rows or columns, what is contracted."""
        batches, contracted = len(numbers.batching[side]), len(numbers.contracting[side])
        rank = 0 if given is None else given.rank
        return min(batches, 1) + min(rank - batches - contracted, 1) + 1

    def _parts(self, product: int) -> int:
        sizes = self._sizes(product)
        return 1 if sizes is None else sizes.parts()

    def _sizes(self, product: int) -> ProductSizes | None:
        graph = self.graph
        step, made = graph.step(product), graph.types[product]
        left, right = (graph.types[each] for each in graph.reads[product][:2])
        if made is None or left is None or right is None:
            return None
        if step is None:  # of rows in groups: their elements in all groups are contracted
            rows, columns = made.shape[0] or 0, made.shape[-1] or 0
            depth = elements_of(left) // max(rows, 1)
            if made.rank != 2 or not (rows and columns and depth):
                return None
            return ProductSizes(1, rows, columns, depth, bits(left), bits(right), bits(made))
        found = self._dimensions(product, DotDimensions.of(step.record.attributes))
        if found is None or "i32" in (left.element, right.element):
            return None
        left_bits, right_bits = (self._bits(each) for each in graph.reads[product][:2])
        return ProductSizes(*found, left_bits, right_bits, bits(made))

    def _dimensions(self, product: int, numbers: DotDimensions) -> tuple[int, int, int, int] | None:
        """The batches, rows, columns, and what is contracted of a product, by an operand of the form it has.

        None if neither has it, or there are no elements.
        """
        graph = self.graph
        step, made = graph.step(product), graph.elements(product)
        for side, operand in enumerate(graph.reads[product][:2]):
            shape = self._shape_read(product, operand)
            given = None if step is None else step.record.operands[side]
            if shape is None or given is None or len(shape) != given.rank or 0 in shape or not made:
                continue
            batch, depth = (
                prod(shape[d] or 0 for d in of[side]) for of in (numbers.batching, numbers.contracting)
            )
            free = prod(size or 0 for size in shape) // (batch * depth)
            other = made // (batch * free)
            return (batch, free, other, depth) if side == 0 else (batch, other, free, depth)
        return None

    def _bits(self, number: int) -> int:
        """The bits of an element of an operand before it is converted."""
        graph = self.graph
        while len(graph.reads[number]) == 1 and graph.is_elementwise(number):
            (number,) = graph.reads[number]
        type_ = graph.types[number]
        return 16 if type_ is None else bits(type_)
