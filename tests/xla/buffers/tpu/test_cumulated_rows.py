"""Cumulative sums of rows that are split: programs with the temporaries that XLA:TPU allocates on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.needed_orders import cumulated_order

_NEAR = 128 << 10
"""The bytes of totals of rows, which are in rows of 128 themselves from 128 on."""


def _cumulated(shape: tuple[int, int], dimension: int) -> str:
    type_, size = f"tensor<{shape[0]}x{shape[1]}xf32>", shape[dimension]
    windows, padding = ("1", f"{size}"), ("[0, 0]", f"[{size - 1}, 0]")
    order = slice(None) if dimension else slice(None, None, -1)
    return f"""
    func.func @main(%x: {type_}) -> {type_} {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.reduce_window"(%x, %zero) <{{
        window_dimensions = array<i64: {", ".join(windows[order])}>,
        padding = dense<[{", ".join(padding[order])}]> : tensor<2x2xi64>}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }}) : ({type_}, tensor<f32>) -> {type_}
      return %0 : {type_}
    }}"""


@pytest.mark.parametrize(
    ("shape", "dimension", "allocated"),
    [
        ((32, 12800), 1, 3440608),  # 100 rows of 128 in sublanes, padded to 104: as they are split
        ((32, 32000), 1, 8388608),  # 250 in lanes, padded to 256: rows, then a copy of them
        ((256, 12800), 1, 13631488),  # 256 in lanes: one copy into columns, which windows take in
        ((256, 20480), 1, 67108864),  # 160 in lanes, though 256 would need no padding
        ((32000, 512), 0, 134217728),  # a copy of the transpose, of which 512 are in lanes
    ],
)
def test_windows_read_a_copy_of_rows(shape: tuple[int, int], dimension: int, allocated: int) -> None:
    result = propagate(Program.parse(_cumulated(shape, dimension), as_compiled=True), progress=False)
    assert abs(result.memory("tpu-v5p").estimate.temporaries - allocated) <= _NEAR


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((256, 96, 128), (0, 1, 2)),
        ((256, 160, 128), (1, 0, 2)),
        ((32, 100, 128), (2, 1, 0)),
        ((32, 2, 128), (2, 0, 1)),
        ((256, 2, 128), (0, 1, 2)),
        ((16, 96, 250, 128), (2, 1, 3, 0)),
        ((16, 96, 2, 128), (3, 1, 2, 0)),
    ],
)
def test_lanes_are_the_last_other_dimension_that_fills_them(
    shape: tuple[int, ...], order: tuple[int, ...]
) -> None:
    assert cumulated_order(TensorType(shape), len(shape) - 1).minor_to_major == order
