"""Collectives of equal ops: XLA:GPU and XLA:CPU tell them apart by their channels, unlike XLA:TPU."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_ROLL = """
  %head{n} = stablehlo.slice %x [0:63, 0:16] : (tensor<64x16xf32>) -> tensor<63x16xf32>
  %tail{n} = stablehlo.slice %x [63:64, 0:16] : (tensor<64x16xf32>) -> tensor<1x16xf32>
  %roll{n} = stablehlo.concatenate %tail{n}, %head{n}, dim = 0
    : (tensor<1x16xf32>, tensor<63x16xf32>) -> tensor<64x16xf32>"""
_ROLLS = f"""
sdy.mesh @mesh = <["x"=8]>
func.func @main(%x: tensor<64x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}})
    -> tensor<64x16xf32> {{{_ROLL.format(n=0)}{_ROLL.format(n=1)}
  %sine = stablehlo.sine %roll0 : tensor<64x16xf32>
  %cosine = stablehlo.cosine %roll1 : tensor<64x16xf32>
  %sum = stablehlo.add %sine, %cosine : tensor<64x16xf32>
  return %sum : tensor<64x16xf32>
}}"""
_PERMUTE = """
      %p{n} = "stablehlo.collective_permute"(%a) <{{
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}}>
        : (tensor<16x16xf32>) -> tensor<16x16xf32>"""
_WRITTEN = f"""
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<64x16xf32>) -> tensor<64x16xf32> {{
  %0 = sdy.manual_computation(%x)
      in_shardings=[<@mesh, [{{"x"}}, {{}}]>] out_shardings=[<@mesh, [{{"x"}}, {{}}]>]
      manual_axes={{"x"}} (%a: tensor<16x16xf32>) {{{_PERMUTE.format(n=0)}{_PERMUTE.format(n=1)}
      %sine = stablehlo.sine %p0 : tensor<16x16xf32>
      %sum = stablehlo.add %sine, %p1 : tensor<16x16xf32>
      sdy.return %sum : tensor<16x16xf32>
  }} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}}"""


def _permuted_bytes(text: str, target: str) -> int:
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    sending = result.communication(target=target).sending
    return sum(use.held_bytes for use in sending if use.kind == "collective_permute")


@pytest.mark.parametrize(("target", "rows"), [("cpu", 2), ("h100", 2), ("tpu-v5p", 1)])
def test_equal_rolls_are_sent_for_each_but_on_tpus(target: str, rows: int) -> None:
    """As all three compile it: two permutes of a row, on GPUs in one op, or one."""
    assert _permuted_bytes(_ROLLS, target) == rows * 16 * 4


@pytest.mark.parametrize("target", ["h100", "tpu-v5p"])
def test_equal_permutes_of_one_channel_are_one(target: str) -> None:
    """Those that a program has itself, as JAX writes them."""
    assert _permuted_bytes(_WRITTEN, target) == 16 * 16 * 4
