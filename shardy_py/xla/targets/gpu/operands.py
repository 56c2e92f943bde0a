"""The operands of products on a GPU: values that their kernels read, or ops that they compute.

A kernel of a product computes conversions to wider types, transposes and the like of its operands itself.
Operands that are not matrices are copied first. Source: openxla/xla,
xla/backends/gpu/transforms/gemm_fusion.cc, xla/service/gpu/triton_tiling_propagation.cc. Not here: the ops
after a product (`products.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from shardy_py.mlir.dialects.stablehlo import ConcatenateOp, SliceOp
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.targets.gpu.fragments import (
    Fragments,
    before_transpose,
    canonical_order,
    fragments_of,
    is_matrix,
    regrouped,
    reordered,
)
from shardy_py.xla.targets.gpu.graph import ARGUMENT, BROADCAST, CONSTANT, OUTER, TRANSPOSE, GpuGraph
from shardy_py.xla.targets.gpu.splits import shape_read, sizes_of

_MOST_PARAMETERS = 4
"""The most values that a kernel reads for one operand."""
TOLERANCE = 1024
"""Bytes by which what a kernel reads may grow."""
_LEAST_TILED = 64
"""Elements of a free dimension that are one tile if values are put together along it."""


class Operands:
    """The operands of products. users: by value. returned: the results. ended: what kernels of products make.

    copied: by product those whose dimensions are put in another order first, and that order of what form.
    orders: of a form of an operand, all.
    """

    def __init__(self, graph: GpuGraph, users: Sequence[Sequence[int]]) -> None:
        self.graph, self.users = graph, users
        self.returned = set(graph.results)
        self.ended = set[int]()
        self.copied: dict[int, dict[int, Hashable]] = {}
        self.orders: dict[Hashable, list[tuple[int, ...]]] = {}

    def read(self, number: int) -> tuple[int, ...]:
        """The values that the kernel of a product reads for its operands."""
        reads: dict[int, None] = {}
        step = self.graph.step(number)
        numbers = None if step is None else DotDimensions.of(step.record.attributes)
        for side, operand in enumerate(self.graph.reads[number][:2]):
            shape = shape_read(self.graph, number, operand)
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
        return tuple(reads)

    def _order(
        self, product: int, operand: int, fragments: Fragments, wanted: tuple[int, ...]
    ) -> tuple[int, ...]:
        """The order in which an operand is copied for a product, which wants it in another one.

        What an op computes is in memory as its first product wants it, if others can read that; what is in
        another form is copied for each order. Source: openxla/xla, xla/service/layout_assignment.cc.
        """
        graph, form = self.graph, shape_read(self.graph, product, operand)
        known = self.orders.setdefault((operand, form), [])
        is_moved = (product, operand) in graph.shapes or graph.kinds[operand] == TRANSPOSE
        if graph.row(operand).is_fused and not is_moved:
            for order in known:
                if is_matrix(reordered(fragments, order)):
                    return order
        known.append(wanted)
        return wanted

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
        return self.graph.reads[number][0] if self._is_moved(number) else number

    def _is_moved(self, number: int) -> bool:
        return number in self.graph.orders and self.graph.nodes[number] is None

    def _is_tiled(self, product: int, operand: int) -> bool:
        """True for operands of products that are one, if tiles are of one of them only."""
        graph = self.graph
        if operand not in graph.together:
            return False
        sizes = sizes_of(self.graph, product)
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
            or number in self.ended
            or (not self._is_moved(number) and self._is_put_together(number))
        ):
            return False
        reads = graph.reads[number]
        if len(reads) == 2 and graph.is_elementwise(number) and any(map(self._is_plain_broadcast, reads)):
            return True
        grown = sum(graph.sizes[each] for each in reads) - graph.sizes[number]
        if grown <= TOLERANCE:
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
