"""Products as XLA:GPU's Triton kernels: with ops around them, and split along what they contract.

A kernel of a product computes conversions to wider types, transposes and the like of its operands itself,
and narrowing conversions of its result. If there are few tiles, parts of what is contracted are
separate products, which are added up. Source: openxla/xla, xla/backends/gpu/transforms/gemm_fusion.cc,
xla/service/gpu/triton_tiling_propagation.cc, xla/backends/gpu/transforms/splitk_rewriter.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import ConcatenateOp, SliceOp
from shardy_py.ops import TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.buffers.gpu.costs import H100, GpuDescription
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


_BATCH, _FREE, _CONTRACTED = range(3)


def labels_of(numbers: DotDimensions, side: int, rank: int) -> tuple[int, ...]:
    """For each dimension of an operand of a product whether it is of a batch, free, or contracted."""
    batch, contracted = numbers.batching[side], numbers.contracting[side]
    return tuple(_BATCH if d in batch else _CONTRACTED if d in contracted else _FREE for d in range(rank))


def is_matrix(
    labels: Sequence[int], shape: Sequence[int | None], places: Sequence[int] | None = None
) -> bool:
    """True if dimensions of each kind lie side by side, in order, so that they are one dimension.

    places: the order that dimensions have in the product.

    >>> is_matrix((0, 1, 0, 2), (4, 8, 2, 16)), is_matrix((0, 0, 1, 2), (4, 8, 2, 16))
    (False, True)
    """
    kept = [d for d, size in enumerate(shape) if size != 1]
    order = places or range(len(labels))
    for kind in (_BATCH, _FREE, _CONTRACTED):
        found = [at for at, d in enumerate(kept) if labels[d] == kind]
        steps = [order[d] for d in kept if labels[d] == kind]
        if found and (found[-1] - found[0] + 1 > len(found) or steps != sorted(steps)):
            return False
    return True


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
        self.copied: list[tuple[int, int]] = []

    def fuse(self, number: int) -> None:
        """Notes what the kernel of a product reads, and with which op it ends."""
        reads: dict[int, None] = {}
        step = self.graph.step(number)
        for side, operand in enumerate(self.graph.reads[number][:2]):
            type_ = self.graph.types[operand]
            given = None if step is None else step.record.operands[side]
            labels: tuple[int, ...] = ()
            if step is not None and given is not None and type_ is not None and type_.rank == given.rank:
                labels = labels_of(DotDimensions.of(step.record.attributes), side, given.rank)
                if not is_matrix(labels, type_.shape):
                    self.copied.append((number, operand))
                    reads[operand] = None
                    continue
            reads |= dict.fromkeys(self._read(operand, labels))
        self.reads[number] = tuple(reads)
        end, others = self._end(number)
        self.ends[end] = number
        self.reads[number] = (*self.reads[number], *others)

    def _read(self, operand: int, labels: tuple[int, ...]) -> list[int]:
        """The values that a kernel reads for an operand of its product, whose dimensions have labels."""
        queue, inputs, again = [operand], {operand: None}, 0
        known = {operand: labels}
        done = set[int]()
        while len(queue) > again:
            number = queue.pop(0)
            reads = dict.fromkeys(self.graph.reads[number])
            if len(inputs) + len(reads) - 1 > _MOST_PARAMETERS:
                queue.append(number)
                again += 1
                continue
            again = 0
            if number in done or not reads or not self._is_absorbed(number):
                continue
            before = self._before(number, known.get(number, ()))
            if before is None:
                continue
            done.add(number)
            inputs.pop(number, None)
            for each in reads:
                inputs[each] = None
                known[each] = before
                queue.append(each)
        return [*inputs]

    def _before(self, number: int, labels: tuple[int, ...]) -> tuple[int, ...] | None:
        """The labels of the dimensions of what an op reads, () if not known; None if they are no matrix."""
        graph, type_ = self.graph, self.graph.types[number]
        if graph.kinds[number] != TRANSPOSE:
            return labels if graph.is_elementwise(number) else ()
        step = graph.step(number)
        order = () if step is None else tuple(step.record.attributes.get("permutation") or ())
        if type_ is None or len(order) != type_.rank or len(labels) != type_.rank:
            return () if type_ is None or type_.rank < 3 else None
        found, places = [0] * len(order), [0] * len(order)
        shape: list[int | None] = [1] * len(order)
        for made, given in enumerate(order):
            found[given], places[given], shape[given] = labels[made], made, type_.shape[made]
        return tuple(found) if is_matrix(found, shape, places) else None

    def _is_absorbed(self, number: int) -> bool:
        """True if a kernel computes a value of which its product is made."""
        graph = self.graph
        kind, type_ = graph.kinds[number], graph.types[number]
        if (
            not graph.row(number).is_absorbed
            or type_ is None
            or any(graph.kinds[user] == ConcatenateOp.name for user in self.users[number])
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
        for each in [each for at, each in self.copied if at == product]:
            copy = made.known.get(("copy", values[each]))
            if copy is None:
                copy = made.known["copy", values[each]] = made.add(
                    TRANSPOSE, (values[each],), graph.types[each]
                )
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
        numbers = DotDimensions.of(step.record.attributes)
        batches = len(numbers.batching[0])
        given = step.record.operands[0]
        free = (0 if given is None else given.rank) - batches - len(numbers.contracting[0])
        shape = [size or 0 for size in made.shape]
        batch, rows, columns = (
            prod(part) for part in (shape[:batches], shape[batches : batches + free], shape[batches + free :])
        )
        if not (batch and rows and columns) or "i32" in (left.element, right.element):
            return None
        depth = elements_of(left) // (batch * rows)
        left_bits, right_bits = (self._bits(each) for each in graph.reads[product][:2])
        return ProductSizes(batch, rows, columns, depth, left_bits, right_bits, bits(made)) if depth else None

    def _bits(self, number: int) -> int:
        """The bits of an element of an operand before it is converted."""
        graph = self.graph
        while len(graph.reads[number]) == 1 and graph.is_elementwise(number):
            (number,) = graph.reads[number]
        type_ = graph.types[number]
        return 16 if type_ is None else bits(type_)
