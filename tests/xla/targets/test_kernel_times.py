"""The times of kernels, by those that XLA:GPU of jax 0.10.2 logs of its fusion for an H100.

Expected figures are of that log (`priority_fusion_dump.txt`): quarters of a nanosecond.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from shardy_py import Program, propagate
from shardy_py.mlir.dialects.stablehlo import ConcatenateOp, PadOp, ReduceOp, SliceOp
from shardy_py.ops import TensorType
from shardy_py.xla.targets.gpu import computation
from shardy_py.xla.targets.gpu.costs import H100, combined, read_time
from shardy_py.xla.targets.gpu.graph import ADD, ARGUMENT, BROADCAST, DOT, MULTIPLY, REDUCE, GpuGraph
from shardy_py.xla.targets.gpu.kernel import Kernel
from shardy_py.xla.targets.gpu.kernel_measures import KernelMeasures
from shardy_py.xla.targets.gpu.kernel_ops import KernelOps
from shardy_py.xla.targets.gpu.kernels import KernelFusion

MATRIX = TensorType((64, 64), "f32")


GraphOf = Callable[[str], GpuGraph]


@pytest.fixture
def graph_of(monkeypatch: pytest.MonkeyPatch) -> GraphOf:
    """Returns the ops of a program of one computation before fusion."""
    found, with_products = list[GpuGraph](), computation.with_products

    def noted(graph: GpuGraph) -> GpuGraph:
        found.append(with_products(graph))
        return found[-1]

    def graph_of_text(text: str) -> GpuGraph:
        assert propagate(Program.parse(text), progress=False).memory("h100").estimate
        return found[-1]

    monkeypatch.setattr(computation, "with_products", noted)
    return graph_of_text


def fused(graph: GpuGraph) -> list[int]:
    """The ops that are computed in others, in the order in which that is decided."""
    fusion, found = KernelFusion(graph), list[int]()
    fuse = fusion._fuse

    def noted(number: int) -> set[int]:
        found.append(number)
        return fuse(number)

    fusion._fuse = noted
    fusion.groups()
    return found


def test_a_kernel_has_an_op_as_often_as_it_is_copied_into_it() -> None:
    graph = GpuGraph()
    given = graph.add(ARGUMENT, (), MATRIX)
    inner = graph.add(ADD, (given, given), MATRIX)
    first = graph.add(ADD, (inner, given), MATRIX)
    last = graph.add(ADD, (inner, first), MATRIX)
    ops = KernelOps(graph)
    measures, kernels = KernelMeasures(ops, H100), {n: Kernel(n, {n}) for n in (inner, first, last)}
    for kernel in kernels.values():
        measures.begin(kernel)
    for producer, consumer in ((inner, first), (inner, last), (first, last)):
        measures.extend(kernels[last if consumer == last else first], kernels[producer])
    kernel = kernels[last]
    kernel.fill()
    assert kernel.operations == 4 * ops.operations[inner]
    assert kernel.code == 4
    assert kernel.uses == {given: 1.0}


def test_what_is_read_as_a_bitcast_is_not_read_with_the_same_value() -> None:
    found: list[int] = []
    for is_reshaped in (False, True):
        graph = GpuGraph()
        given = graph.add(ARGUMENT, (), TensorType((64, 2, 64), "f32"))
        other = graph.add(ARGUMENT, (), TensorType((64, 2, 64), "f32"))
        inner = graph.add(ADD, (given, other), TensorType((64, 2, 64), "f32"))
        last = graph.add(ADD, (given, inner), TensorType((64, 2, 64), "f32"))
        graph.results = (last,)
        if is_reshaped:
            graph.forms = {(inner, given): (64, 2, 64), (last, given): (64, 2, 64)}
        found.append(KernelFusion(graph)._priority(inner))
    assert found == [4116, 4084]  # without the 8 ns in which a value of 32 KiB is read again


def test_of_equal_gains_the_newest_instruction_is_first() -> None:
    graph = GpuGraph()
    given = graph.add(ARGUMENT, (), MATRIX)
    pairs: list[tuple[int, int]] = []
    for _ in range(4):
        inner = graph.add("stablehlo.negate", (given,), MATRIX)
        pairs.append((inner, graph.add(ADD, (inner, given), MATRIX)))
    graph.results = tuple([last for _, last in pairs])
    # Bitcasts are fused first, the last one before, so that of these the first op is the newest.
    graph.forms = {(pairs[0][0], given): (4096,), (pairs[1][0], given): (4096,)}
    assert fused(graph) == [pairs[0][0], pairs[1][0], pairs[3][0], pairs[2][0]]


def test_small_caches_hold_what_is_read_again() -> None:
    of_memory = H100.bandwidth
    assert [H100.again(size) / of_memory for size in (1 << 18, 1 << 20, 1 << 26)] == [20, 2.5, 1]
    once, again = of_memory, H100.again(1 << 20)
    assert read_time(1 << 20, 2.0, once, again, 1e15) == 1251 + 500


def test_halves_of_shared_time_are_rounded_up() -> None:
    assert combined(30, 30) == 30 + 30 - 29


@pytest.mark.parametrize(
    ("dimension", "sizes", "cycles"), [(1, (1, 511), 400), (1, (256, 256), 6), (0, (1, 511), 6)]
)
def test_warps_compute_parts_of_all_operands_of_a_concatenation(
    dimension: int, sizes: tuple[int, int], cycles: int
) -> None:
    graph, whole = GpuGraph(), [2, 2, 256]
    given: list[int] = []
    for size in sizes:
        whole[dimension] = size
        given.append(graph.add(ARGUMENT, (), TensorType(tuple(whole), "f32")))
    whole[dimension] = sum(sizes)
    number = graph.add(ConcatenateOp.name, given, TensorType(tuple(whole), "f32"))
    ops = KernelOps(graph)
    assert ops.operations[number] == cycles * ops.elements[number]


def test_what_a_concatenation_reads_is_computed_once() -> None:
    graph = GpuGraph()
    given = [graph.add(ARGUMENT, (), TensorType((2, 1, 256), "f32")) for _ in range(3)]
    inner = graph.add(ADD, given[:2], TensorType((2, 1, 256), "f32"))
    graph.results = (graph.add(ConcatenateOp.name, (inner, given[2]), TensorType((2, 2, 256), "f32")),)
    assert KernelFusion(graph)._priority(inner) == 4057


@pytest.mark.parametrize(("size", "gain"), [(2, 4634), (32, 4255), (256, 5846), (512, 7690)])
def test_the_gain_of_a_concatenation_that_is_padded(size: int, gain: int) -> None:
    graph = GpuGraph()
    given = [graph.add(ARGUMENT, (), TensorType((2, each, 256), "f32")) for each in (1, size - 1)]
    zero = graph.add(ARGUMENT, (), TensorType((), "f32"))
    number = graph.add(ConcatenateOp.name, given, TensorType((2, size, 256), "f32"))
    graph.results = (graph.add(PadOp.name, (number, zero), TensorType((2, 2 * size, 256), "f32")),)
    assert abs(KernelFusion(graph)._priority(number) - gain) <= 1


def test_threads_reduce_few_elements_one_by_one(graph_of: GraphOf) -> None:
    graph = graph_of(
        """func.func @main(%x: tensor<64x2x64xf32>, %y: tensor<64x2x64xf32>) -> tensor<64x64xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.multiply %x, %y : tensor<64x2x64xf32>
      %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<64x2x64xf32>, tensor<f32>) -> tensor<64x64xf32>
      return %1 : tensor<64x64xf32>
    }"""
    )
    fusion = KernelFusion(graph)
    assert fusion._priority(graph.kinds.index(MULTIPLY)) == 4051


REDUCED = """func.func @main(%x: tensor<64x1x128xf32>) -> tensor<64x128xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.exponential %x : tensor<64x1x128xf32>
      %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<64x1x128xf32>, tensor<f32>) -> tensor<64x128xf32>
      %2 = stablehlo.negate %1 : tensor<64x128xf32>
      return %2 : tensor<64x128xf32>
    }"""


def test_a_reduction_of_one_element_is_a_reshape_behind_which_ops_move(graph_of: GraphOf) -> None:
    graph = graph_of(REDUCED)
    assert REDUCE not in graph.kinds
    assert not graph.forms
    (last,) = graph.results
    assert graph.types[last] == TensorType((64, 1, 128), "f32")
    assert graph.returned_forms == {last}


def test_broadcasts_count_dimensions_of_one_element_that_reshapes_add(graph_of: GraphOf) -> None:
    graph = graph_of(
        """func.func @main(%x: tensor<64x128xf32>, %y: tensor<64x1x128xf32>) -> tensor<64x4x128xf32> {
      %0 = stablehlo.reshape %x : (tensor<64x128xf32>) -> tensor<64x1x128xf32>
      %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<64x1x128xf32>) -> tensor<64x4x128xf32>
      %2 = stablehlo.broadcast_in_dim %y, dims = [0, 1, 2] : (tensor<64x1x128xf32>) -> tensor<64x4x128xf32>
      %3 = stablehlo.add %1, %2 : tensor<64x4x128xf32>
      return %3 : tensor<64x4x128xf32>
    }"""
    )
    assert [graph.reads[n] for n, kind in enumerate(graph.kinds) if kind == BROADCAST] == [(0,), (1,)]
    assert [*graph.forms.values()] == [(64, 128)]


def test_products_make_matrices(graph_of: GraphOf) -> None:
    graph = graph_of(
        """func.func @main(%x: tensor<8x64x128xf32>, %w: tensor<128x256xf32>) -> tensor<8x64x256xf32> {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0]
        : (tensor<8x64x128xf32>, tensor<128x256xf32>) -> tensor<8x64x256xf32>
      %1 = stablehlo.tanh %0 : tensor<8x64x256xf32>
      %2 = stablehlo.subtract %0, %1 : tensor<8x64x256xf32>
      return %2 : tensor<8x64x256xf32>
    }"""
    )
    product = graph.kinds.index(DOT)
    readers = [number for number, value in graph.forms if value == product]
    assert len(readers) == 2
    assert graph.kinds.index("stablehlo.subtract") in readers


def test_products_that_are_multiplications_read_equal_broadcasts_once(graph_of: GraphOf) -> None:
    graph = graph_of(
        """func.func @main(%x: tensor<32x64x256xf32>, %w: tensor<256x1xf32>, %y: tensor<32x64x1xf32>)
        -> (tensor<32x64x1xf32>, tensor<32x64x256xf32>) {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0]
        : (tensor<32x64x256xf32>, tensor<256x1xf32>) -> tensor<32x64x1xf32>
      %1 = stablehlo.dot_general %y, %w, contracting_dims = [2] x [1]
        : (tensor<32x64x1xf32>, tensor<256x1xf32>) -> tensor<32x64x256xf32>
      return %0, %1 : tensor<32x64x1xf32>, tensor<32x64x256xf32>
    }"""
    )
    repeated = [graph.reads[n][0] for n, kind in enumerate(graph.kinds) if kind == BROADCAST]
    products = [n for n, kind in enumerate(graph.kinds) if kind == MULTIPLY]
    assert sorted(repeated) == [1, 2]
    assert len(products) == 2
    assert all(map(graph.is_elementwise, products))
    assert graph.reads[products[0]][1] == graph.reads[products[1]][1]


def test_padding_with_negative_edges_is_a_slice(graph_of: GraphOf) -> None:
    graph = graph_of(
        """func.func @main(%x: tensor<8x128xf32>) -> (tensor<8x127xf32>, tensor<8x255xf32>) {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.pad %x, %zero, low = [0, -1], high = [0, 0], interior = [0, 0]
        : (tensor<8x128xf32>, tensor<f32>) -> tensor<8x127xf32>
      %1 = stablehlo.pad %x, %zero, low = [0, -1], high = [0, 1], interior = [0, 1]
        : (tensor<8x128xf32>, tensor<f32>) -> tensor<8x255xf32>
      return %0, %1 : tensor<8x127xf32>, tensor<8x255xf32>
    }"""
    )
    kinds = [kind for kind in graph.kinds if kind in (PadOp.name, SliceOp.name)]
    assert kinds == [SliceOp.name, PadOp.name, SliceOp.name]
    padded = graph.types[graph.kinds.index(PadOp.name)]
    assert padded == TensorType((8, 256), "f32")
    assert all(first <= second for first, second in pairwise(graph.results))
    assert ReduceOp.name not in graph.kinds
