"""The facts of each op of a graph that the choice of kernels on a GPU asks for.

    ops = KernelOps(graph)
    ops.elements[3], ops.fused[3], ops.fact(3)

Not here: which ops are in a kernel (`kernels.py`), the times (`costs.py`).
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from math import prod

from shardy_py.base.narrowing import is_sequence
from shardy_py.mlir.dialects.stablehlo import ConcatenateOp, PadOp, ScatterOp
from shardy_py.ops.reads import integers
from shardy_py.xla.targets.gpu.costs import H100, GpuDescription
from shardy_py.xla.targets.gpu.diamonds import reduces_rows
from shardy_py.xla.targets.gpu.expanded import BLOCK
from shardy_py.xla.targets.gpu.graph import REDUCE, WINDOW, GpuGraph
from shardy_py.xla.targets.gpu.kernel_rates import KernelRates
from shardy_py.xla.targets.gpu.reductions import WARP, is_in_blocks
from shardy_py.xla.targets.parts import bytes_of

_LARGE_REDUCTION = 16
"""The elements of which one is made, from which on a reduction is not computed with another."""
_READS_ONCE = (REDUCE, ConcatenateOp.name, PadOp.name, ScatterOp.name)
_CYCLES_OF_MIXED = 400
"""The operations of an element of a concatenation of operands that are no whole warps."""
_GRIDS = (REDUCE, ConcatenateOp.name, ScatterOp.name)
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
        self.in_blocks = [self._is_in_blocks(number) for number in range(count)]
        """True for ops that blocks of threads make: reductions of enough elements."""
        self.reading = [self._reading(number) for number in range(count)]
        """How often ops read each element of an operand; None: one for each element that they make."""
        self.rates = KernelRates(graph, self.elements, self.in_blocks, gpu)
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
            *(self.large[number], self.in_blocks[number]),
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
        if self.graph.kinds[number] == ConcatenateOp.name and self._is_mixed(number):
            cycles = _CYCLES_OF_MIXED
        if self.graph.kinds[number] == WINDOW:
            cycles *= self._window(number) - 1
        return cycles * self.elements[number]

    def often(self, number: int, position: int) -> float:
        """How often an op reads each element of an operand."""
        often = self.reading[number]
        made, size = self.elements[number], self.elements[self.graph.reads[number][position]]
        return made / max(size, 1) if often is None else often

    def _is_mixed(self, number: int) -> bool:
        """True for a concatenation whose warps compute elements of several operands.

        Along the first dimension few do. Source: openxla/xla, `HandleConcatenate` in
        xla/service/gpu/model/gpu_hlo_cost_analysis.cc.
        """
        graph, made = self.graph, self.graph.types[number]
        types = [graph.types[each] for each in graph.reads[number]]
        given = [type_.shape for type_ in types if type_ is not None and made is not None]
        if made is None or len(given) < len(types) or any(len(shape) != made.rank for shape in given):
            return False
        grown = [d for d in range(made.rank) if made.shape[d] != given[0][d]]
        return grown > [0] and any((shape[grown[0]] or 0) % WARP for shape in given)

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

    def _is_in_blocks(self, number: int) -> bool:
        graph, step = self.graph, self.graph.step(number)
        if graph.kinds[number] != REDUCE:
            return False
        source = graph.reads[number][0]
        type_, given = graph.types[source], None if step is None else step.record.operands[0]
        own = () if type_ is None else type_.shape
        form = graph.forms.get((number, source), own)  # that of a product is not a shape
        shape = form if is_sequence(form) else ()
        if step is None or given is None or len(shape) != given.rank:
            return self.large[number]
        sizes = [size if isinstance(size, int) else 0 for size in shape]
        return is_in_blocks(sizes, integers(step.record.attributes, "dimensions"))
