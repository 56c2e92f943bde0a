"""How a GPU runs a kernel: its blocks and threads, and what they read and compute in a time.

Not here: the times (`costs.py`), which ops are in a kernel (`kernels.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.mlir.dialects.stablehlo import ConcatenateOp, ScatterOp
from shardy_py.xla.targets.gpu.costs import THREADS_OF_ROWS, GpuDescription, Grid, Rates, blocks_of_rows
from shardy_py.xla.targets.gpu.diamonds import reduces_columns
from shardy_py.xla.targets.gpu.graph import GpuGraph

_COLUMNS = 32
"""The columns of a block that reduces these."""
_MOST_PARTS = 4
"""The operands of a concatenation of which each thread writes elements of all. Source: openxla/xla,
xla/service/gpu/hlo_fusion_analysis.cc."""


class KernelRates(dict[int, Rates]):
    """The rates of kernels by root, each found when it is asked for.

    elements: of the ops of the graph. in_blocks: whether blocks of threads make them.
    """

    def __init__(
        self, graph: GpuGraph, elements: Sequence[int], in_blocks: Sequence[bool], gpu: GpuDescription
    ) -> None:
        super().__init__()
        self.graph, self.elements, self.in_blocks, self.gpu = graph, elements, in_blocks, gpu
        self._of_grid: dict[Grid, Rates] = {}

    def __missing__(self, root: int) -> Rates:
        grid = self._grid(root)
        known = self._of_grid.get(grid)
        if known is None:
            most = self.gpu.requested(grid[0])
            known = grid, min(self.gpu.bandwidth, most), most, self.gpu.operations(grid)
            self._of_grid[grid] = known
        self[root] = known
        return known

    def _grid(self, root: int) -> Grid:
        if self.graph.kinds[root] == ScatterOp.name:  # a thread for each of what it writes
            return self.gpu.grid(self.elements[self.graph.reads[root][-1]])
        reads = self.graph.reads[root]
        if self.graph.kinds[root] == ConcatenateOp.name and len(reads) <= _MOST_PARTS:
            return self.gpu.grid(max([self.elements[each] for each in reads]))  # a thread writes some of each
        if not self.in_blocks[root]:
            return self.gpu.grid(self.elements[root])
        rows = max(self.elements[root], 1)
        row = self.elements[self.graph.reads[root][0]] // rows
        columns = self._columns(root) if reduces_columns(self.graph, root) else 0
        blocks = rows // columns if columns else blocks_of_rows(rows, row)
        return max(blocks, 1), THREADS_OF_ROWS

    def _columns(self, root: int) -> int:
        """The columns that a block reduces: a thread reduces two, if there is work for all threads."""
        type_ = self.graph.types[root]
        last = (type_.shape[-1] or 1) if type_ is not None and type_.rank else 1
        return 2 * _COLUMNS if last % 2 == 0 and last >= 2 * _COLUMNS else _COLUMNS
