"""The time of a kernel on a GPU: of fused ops, a product, a sort.

Each takes the time to launch it, and that of the unit that is busy longest: matrix units, vector units, or
memory, or the blocks that are started (`blocks.py`). Rates are those of the device. Not here: which ops are a
kernel (`kernels.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, prod
from typing import Literal, TypeGuard

from shardy_py.base.records import dataclass
from shardy_py.hardware import Hardware
from shardy_py.mlir.dialects.stablehlo import ScatterOp
from shardy_py.ops import TensorType
from shardy_py.ops.dimensions import ConvolutionDimensions, DotDimensions
from shardy_py.report.time.blocks import clock, kernel_blocks, requested_lines
from shardy_py.report.time.local_work import DeviceWork, total_work, whole_work
from shardy_py.report.time.roofline import FUNCTION_FLOPS, precision_of
from shardy_py.report.time.sorts import Sort, sort_of
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.targets.gpu.costs import LAUNCH
from shardy_py.xla.targets.gpu.expanded import BLOCK
from shardy_py.xla.targets.gpu.graph import CONVOLUTION, REDUCE, WINDOW, GpuGraph
from shardy_py.xla.targets.gpu.kernel import Kernel
from shardy_py.xla.targets.model import DeviceBody, DeviceNode
from shardy_py.xla.targets.parts import elements_of

Bound = Literal["compute", "memory"]
REACHED = 0.5
"""The part of the rates that kernels reach at least, but for one in ten.

Measured on an H100: of 74 single ops that memory bounds, 66 take 1.0 to 2.0 times as long as at its full
bandwidth, of 27 products and convolutions 23 of those that are not of 8 bits, whose operands are transposed
first (`tests/hardware/compared_steps.py`).
"""
_TILE = 128
"""Rows and columns of the result that one multiprocessor computes at a time, of large products."""
_FEATURES = 8
"""Features of convolutions are padded to multiples of 16 bytes of bf16: NVIDIA's guide to their performance,
https://docs.nvidia.com/deeplearning/performance/dl-performance-convolutional."""


@dataclass(frozen=True, slots=True)
class Started:
    """The load of the multiprocessors by a kernel: blocks of threads, the instructions of functions, lines.

    lines: requests of elements that are not beside each other, for each of which a first-level cache looks
    up one line.
    """

    blocks: float = 0.0
    functions: float = 0.0
    lines: float = 0.0

    def __add__(self, other: Started) -> Started:
        blocks = max(self.blocks, other.blocks)
        return Started(blocks, self.functions + other.functions, self.lines + other.lines)


