"""Operands of products that XLA:GPU computes as multiplications: repeated along the dimensions they lack.

    dot_general([64], [32]) without contraction  ->  multiply(broadcast([64]), broadcast([32])) of [64, 32]

Equal ones are one op. Fills are repeated along all dimensions of what is written over them. Source:
openxla/xla, xla/hlo/transforms/simplifiers/algebraic_simplifier.cc and
xla/service/gpu/gpu_algebraic_simplifier.cc. Not here: which products those are (`lowering.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.targets.gpu.graph import BROADCAST, MULTIPLY, GpuGraph
from shardy_py.xla.targets.parts import elements_of


def add_outer(graph: GpuGraph, reads: Sequence[int], step: OpRecord, made: TensorType) -> int:
    """Adds a product that contracts nothing. step: as the program has it."""
    numbers, left = DotDimensions.of(step.attributes), step.operands[0]
    batches = len(numbers.batching[0])
    rows = 0 if left is None else left.rank - batches - len(numbers.contracting[0])
    whole = range(made.rank)
    dimensions = whole[: batches + rows], [*whole[:batches], *whole[batches + rows :]]
    given = [_repeated(graph, each, made, own) for each, own in zip(reads, dimensions, strict=False)]
    return graph.add(MULTIPLY, given, made)


def add_scaled(graph: GpuGraph, matrix: int, vector: int, made: TensorType, dimensions: Sequence[int]) -> int:
    """Adds the multiplication of a matrix and a vector, which has these dimensions of it.

    made: the type in which the matrix is read.
    """
    vector = _repeated(graph, vector, made, dimensions)
    number, held = graph.add(MULTIPLY, (matrix, vector), made), graph.types[matrix]
    if held is not None and held.shape != made.shape:
        graph.forms[number, matrix] = made.shape
    return number


def add_filled(graph: GpuGraph, number: int, made: TensorType) -> int:
    """Adds a value of one number in the shape of what is written over it, and returns it; or another value.

    A device that scatters into all of a value fills all of it first, though it holds a part only. Source:
    openxla/xla, `ReshardNoCache` in xla/service/spmd/spmd_partitioner.cc.
    """
    node, type_ = graph.nodes[number], graph.types[number]
    if graph.kinds[number] != BROADCAST or node is None or type_ is None or type_.rank != made.rank:
        return number
    (source,) = graph.reads[number]
    if graph.elements(source) != 1 or type_.shape == made.shape:
        return number
    key = "filled", source, *made.shape
    if key not in graph.known:
        type_ = TensorType(made.shape, type_.element)
        graph.known[key] = graph.add(BROADCAST, (source,), type_, replace(node, type=type_))
    return graph.known[key]


def _repeated(graph: GpuGraph, number: int, made: TensorType, dimensions: Sequence[int]) -> int:
    """A value that has some dimensions of another type, repeated along the others."""
    type_ = graph.types[number]
    if type_ is None or graph.elements(number) == elements_of(made):
        return number
    own = tuple(sorted(d for d in dimensions if d < made.rank and made.shape[d] != 1))
    key = "repeated", number, *made.shape, *own
    if key not in graph.known:
        graph.known[key] = graph.add(BROADCAST, (number,), TensorType(made.shape, type_.element))
    return graph.known[key]
