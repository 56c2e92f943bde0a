"""Programs with the temporaries that XLA:TPU allocates for them on v5p, but for 64 bytes of tuples."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.buffers.storing import StoringKind

_MESH = 'sdy.mesh @mesh = <["x"=4, "y"=2]>\n'
_BOTH = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}'
_ALL_ROWS = '{sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}'
_WHOLE = "{sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}"


def _temporaries(text: str) -> int:
    result = propagate(Program.parse(_MESH + text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


PART = f"""
func.func @main(%x: tensor<64x128xf32> {_WHOLE}) -> tensor<64x128xf32> {{
  %0 = stablehlo.tanh %x : tensor<64x128xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{{"x"}}, {{"y"}}]> : tensor<64x128xf32>
  return %1 : tensor<64x128xf32>
}}"""
"""A device looks up where its part begins in two tables, which are fetched."""
SORT = f"""
func.func @main(%x: tensor<1024x48xf32> {_ALL_ROWS}) -> (tensor<1024x48xf32> {_ALL_ROWS}) {{
  %0 = stablehlo.iota dim = 1 : tensor<1024x48xi32>
  %1:2 = "stablehlo.sort"(%x, %0) <{{dimension = 1 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %2 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }}) : (tensor<1024x48xf32>, tensor<1024x48xi32>) -> (tensor<1024x48xf32>, tensor<1024x48xi32>)
  return %1#0 : tensor<1024x48xf32>
}}"""


@pytest.mark.parametrize(("text", "allocated"), [(PART, 129984), (SORT, 106432)], ids=["part", "sort"])
def test_temporaries_are_as_allocated(text: str, allocated: int) -> None:
    assert abs(_temporaries(text) - allocated) <= 64


def test_parts_of_broadcasts_are_not_looked_up() -> None:
    """XLA slices nothing that is one element everywhere."""
    text = f"""
    func.func @main(%x: tensor<64x128xf32> {_BOTH}) -> (tensor<64x128xf32> {_BOTH}) {{
      %c = stablehlo.constant dense<2.0> : tensor<f32>
      %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
      %1 = stablehlo.add %x, %0 : tensor<64x128xf32>
      return %1 : tensor<64x128xf32>
    }}"""
    assert _temporaries(text) == 0


def test_skipped_elements_of_tiles_are_sliced_alone() -> None:
    """Steps of slices within tiles, and elements that pads put between others, are not fused."""

    def is_alone(name: str, **attributes: object) -> bool:
        made = TensorType((4, 256, 1024), "f32")
        return StoringKind.of(OpRecord(name, (made,), (made,), attributes)).is_alone_on_tpu

    assert is_alone("stablehlo.slice", strides=(1, 2, 1))
    assert not is_alone("stablehlo.slice", strides=(2, 1, 1))
    assert is_alone("stablehlo.pad", interior_padding=(1, 0, 0))
    assert not is_alone("stablehlo.pad", interior_padding=(0, 0, 0))