@dataclass(frozen=True)
class KernelCosts:
    """The times of kernels on a device."""

    hardware: Hardware

    def kernel(self, work: DeviceWork, size: float, started: Started | None = None) -> tuple[float, Bound]:
        """The seconds of a kernel that moves `size` bytes, and what takes them.

        An instruction computes one element; one that multiplies and adds counts for two operations.
        """
        hardware = self.hardware
        if started is None:
            started = Started(functions=FUNCTION_FLOPS / 2 * work.transcendentals)
        compute = (work.flops + 2 * started.functions) / hardware.vector_flops
        if hardware.cores:
            clocks = max(started.blocks, started.lines / hardware.cores)
            compute = max(compute, clocks / clock(hardware))
        return self._longer(compute, size)

    def loaded(self, graph: GpuGraph, kernel: Kernel) -> tuple[DeviceWork, Started]:
        """The arithmetic of a kernel of fused ops on one device, and the load of its multiprocessors."""
        works = [(number, self.work(graph, number)) for number in kernel.members]
        functions = lines = 0.0
        for number, work in works:
            if work.transcendentals:
                functions += work.transcendentals * graph.row(number).instructions
            lines += requested_lines(graph, number)
        blocks = kernel_blocks(graph, kernel, self.hardware.cores)
        return total_work(work for _, work in works), Started(blocks, functions, lines)

    def product(self, graph: GpuGraph, number: int, flops: float, size: float) -> tuple[float, Bound]:
        """The seconds of a product; one with fewer tiles than multiprocessors does not use all."""
        step, made = graph.step(number), graph.types[number]
        given = graph.types[graph.reads[number][0]] if step is None else step.record.operands[0]
        if made is None or given is None:
            return self.kernel(DeviceWork(flops), size)
        precision = "DEFAULT" if step is None else precision_of(step.record)
        read = {
            type_.element for type_ in map(graph.types.__getitem__, graph.reads[number]) if _is_tensor(type_)
        }
        # Operands of 8 bits that are scaled are read as they are: XLA scales the product.
        element = read.pop() if len(read) == 1 and all(map(_is_float8, read)) else given.element
        rate = self.hardware.flops_per_second(element, precision)
        return self._longer(flops / (rate * self._busy(made)), size)

    def other(self, graph: GpuGraph, number: int, work: DeviceWork, size: float) -> tuple[float, Bound]:
        """The seconds of an op that runs alone."""
        step = graph.step(number)
        if step is None:
            return self.kernel(work, size)
        if work.product_flops:
            operand = next((type_ for type_ in step.record.operands if type_ is not None), None)
            rate = self.hardware.flops_per_second("f32" if operand is None else operand.element)
            return self._longer(work.product_flops * _padded(graph, number) / rate, size)
        found = sort_of(graph, number)
        return self.kernel(work, size) if found is None else self._sort(found)

    def _sort(self, sort: Sort) -> tuple[float, Bound]:
        hardware = self.hardware
        cores = hardware.cores or 1
        lanes = hardware.vector_flops / (2 * cores)
        seconds, bound = self._longer(sort.exchanged(lanes, cores), sort.moved)
        return seconds + (sort.passes - 1) * LAUNCH * 1e-6, bound

    def _longer(self, compute: float, size: float) -> tuple[float, Bound]:
        memory = size / self.hardware.memory_bytes_per_second
        start = LAUNCH * 1e-6
        return (start + compute, "compute") if compute > memory else (start + memory, "memory")

    def _busy(self, made: TensorType) -> float:
        """The part of the multiprocessors that a product uses."""
        cores = self.hardware.cores
        if not cores:
            return 1.0
        shape = [size or 0 for size in made.shape]
        batches = prod(shape[: max(0, len(shape) - 2)])
        rows, columns = ([1, 1, *shape])[-2:]
        tiles = batches * ceil(rows / _TILE) * ceil(columns / _TILE)
        return min(1.0, max(tiles, 1) / cores)

    def work(self, graph: GpuGraph, number: int) -> DeviceWork:
        """The arithmetic of an op on one device."""
        step, made = graph.step(number), graph.elements(number)
        kind = graph.kinds[number]
        if kind == REDUCE:
            return DeviceWork(flops=max(0, graph.elements(graph.reads[number][0]) - made))
        if step is None and kind == WINDOW:
            return DeviceWork(flops=(BLOCK - 1) * made)
        if step is None or step.record.name != kind:
            return DeviceWork(flops=made if graph.row(number).cycles else 0)
        return whole_work(step) * _share(step, graph, number)

    def updated(self, graph: GpuGraph, number: int) -> float:
        """The bytes that an op in place writes; additions read what they add to."""
        reads = graph.reads[number]
        is_added = (
            graph.kinds[number] == ScatterOp.name and graph.step(number) is not None and len(reads) == 3
        )
        return 2.0 * graph.sizes[reads[2]] if is_added else float(graph.sizes[reads[1]])


def _padded(graph: GpuGraph, number: int) -> float:
    """How much more a convolution computes with its features padded, as matrix units take them."""
    step = graph.step(number)
    if graph.kinds[number] != CONVOLUTION or step is None:
        return 1.0
    kernel = step.record.operands[1]
    numbers = ConvolutionDimensions.of(step.record.attributes)
    if kernel is None:
        return 1.0
    sizes = [kernel.shape[d] or 1 for d in (numbers.in_feature, numbers.out_feature)]
    return prod(ceil(size / _FEATURES) * _FEATURES / size for size in sizes)


def _is_tensor(type_: TensorType | None) -> TypeGuard[TensorType]:
    return elements_of(type_) > 1


def _is_float8(element: str) -> bool:
    return element.startswith("f8")


def _share(step: PlannedOp, graph: GpuGraph, number: int) -> float:
    """The part of the work of an op that a device does."""
    whole, made = step.record.results[0], graph.types[number]
    if whole is None or made is None:
        given = next((type_ for type_ in step.record.operands if type_ is not None), None)
        reads = graph.reads[number]
        size = elements_of(given)
        return graph.elements(reads[0]) / size if size and reads else 1.0
    return elements_of(made) / max(elements_of(whole), 1)


def whole_flops(graph: GpuGraph, number: int) -> float:
    """The operations of a product that contracts the last dimensions of its left operand."""
    made = graph.types[number]
    if made is None or not made.rank or not graph.reads[number]:
        return 0.0
    rows = prod(size or 0 for size in made.shape[:-1])
    return 2.0 * elements_of(made) * graph.elements(graph.reads[number][0]) / max(rows, 1)


def product_flops(
    body: DeviceBody, around: Mapping[int, TensorType | None], node: DeviceNode | None
) -> float:
    """The operations of a product on one device."""
    if node is None or node.type is None or node.step is None or not node.inputs:
        return 0.0
    left = node.inputs[0]
    type_ = body.nodes[left].type if left in body.nodes else around.get(left)
    attributes = node.step.record.attributes
    if type_ is None or "dot_dimension_numbers" not in attributes:
        return 0.0
    contracted = DotDimensions.of(attributes).contracting[0]
    return 2.0 * elements_of(node.type) * prod(type_.shape[d] or 0 for d in contracted)
