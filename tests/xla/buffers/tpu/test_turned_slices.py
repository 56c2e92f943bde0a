"""Copies in other orders, of slices of one value and of rows put together: as XLA:TPU allocates on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_MESH = 'sdy.mesh @mesh = <["x"=8]>\n'
_NEAR = 64 << 10


def _temporaries(text: str) -> int:
    result = propagate(Program.parse(_MESH + text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


def _selected(axis: str) -> str:
    """A program that selects the largest of rows that are put together of 4 each."""
    held = f"{{sdy.sharding = #sdy.sharding<@mesh, [{{{axis}}}, {{}}, {{}}]>}}"
    scores = f"{{sdy.sharding = #sdy.sharding<@mesh, [{{{axis}}}, {{}}]>}}"
    rows = 32 if axis else 4
    x, y, k = f"tensor<{rows}x4x4096xf32>", f"tensor<{rows}x4xf32>", f"tensor<{rows}x16384xf32>"
    return f"""
    func.func @main(%x: {x} {held}, %y: {y} {scores}) -> ({y}, tensor<{rows}x4xi32>) {{
      %0 = stablehlo.broadcast_in_dim %y, dims = [0, 1] : ({y}) -> {x}
      %1 = stablehlo.add %x, %0 : {x}
      %2 = stablehlo.reshape %1 : ({x}) -> {k}
      %values, %indices = chlo.top_k(%2, k = 4) : {k} -> ({y}, tensor<{rows}x4xi32>)
      return %values, %indices : {y}, tensor<{rows}x4xi32>
    }}"""


def test_the_largest_of_rows_put_together_are_selected_in_columns() -> None:
    """Of 4 rows of 16384 elements each fills one of 128 lanes; the sum is in VMEM."""
    assert abs(_temporaries(_selected('"x"')) - (8 << 20)) <= _NEAR


def test_what_is_not_sent_is_selected_in_rows() -> None:
    assert _temporaries(_selected("")) < 1 << 20


def _attention(heads: int) -> str:
    """Attention to keys and values that lie in one array along its dimension 2."""
    part, made = f"tensor<32x1024x1x{heads}x128xbf16>", f"tensor<32x1024x{heads}x128xbf16>"
    q, s = f"tensor<32x{heads}x4x128xbf16>", f"tensor<32x{heads}x4x1024xbf16>"
    stored = f"tensor<32x1024x2x{heads}x128xbf16>"
    return f"""
    func.func @main(%kv: {stored}, %q: {q}) -> {q} {{
      %0 = stablehlo.slice %kv [0:32, 0:1024, 0:1, 0:{heads}, 0:128] : ({stored}) -> {part}
      %k = stablehlo.reshape %0 : ({part}) -> {made}
      %s = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [3]
        : ({q}, {made}) -> {s}
      %1 = stablehlo.slice %kv [0:32, 0:1024, 1:2, 0:{heads}, 0:128] : ({stored}) -> {part}
      %v = stablehlo.reshape %1 : ({part}) -> {made}
      %y = stablehlo.dot_general %s, %v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1]
        : ({s}, {made}) -> {q}
      return %y : {q}
    }}"""


@pytest.mark.parametrize(("heads", "copied"), [(8, 128 << 20), (1, 16 << 20)])
def test_slices_that_products_read_share_a_copy(heads: int, copied: int) -> None:
    """In tiles of 8x128 or 2x128, of which products need those of 1024x128; scores take the rest."""
    scores = heads * (256 << 10)
    assert abs(_temporaries(_attention(heads)) - copied - scores) <= _NEAR
