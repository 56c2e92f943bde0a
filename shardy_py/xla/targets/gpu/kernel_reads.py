"""Which of the values that a kernel reads its results may be written over.

Not here: which ops are in a kernel (`kernels.py`), buffers (`xla/buffers/gpu/`).
"""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.xla.targets.gpu.graph import REDUCE, GpuGraph
from shardy_py.xla.targets.gpu.kernel import Kernel


def direct_reads(graph: GpuGraph, kernel: Kernel) -> Iterable[int]:
    """The values that a kernel reads only at the element that it writes, so that it may write over them."""
    size = graph.sizes[kernel.root]
    for value, at in _places(graph, kernel).items():
        if at == {kernel.root} and graph.sizes[value] == size:
            yield value


def read_otherwise(graph: GpuGraph, kernels: Iterable[Kernel]) -> set[int]:
    """The values that some of the kernels of one op read at other elements than those that it writes.

    No result is written over these. A reduction reads its operands before anything is written. Source:
    openxla/xla, xla/service/gpu/buffer_sharing.cc.
    """
    found: set[int] = set()
    for kernel in kernels:
        root = kernel.root
        same = graph.reads[root][0] if graph.kinds[root] == REDUCE else root
        found |= {value for value, at in _places(graph, kernel).items() if at != {same}}
    return found


def _places(graph: GpuGraph, kernel: Kernel) -> dict[int, set[int]]:
    """By value that a kernel reads the ops at whose elements it does: the last one, or what is moved."""
    at = {kernel.root: {kernel.root}}
    for number in sorted(kernel.members, reverse=True):
        own = at.pop(number, None)
        if own is not None:
            is_same = graph.is_elementwise(number)
            for value in graph.reads[number]:
                at[value] = at.get(value, set()) | (own if is_same else {value})
    return at
