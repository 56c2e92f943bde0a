"""The blocks of threads of a kernel of XLA:GPU, and how many a GPU starts.

A thread makes up to four elements, which one access reads or writes; of windows, and of concatenations whose
parts are not as even, one. Blocks have 128 threads. Source: openxla/xla, xla/service/gpu/gpu_fusible.cc,
xla/codegen/emitters/concatenate_kernel_emitter.cc; `.reqntid` of the PTX.

A GPU starts at most one block a clock, so that kernels of many small blocks take as long whatever the
memory: kernels that write constants or iota, rotate, or add a bias in bf16 start 0.79 to 0.83 blocks a clock
on an H100 and on an H200 (`tests/hardware/measured/`).
"""

from __future__ import annotations

from math import ceil, gcd

from shardy_py.hardware import Hardware
from shardy_py.mlir.dialects.stablehlo import ConcatenateOp, GatherOp
from shardy_py.ops.reads import integers
from shardy_py.xla.targets.gpu.graph import REDUCE, TRANSPOSE, GpuGraph
from shardy_py.xla.targets.gpu.kernel import Kernel

_THREADS = 128
_UNROLLED = 4
"""The elements that a thread makes at most."""
_RESIDENT = 2048
"""The threads of a multiprocessor: kernels with fewer elements are not unrolled."""
_TILE = 32 * 32
"""The elements that a block transposes."""
_MOST_PARTS = 4
"""Concatenations of more operands compute each element like other ops."""
_WARP = 32
LANES = 128
"""The vector units of a multiprocessor, each of which multiplies and adds in a clock."""


def clock(hardware: Hardware) -> float:
    """Returns the clocks per second of a GPU whose multiprocessors are known."""
    return hardware.vector_flops / (2 * LANES * hardware.cores)


def kernel_blocks(graph: GpuGraph, kernel: Kernel, cores: int) -> int:
    """Returns the blocks of a kernel; 0 for those that make or reduce whole rows, which have few."""
    root = kernel.root
    if kernel.rows or graph.kinds[root] == REDUCE:
        return 0
    if graph.kinds[root] == TRANSPOSE:
        return ceil(graph.elements(root) / _TILE)
    elements = graph.elements(root)
    if graph.row(root).is_in_place:
        elements = graph.elements(graph.reads[root][-1])
    if graph.kinds[root] == ConcatenateOp.name and len(graph.reads[root]) <= _MOST_PARTS:
        elements = max(map(graph.elements, graph.reads[root]))
        unrolled = gcd(_UNROLLED, *_parts(graph, root))
    else:
        is_unrolled = elements >= cores * _RESIDENT and all(graph.row(n).is_unrolled for n in kernel.members)
        unrolled = gcd(_UNROLLED, elements) if is_unrolled else 1
    return ceil(elements / (unrolled * _THREADS))


def _parts(graph: GpuGraph, number: int) -> list[int]:
    """The sizes of the operands of a concatenation along its dimension."""
    made = graph.types[number]
    types = [graph.types[each] for each in graph.reads[number]]
    shapes = [type_.shape for type_ in types if type_ is not None]
    if made is None or len(shapes) < len(types) or {*map(len, shapes)} != {made.rank}:
        return [1]
    grown = next((d for d, size in enumerate(made.shape) if any(each[d] != size for each in shapes)), 0)
    return [each[grown] or 1 for each in shapes]


def requested_lines(graph: GpuGraph, number: int) -> float:
    """Returns the lines that a gather requests: threads of a warp share those of elements side by side."""
    step, made = graph.step(number), graph.types[number]
    if graph.kinds[number] != GatherOp.name or step is None or made is None:
        return 0.0
    sizes = integers(step.record.attributes, "slice_sizes")
    beside = min(_WARP, sizes[-1] if sizes else 1)
    return graph.elements(number) / max(beside, 1)
