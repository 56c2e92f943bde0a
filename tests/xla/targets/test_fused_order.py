"""Collectives of XLA:GPU that are one op: in the order of its kernels, which are fused before.

The runs are those of programs that XLA:GPU of jax 0.10.2 compiled for an H100.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shardy_py import Program, propagate
from shardy_py.ops import TensorType
from shardy_py.report.communication import CollectiveUse
from shardy_py.xla.targets.gpu.graph import ADD, TRANSPOSE, GpuGraph
from shardy_py.xla.targets.gpu.kernel import Kernel
from shardy_py.xla.targets.gpu.transposes import TiledTranspose, is_path, tiled_hero

UPDATE = """
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func public @main(
    %p: tensor<128x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
    %u: tensor<128x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<128x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %least = stablehlo.constant dense<1.0e-3> : tensor<f32>
  %size = stablehlo.constant dense<3.05175781e-05> : tensor<f32>
  %0 = stablehlo.multiply %u, %u : tensor<128x256xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<128x256xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.multiply %1, %size : tensor<f32>
  %3 = stablehlo.sqrt %2 : tensor<f32>
  %4 = stablehlo.maximum %3, %one : tensor<f32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<128x256xf32>
  %6 = stablehlo.divide %u, %5 : tensor<128x256xf32>
  %7 = stablehlo.multiply %p, %p : tensor<128x256xf32>
  %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<128x256xf32>, tensor<f32>) -> tensor<f32>
  %9 = stablehlo.multiply %8, %size : tensor<f32>
  %10 = stablehlo.sqrt %9 : tensor<f32>
  %11 = stablehlo.compare LE, %10, %least : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<i1>) -> tensor<128x256xi1>
  %13 = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<128x256xf32>
  %14 = stablehlo.select %12, %13, %p : tensor<128x256xi1>, tensor<128x256xf32>
  %15 = stablehlo.multiply %14, %14 : tensor<128x256xf32>
  %16 = stablehlo.reduce(%15 init: %zero) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<128x256xf32>, tensor<f32>) -> tensor<f32>
  %17 = stablehlo.multiply %16, %size : tensor<f32>
  %18 = stablehlo.sqrt %17 : tensor<f32>
  %19 = stablehlo.select %11, %least, %18 : tensor<i1>, tensor<f32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<128x256xf32>
  %21 = stablehlo.multiply %6, %20 : tensor<128x256xf32>
  %22 = stablehlo.negate %21 : tensor<128x256xf32>
  %23 = stablehlo.add %p, %22 : tensor<128x256xf32>
  return %23 : tensor<128x256xf32>
}
"""
FINITE = """
sdy.mesh @mesh = <["x"=8]>
func.func public @main(
    %a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %c: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<i1> {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.is_finite %a : (tensor<64x8xf32>) -> tensor<64x8xi1>
  %1 = stablehlo.reduce(%0 init: %true) applies stablehlo.and across dimensions = [0, 1]
      : (tensor<64x8xi1>, tensor<i1>) -> tensor<i1>
  %2 = stablehlo.is_finite %b : (tensor<64x8xf32>) -> tensor<64x8xi1>
  %3 = stablehlo.reduce(%2 init: %true) applies stablehlo.and across dimensions = [0, 1]
      : (tensor<64x8xi1>, tensor<i1>) -> tensor<i1>
  %4 = stablehlo.is_finite %c : (tensor<64x8xf32>) -> tensor<64x8xi1>
  %5 = stablehlo.reduce(%4 init: %true) applies stablehlo.and across dimensions = [0, 1]
      : (tensor<64x8xi1>, tensor<i1>) -> tensor<i1>
  %6 = stablehlo.reshape %1 : (tensor<i1>) -> tensor<1xi1>
  %7 = stablehlo.reshape %3 : (tensor<i1>) -> tensor<1xi1>
  %8 = stablehlo.reshape %5 : (tensor<i1>) -> tensor<1xi1>
  %9 = stablehlo.concatenate %6, %7, %8, dim = 0
      : (tensor<1xi1>, tensor<1xi1>, tensor<1xi1>) -> tensor<3xi1>
  %10 = stablehlo.reduce(%9 init: %true) applies stablehlo.and across dimensions = [0]
      : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
  return %10 : tensor<i1>
}
"""


def sent(text: str) -> Sequence[CollectiveUse]:
    """The collectives of a program on an H100."""
    return propagate(Program.parse(text)).communication(target="h100", partitioner="xla").sending


def test_sums_that_a_kernel_reads_last_are_summed_last() -> None:
    # The update's own sum is the program's first, but the kernel that adds the update reads it last.
    together = [{each.value for each in use.before} for use in sent(UPDATE)]
    assert together == [{"%12"}, {"%5", "%20"}]


def test_reductions_of_concatenated_sums_are_sums_of_all() -> None:
    (use,) = sent(FINITE)
    assert len(use.before) == 3
    assert {change.made_by for change in use.changes} == {"all-reduce-reassociate"}


def transposed(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[GpuGraph, Kernel]:
    """A kernel that adds a value to a transposed one."""
    graph, type_ = GpuGraph(), TensorType(shape, "f32")
    given = TensorType(tuple([shape[order.index(d)] for d in range(len(order))]), "f32")
    first, other = graph.add("argument", (), given), graph.add("argument", (), type_)
    moved = graph.add(TRANSPOSE, (first,), type_)
    graph.orders[moved] = order
    root = graph.add(ADD, (moved, other), type_)
    return graph, Kernel(root, {moved, root}, reads={first: frozenset((1,)), other: frozenset((0,))})


@pytest.mark.parametrize(
    ("shape", "order", "tiled"),
    [
        ((128, 64), (1, 0), TiledTranspose((128, 64), (1, 0))),
        ((128, 8), (1, 0), None),
        ((2048, 8), (1, 0), TiledTranspose((2048, 8), (1, 0))),
        ((4, 8, 32, 2), (0, 2, 1, 3), TiledTranspose((4, 8, 32, 2), (0, 2, 1, 3))),
        ((4, 8, 32, 4), (0, 2, 1, 3), None),
        ((1, 128, 64), (0, 2, 1), TiledTranspose((128, 64), (1, 0))),
    ],
)
def test_transposes_have_tiles_where_both_sides_are_long(
    shape: tuple[int, ...], order: tuple[int, ...], tiled: TiledTranspose | None
) -> None:
    assert tiled_hero(*transposed(shape, order)) == tiled


def test_a_value_is_on_a_path_if_one_chain_of_elementwise_ops_reads_it() -> None:
    graph, type_ = GpuGraph(), TensorType((4,), "f32")
    value, other = graph.add("argument", (), type_), graph.add("argument", (), type_)
    once = graph.add(ADD, (value, other), type_)
    root = graph.add(ADD, (once, other), type_)
    kernel = Kernel(root, {once, root})
    assert is_path(graph, kernel, value)
    assert not is_path(graph, kernel, other)
