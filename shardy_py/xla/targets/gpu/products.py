"""Products as XLA:GPU's Triton kernels: with ops around them, and split along what they contract.

Beside what they read (`operands.py`), they compute elementwise ops of their results, with numbers, arguments
and values that loops carry. Those that are split do not, for their parts are added up first. Source:
openxla/xla, xla/backends/gpu/transforms/gemm_fusion.cc, xla/service/gpu/triton_tiling_propagation.cc. Not
here: how many parts (`splits.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from shardy_py.mlir.dialects.stablehlo import PadOp
from shardy_py.ops import TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.targets.gpu.fragments import (
    Fragments,
    fragments_made,
    is_matrix,
    regrouped,
    reordered,
)
from shardy_py.xla.targets.gpu.graph import (
    ARGUMENT,
    BROADCAST,
    CONVERT,
    DOT,
    OUTER,
    REDUCE,
    SLICE,
    TRANSPOSE,
    GpuGraph,
)
from shardy_py.xla.targets.gpu.operands import TOLERANCE, Operands
from shardy_py.xla.targets.gpu.splits import sizes_of
from shardy_py.xla.targets.parts import bits, elements_of

_MATRIX = 2
_PADDED_BITS = 16
"""The bits of elements of products whose dimensions cuBLAS wants to be multiples."""


def with_products(graph: GpuGraph) -> GpuGraph:
    """The graph with products that read what their kernels read, split where XLA splits them."""
    found = _Products(graph)
    for number in range(len(graph.kinds)):
        if graph.kinds[number] == DOT:
            found.fuse(number)
    return found.split()


class _Products:
    """Notes for each product what its kernel reads, and with which op it ends.

    reads: by product, the values. ends: by the last op of a kernel, its product. over: by product the values
    of which its last ops read the element that they write.
    """

    def __init__(self, graph: GpuGraph) -> None:
        self.graph, self.users = graph, graph.users()
        self.returned = set(graph.results)
        self.operands = Operands(graph, self.users)
        self.reads: dict[int, tuple[int, ...]] = {}
        self.ends: dict[int, int] = {}
        self.over: dict[int, list[int]] = {}

    def fuse(self, number: int) -> None:
        """Notes what the kernel of a product reads, and with which op it ends."""
        end, others = self._end(number, is_split=self._parts(number) > 1)
        self.ends[end] = number
        operands, graph = self.operands.read(number), self.graph
        self.operands.ended.add(end)
        sources = [graph.reads[each][0] if graph.kinds[each] == BROADCAST else each for each in others]
        self.reads[number] = tuple(dict.fromkeys((*operands, *sources)))
        self.over[number] = [each for each in others if each in sources and each not in operands]

    def _end(self, number: int, *, is_split: bool) -> tuple[int, list[int]]:
        """The last op of the kernel of a product, and the other operands of the ops up to it.

        What is made is in memory as the next op wants it, rows or columns first, also what is summed of
        parts: such a transpose is not an op of its own.
        Source: openxla/xla, xla/service/layout_assignment.cc.
        """
        graph = self.graph
        found: list[int] = []
        fragments = self._made(number)
        while len(self.users[number]) == 1 and number not in self.returned:
            (user,) = self.users[number]
            row = graph.row(user)
            others = [each for each in graph.reads[user] if each != number]
            type_ = graph.types[number]
            is_order = False
            if graph.kinds[user] == TRANSPOSE and type_ is not None:
                order, fragments = graph.order_of(user), _in_form(fragments, type_)
                fragments = reordered(fragments, order) if fragments and len(order) == type_.rank else None
                is_order = type_.rank < 3 or (fragments is not None and is_matrix(fragments))
            if not is_order and (is_split or graph.kinds[user] == TRANSPOSE):
                break
            is_small = graph.sizes[user] <= sum(graph.sizes[each] for each in graph.reads[user]) + TOLERANCE
            if not row.is_after_product or not is_small or not all(map(self._is_simple, others)):
                break
            found += others
            number = user
        return number, found

    def _made(self, product: int) -> Fragments | None:
        """The fragments of the result of a product; None if they are not known."""
        step, type_ = self.graph.step(product), self.graph.types[product]
        right = None if step is None else step.record.operands[1]
        if step is None or type_ is None or right is None:
            return None
        numbers = DotDimensions.of(step.record.attributes)
        columns = right.rank - len(numbers.batching[1]) - len(numbers.contracting[1])
        return fragments_made(numbers, type_.shape, columns)

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
        flat = set[int]()  # what is a matrix in memory, and read as a bitcast of it
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
                is_part = kind == SLICE and not flat.isdisjoint(reads)
                for each in old.reads[number]:
                    if (number, each) in old.forms:
                        made.forms[values[number], values[each]] = old.forms[number, each]
                    elif values[each] in flat and not is_part:
                        made.forms[values[number], values[each]] = _shape(old.types[each])
                if is_part and len(_shape(old.types[number])) > _MATRIX:
                    flat.add(values[number])
            else:
                values[number] = self._product(made, product, number, values)
                if self._is_flat(product, number):
                    flat.add(values[number])
        made.arguments = tuple(values[each] for each in old.arguments)
        made.results = tuple(values[each] for each in old.results)
        made.columns = {values[each] for each in old.columns}
        made.numbered = {values[each] for each in old.numbered}
        made.turned = {values[each] for each in old.turned}
        made.returned_forms = {values[each] for each in old.returned_forms}
        made.orders = {values[each]: order for each, order in old.orders.items()}
        return made

    def _is_flat(self, product: int, end: int) -> bool:
        """True for a product that is made as a matrix, or one for each of a batch, and read in another form.

        Source: openxla/xla, xla/hlo/transforms/expanders/dot_decomposer.cc.
        """
        step, type_ = self.graph.step(product), self.graph.types[end]
        if type_ is None:
            return False
        if step is None:
            return type_.rank != _MATRIX
        numbers = DotDimensions.of(step.record.attributes)
        sides = zip(numbers.batching, numbers.contracting, step.record.operands, strict=False)
        free = [(0 if given is None else given.rank) - len(b) - len(c) for b, c, given in sides]
        return type_.rank != min(len(numbers.batching[0]), 1) + sum(min(rank, 1) for rank in free)

    def _product(self, made: GpuGraph, product: int, end: int, values: dict[int, int]) -> int:
        graph = self.graph
        reads = [values[each] for each in self.reads[product]]
        for each, order in self.operands.copied.get(product, {}).items():
            key = "copy", values[each], order
            copy = made.known.get(key)
            if copy is None:
                copy = made.known[key] = made.add(TRANSPOSE, (values[each],), graph.types[each])
            reads = [copy if value == values[each] else value for value in reads]
        node, type_ = graph.nodes[product], graph.types[end]
        parts = self._parts(product)
        if parts == 1 or type_ is None:
            number = self._noted(made, product, made.add(DOT, reads, type_, node), parts, values)
            made.over[number] = tuple([values[each] for each in self.over[product]])
            if all(_is_of_16_bits(graph.types[each]) for each in graph.reads[product][:2]):
                sizes = sizes_of(graph, product)
                made.workspaces[number] = 0 if sizes is None else sizes.workspace
            return number
        reads = self._padded(made, product, parts, values) or reads
        partial = TensorType((parts, *type_.shape), "f32")
        number = self._noted(made, product, made.add(DOT, reads, partial, node), parts, values)
        number = made.add(REDUCE, (number,), TensorType(type_.shape, "f32"))
        return number if type_.element == "f32" else made.add(CONVERT, (number,), type_)

    def _padded(
        self, made: GpuGraph, product: int, parts: int, values: Mapping[int, int]
    ) -> list[int] | None:
        """The operands of a product with zeros behind what is contracted; None if parts need none.

        A kernel of a product computes no such op, and none before it.
        """
        sizes = sizes_of(self.graph, product)
        padded = 0 if sizes is None else sizes.padded(parts)
        if sizes is None or padded == sizes.contracted:
            return None
        found: list[int] = []
        for each in self.graph.reads[product][:2]:
            type_ = self.graph.types[each]
            if type_ is None:
                return None
            key = "pad", values[each], padded
            if key not in made.known:
                wide = TensorType((padded, elements_of(type_) // sizes.contracted), type_.element)
                made.known[key] = made.add(PadOp.name, (values[each],), wide)
            found.append(made.known[key])
        return found

    def _noted(self, made: GpuGraph, product: int, number: int, parts: int, values: Mapping[int, int]) -> int:
        """The number of a product, whose operands have a dimension of each kind, and one for its parts.

        Operands with others are read in another form. Source: openxla/xla,
        xla/hlo/transforms/expanders/dot_decomposer.cc, xla/backends/gpu/transforms/hoist_fused_bitcasts.cc.
        """
        step = self.graph.step(product)
        if step is None:
            return number
        numbers = DotDimensions.of(step.record.attributes)
        given = [values.get(each) for each in self.graph.reads[product][:2]]
        for each in made.reads[number]:
            type_ = made.types[each]
            ranks = {self._rank(numbers, side, step.record.operands[side]) for side in (0, 1)}
            if type_ is not None and (parts > 1 or type_.rank not in ranks):
                made.forms[number, each] = "product", *ranks, parts
                if parts > 1:  # made after equal ops were merged
                    made.bitcasts[number, each] = max(given.count(each), 1)
        return number

    @staticmethod
    def _rank(numbers: DotDimensions, side: int, given: TensorType | None) -> int:
        """The dimensions of an operand in a product: of batches, rows or columns, what is contracted."""
        batches, contracted = len(numbers.batching[side]), len(numbers.contracting[side])
        rank = 0 if given is None else given.rank
        return min(batches, 1) + min(rank - batches - contracted, 1) + 1

    def _parts(self, product: int) -> int:
        sizes = sizes_of(self.graph, product)
        return 1 if sizes is None else sizes.parts()


def _in_form(fragments: Fragments | None, type_: TensorType) -> Fragments | None:
    """The fragments of a value in the form of its type."""
    return None if fragments is None else regrouped(fragments, type_.shape)


def _shape(type_: TensorType | None) -> tuple[int | None, ...]:
    return () if type_ is None else type_.shape


def _is_of_16_bits(type_: TensorType | None) -> bool:
    return type_ is not None and bits(type_) == _PADDED_BITS
