"""Which argument is copied into VMEM before a program starts, beside what XLA:TPU copies on v5p."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shardy_py import Program, propagate
from shardy_py.xla.buffers import copying
from shardy_py.xla.buffers.copied_before import copied_before
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.stored import StoredBlock
from shardy_py.xla.spmd.program import Name

_SCALED = """
func.func @main(%x: tensor<1024x128xf32>, %s: tensor<1024x128xf32>, %w: tensor<128x128xf32>)
    -> tensor<1024x128xf32> {
  %0 = stablehlo.tanh %x : tensor<1024x128xf32>
  %1 = stablehlo.multiply %0, %s : tensor<1024x128xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
    : (tensor<1024x128xf32>, tensor<128x128xf32>) -> tensor<1024x128xf32>
  %3 = stablehlo.tanh %2 : tensor<1024x128xf32>
  return %3 : tensor<1024x128xf32>
}"""
"""The product is computed with what scales its operand, which is larger than its weights."""
_ROWS = """
func.func @main(%t: tensor<4096x128xf32>, %i: tensor<1024x1xi32>, %w: tensor<128x512xf32>)
    -> tensor<1024x512xf32> {
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 128>}> : (tensor<4096x128xf32>, tensor<1024x1xi32>) -> tensor<1024x128xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
    : (tensor<1024x128xf32>, tensor<128x512xf32>) -> tensor<1024x512xf32>
  %2 = stablehlo.tanh %1 : tensor<1024x512xf32>
  return %2 : tensor<1024x512xf32>
}"""
"""Rows of a table that is larger than the weights."""


def _normed(width: int, hidden: int) -> str:
    """Two products with weights as large; the sum between them keeps them apart."""
    given, made = f"tensor<1024x{width}xf32>", f"tensor<1024x{hidden}xf32>"
    weights = f"tensor<{width}x{hidden}xf32>", f"tensor<{hidden}x{width}xf32>"
    return f"""
    func.func @main(%x: {given}, %w: {weights[0]}, %v: {weights[1]}) -> {given} {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.tanh %x : {given}
      %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : ({given}, {weights[0]}) -> {made}
      %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1]
        : ({made}, tensor<f32>) -> tensor<1024xf32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<1024xf32>) -> {made}
      %4 = stablehlo.divide %1, %3 : {made}
      %5 = stablehlo.dot_general %4, %v, contracting_dims = [1] x [0] : ({made}, {weights[1]}) -> {given}
      %6 = stablehlo.tanh %5 : {given}
      return %6 : {given}
    }}"""


@pytest.mark.parametrize(
    ("text", "argument"),
    [(_SCALED, 2), (_ROWS, 0), (_normed(128, 512), 1), (_normed(512, 128), 2)],
    ids=["scaled", "rows", "wider", "narrower"],
)
def test_the_largest_weights_or_table_are_copied(
    text: str, argument: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two as large those of which more is made."""
    found: list[int] = []

    def noted(block: StoredBlock, events: Sequence[Event], room: int) -> list[Name]:
        names = copied_before(block, events, room)
        found.extend([each.name for each in block.block.arguments].index(name) for name in names)
        return names

    monkeypatch.setattr(copying, "copied_before", noted)
    _ = propagate(Program.parse(text, as_compiled=True), progress=False).memory("tpu-v5p").estimate
    assert {*found} == {argument}
