"""Reductions in two steps on a GPU, and the blocks of those that are one."""

from __future__ import annotations

import pytest

from shardy_py.api import Program, propagate
from shardy_py.ops import TensorType
from shardy_py.xla.targets.gpu.graph import ARGUMENT, REDUCE, GpuGraph
from shardy_py.xla.targets.gpu.kernels import KernelFusion
from shardy_py.xla.targets.gpu.reductions import Steps, in_steps


@pytest.mark.parametrize(
    ("shape", "dimensions", "steps"),
    [
        # The shapes of the first steps in HLO of jax 0.10.2 for an H100.
        ((256, 1024), (0, 1), Steps(262144, (512,))),
        ((8, 32, 512), (0, 1, 2), Steps(131072, (256,))),
        ((16384,), (0,), None),
        ((4, 20000), (1,), Steps(20000, (4, 125))),
        ((8192, 64), (0,), Steps(8192, (64, 64), (True, True))),
        ((4096, 64), (0,), None),
        ((16, 64, 32), (0, 2), Steps(32, (16, 64), (False, True))),
        ((4, 1, 64), (0, 1), None),
    ],
)
def test_reductions_of_many_elements_have_two_steps(
    shape: tuple[int, ...], dimensions: tuple[int, ...], steps: Steps | None
) -> None:
    assert in_steps(shape, dimensions) == steps


def test_what_is_reduced_in_two_steps_is_not_stored() -> None:
    text = """func.func @main(%x: tensor<1024x1024xf32>) -> tensor<f32> {
      %0 = stablehlo.constant dense<0.0> : tensor<f32>
      %1 = stablehlo.exponential %x : tensor<1024x1024xf32>
      %2 = stablehlo.reduce(%1 init: %0) applies stablehlo.add across dimensions = [0, 1]
        : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<f32>
      return %2 : tensor<f32>
    }"""
    assert propagate(Program.parse(text)).memory("h100").estimate.temporaries == 1024 * 4


@pytest.mark.parametrize(
    ("rows", "row", "blocks"),
    # The grids of kernels that XLA:GPU of jax 0.10.2 compiles for an H100.
    [(64, 64, 8), (512, 512, 64), (4, 4096, 4), (4, 16384, 4)],
)
def test_blocks_reduce_several_short_rows(rows: int, row: int, blocks: int) -> None:
    graph = GpuGraph()
    value = graph.add(ARGUMENT, (), TensorType((rows, row), "f32"))
    total = graph.add(REDUCE, (value,), TensorType((rows,), "f32"))
    graph.results = (total,)
    fusion = KernelFusion(graph)
    grid, *_ = fusion.ops.rates[total]
    assert grid[0] == blocks


@pytest.mark.parametrize(("rows", "size"), [(2048, 2048 * 128 * 4), (16384, 128 * 128 * 4)])
def test_products_of_columns_with_a_vector(rows: int, size: int) -> None:
    # Few blocks reduce 128 columns, which would read the vector slowly: what they reduce is stored. Of more
    # rows there are parts, which many blocks reduce.
    text = f"""func.func @main(%x: tensor<{rows}x128xf32>, %y: tensor<{rows}xf32>) -> tensor<128xf32> {{
      %0 = stablehlo.exponential %x : tensor<{rows}x128xf32>
      %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<{rows}x128xf32>) -> tensor<128x{rows}xf32>
      %2 = stablehlo.dot_general %1, %y, contracting_dims = [1] x [0]
        : (tensor<128x{rows}xf32>, tensor<{rows}xf32>) -> tensor<128xf32>
      return %2 : tensor<128xf32>
    }}"""
    assert propagate(Program.parse(text)).memory("h100").estimate.temporaries == size
