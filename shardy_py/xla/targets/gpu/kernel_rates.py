"""How a GPU runs a kernel: its blocks and threads, and what they read and compute in a time.

Not here: the times (`costs.py`), which ops are in a kernel (`kernels.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.mlir.dialects.stablehlo import ScatterOp
from shardy_py.xla.targets.gpu.costs import THREADS_OF_ROWS, GpuDescription, Grid, blocks_of_rows
from shardy_py.xla.targets.gpu.diamonds import reduces_columns
from shardy_py.xla.targets.gpu.graph import REDUCE, GpuGraph

_COLUMNS = 32
"""The columns of a block that reduces these."""
Rates = tuple[Grid, float, float, float]
"""The blocks and threads of a kernel; the bytes a second that it reads from memory, and that it requests at
most; operations in a microsecond."""


class KernelRates(dict[int, Rates]):
    """The rates of kernels by root, each found when it is asked for. elements: of the ops of the graph."""

    def __init__(self, graph: GpuGraph, elements: Sequence[int], gpu: GpuDescription) -> None:
        super().__init__()
        self.graph, self.elements, self.gpu = graph, elements, gpu
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
        if self.graph.kinds[root] != REDUCE:
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
