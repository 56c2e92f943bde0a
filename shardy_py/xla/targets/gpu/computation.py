"""The kernels of a computation, the same for all that asks for them, and its ops once these are fused.

    made = GpuKernels.of(body, around)
    made.kernels, made.groups, made.read_ops(body)

Not here: how kernels are found (`kernels.py`, `siblings.py`), their buffers (`xla/buffers/gpu/`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from shardy_py.base.records import dataclass
from shardy_py.ops import TensorType
from shardy_py.xla.targets.combined_sets import ReadOps, post_order
from shardy_py.xla.targets.gpu.equal_graphs import keep_ops, key_of_graph, known_ops
from shardy_py.xla.targets.gpu.graph import ARGUMENT, ELEMENT, OUTER, GpuGraph, live
from shardy_py.xla.targets.gpu.kernel import Kernel
from shardy_py.xla.targets.gpu.kernels import KernelFusion
from shardy_py.xla.targets.gpu.lowering import lowered
from shardy_py.xla.targets.gpu.products import with_products
from shardy_py.xla.targets.gpu.siblings import KernelGroups
from shardy_py.xla.targets.model import DeviceBody


@dataclass
class GpuKernels:
    """The ops of a computation, their kernels, and which of these are one. graph: the ops before fusion."""

    graph: GpuGraph

    @staticmethod
    def of(body: DeviceBody, around: Mapping[int, TensorType | None]) -> GpuKernels:
        """Returns those of a computation: the same ones for all reports on it.

        around: the types of values of computations around it.
        """
        known = body.kept.get(GpuKernels)
        if not isinstance(known, GpuKernels):
            known = body.kept[GpuKernels] = GpuKernels(with_products(lowered(body, around)))
        return known

    @cached_property
    def needed(self) -> Sequence[bool]:
        """By number whether the results need a value."""
        return live(self.graph, self.graph.results)

    @cached_property
    def kernels(self) -> dict[int, Kernel]:
        """By their last op."""
        return {kernel.root: kernel for kernel in KernelFusion(_pruned(self.graph, self.needed)).groups()}

    @cached_property
    def groups(self) -> list[list[int]]:
        """The kernels by their roots, those that are one op with several results together."""
        return KernelGroups(self.graph, self.kernels).groups()

    def read_ops(self, body: DeviceBody) -> ReadOps:
        """The ops once kernels are fused, with optimization barriers. body: the computation."""
        graph = self.graph
        key = key_of_graph(graph)
        known = known_ops(key)
        if known is None:
            known = self._read_ops()
            keep_ops(key, known)
        numbers = {id(body.nodes[number]): number for number in body.sent}
        return replace(known, sent={op: numbers[id(graph.nodes[op])] for op in known.sent})

    def _read_ops(self) -> ReadOps:
        """The ops once kernels are fused; of collectives the numbers in the graph."""
        graph, first = self.graph, {root: group[0] for group in self.groups for root in group}
        members = {group[0]: group for group in self.groups}

        def maker(value: int) -> int:
            while graph.kinds[value] == ELEMENT:
                value = graph.reads[value][-1]  # of a barrier: this, behind its operand
            return -1 if graph.kinds[value] in (ARGUMENT, OUTER) else first.get(value, value)

        def reads(op: int) -> list[int]:
            roots = members.get(op, ())
            values = [value for root in roots for value in self.kernels[root].operands] or graph.reads[op]
            found = dict.fromkeys(map(maker, values))
            return [each for each in found if each not in (op, -1)]

        ends = [op for each in graph.results if (op := maker(each)) >= 0]
        order = {op: reads(op) for op in post_order(ends, reads)}
        sent = {op: op for op in order if graph.transfer(op) is not None}
        return ReadOps(order, ends, sent)


def fused_ops(body: DeviceBody, around: Mapping[int, TensorType | None]) -> ReadOps:
    """Returns the ops of a computation once XLA:GPU has fused them. around: see `GpuKernels.of`."""
    return GpuKernels.of(body, around).read_ops(body)


def _pruned(graph: GpuGraph, needed: Sequence[bool]) -> GpuGraph:
    """The graph without the reads of ops that nothing needs."""
    return GpuGraph(
        [kind if needed[n] else OUTER for n, kind in enumerate(graph.kinds)],
        [reads if needed[n] else () for n, reads in enumerate(graph.reads)],
        graph.types,
        graph.sizes,
        graph.nodes,
        graph.results,
        graph.arguments,
        graph.outer,
        graph.index,
        forms=graph.forms,
        bitcasts=graph.bitcasts,
        returned_forms=graph.returned_forms,
        turned=graph.turned,
        columns=graph.columns,
    )
