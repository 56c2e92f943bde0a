"""The facts of each op of a graph that the choice of kernels on a GPU asks for.

    ops = KernelOps(graph)
    ops.elements[3], ops.fused[3], ops.fact(3)

Not here: which ops are in a kernel (`kernels.py`), the times (`costs.py`).
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from math import prod

from shardy_py.mlir.dialects.stablehlo import ConcatenateOp, PadOp, ScatterOp
from shardy_py.ops.reads import integers
from shardy_py.xla.targets.gpu.costs import H100, GpuDescription
from shardy_py.xla.targets.gpu.diamonds import reduces_rows
from shardy_py.xla.targets.gpu.expanded import BLOCK
from shardy_py.xla.targets.gpu.graph import REDUCE, WINDOW, GpuGraph
from shardy_py.xla.targets.gpu.kernel_rates import KernelRates
from shardy_py.xla.targets.parts import bytes_of

_LARGE_REDUCTION = 16
"""The elements of which one is made, from which on a reduction is not computed with another."""
_READS_ONCE = (REDUCE, ConcatenateOp.name, PadOp.name, ScatterOp.name)
_GRIDS = (REDUCE, ScatterOp.name)
"""The kinds whose kernels have blocks for what they read."""


class KernelOps:
    """Lists of properties of ops, by number. gpu: the device for which times are estimated."""

    def __init__(self, graph: GpuGraph, gpu: GpuDescription = H100) -> None:
        self.graph = graph
        count = len(graph.kinds)
        self.elements = [graph.elements(number) for number in range(count)]
        several = {n for n, kind in enumerate(graph.kinds) if kind == REDUCE and graph.types[n] is None}
        for user, reads in enumerate(graph.reads) if several else ():
            for number in several.intersection(reads):  # its results, which are of one shape
                self.elements[number] = self.elements[user]
        self.elementwise = [graph.is_elementwise(number) for number in range(count)]
        self.sizes = [0 if type_ is None else bytes_of(type_) for type_ in graph.types]
        self.again = [gpu.again(size) for size in self.sizes]
        self.rows = [graph.row(number) for number in range(count)]
        self.fused = [
            row.is_fused and (graph.types[n] is not None or n in several) for n, row in enumerate(self.rows)
        ]
        self.operations = [self._operations(number) for number in range(count)]
        self.large = [self._is_large_reduction(number) for number in range(count)]
        self.reading = [self._reading(number) for number in range(count)]
        """How often ops read each element of an operand; None: one for each element that they make."""
        self.rates = KernelRates(graph, self.elements, gpu)
        self._facts: dict[Hashable, int] = {}

    @cached_property
    def outside(self) -> list[tuple[int, int]]:
        """All that the time of a kernel depends on of a value that it reads."""
        return [*zip(self.elements, self.sizes, strict=True)]

    def fact(self, number: int) -> int:
        """A number that is equal for ops that are equal in all that kernels with them depend on."""
        kind = self.graph.kinds[number]
        key = (
            *(kind, self.elements[number], self.sizes[number], self.graph.sizes[number]),
            *(self.elementwise[number], self.operations[number], self.reading[number], self.fused[number]),
            self.rates[number] if kind in _GRIDS else None,
            self.large[number],
            kind == REDUCE and self.is_of_rows(number),
        )
        return self._facts.setdefault(key, len(self._facts))

    def is_of_rows(self, number: int) -> bool:
        """Returns whether an op may be in a kernel that has whole rows."""
        if self.graph.kinds[number] == REDUCE:
            return reduces_rows(self.graph, number) or self.graph.step(number) is None
        return self.rows[number].has_rows

    def _operations(self, number: int) -> float:
        """The operations of arithmetic of an op."""
        row, type_ = self.rows[number], self.graph.types[number]
        is_short = row.is_narrow and type_ is not None and type_.element in ("bf16", "f16")
        cycles = 3 if is_short else row.cycles
        if self.graph.kinds[number] == REDUCE:
            given = self.elements[self.graph.reads[number][0]]
            return cycles * max(given - self.elements[number], 0)
        if self.graph.kinds[number] == WINDOW:
            cycles *= self._window(number) - 1
        return cycles * self.elements[number]

    def _window(self, number: int) -> int:
        """The elements of a window; of the sums up to each element in blocks: those of a block."""
        step = self.graph.step(number) if self.graph.nodes[number] is not None else None
        return BLOCK if step is None else prod(integers(step.record.attributes, "window_dimensions"))

    def _reading(self, number: int) -> float | None:
        if self.graph.kinds[number] == WINDOW:
            given = self.elements[self.graph.reads[number][0]]
            return self._window(number) * self.elements[number] / max(given, 1)
        return 1.0 if self.graph.kinds[number] in _READS_ONCE else None

    def _is_large_reduction(self, number: int) -> bool:
        if self.graph.kinds[number] != REDUCE:
            return False
        given = self.elements[self.graph.reads[number][0]]
        return given >= _LARGE_REDUCTION * max(self.elements[number], 1)
