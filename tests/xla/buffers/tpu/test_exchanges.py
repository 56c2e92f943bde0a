"""Programs that exchange pieces, with the temporaries that XLA:TPU allocates for them on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_MESH = 'sdy.mesh @mesh = <["x"=8]>\n'


def _sharded(*dimensions: str) -> str:
    axes = ", ".join(f"{{{axis}}}" for axis in dimensions)
    return f"<@mesh, [{axes}]>"


def _resharded(shape: str, given: str, made: str) -> str:
    """A program that reshards what it is given, and computes cosines of it."""
    return f"""
    func.func @main(%x: tensor<{shape}> {{sdy.sharding = #sdy.sharding{given}}})
        -> (tensor<{shape}> {{sdy.sharding = #sdy.sharding{made}}}) {{
      %0 = stablehlo.cosine %x : tensor<{shape}>
      return %0 : tensor<{shape}>
    }}"""


def _exchanged(shape: str, local: str, split: int) -> str:
    """A program that exchanges pieces of a dimension, which it gathers along that dimension, too."""
    rows = _sharded('"x"', "", "")
    return f"""
    func.func @main(%x: tensor<{shape}> {{sdy.sharding = #sdy.sharding{rows}}})
        -> (tensor<{shape}> {{sdy.sharding = #sdy.sharding{rows}}}) {{
      %0 = sdy.manual_computation(%x) in_shardings=[{rows}] out_shardings=[{rows}] manual_axes={{"x"}}
          (%y: tensor<{local}>) {{
        %1 = "stablehlo.all_to_all"(%y) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
          concat_dimension = {split} : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> :
          tensor<1x8xi64>, split_count = 8 : i64, split_dimension = {split} : i64}}>
          : (tensor<{local}>) -> tensor<{local}>
        sdy.return %1 : tensor<{local}>
      }} : (tensor<{shape}>) -> tensor<{shape}>
      return %0 : tensor<{shape}>
    }}"""


_FIRST, _SECOND, _LAST = _sharded('"x"', "", ""), _sharded("", '"x"', ""), _sharded("", "", '"x"')


@pytest.mark.parametrize(
    ("text", "allocated"),
    [
        # What is put together of pieces is copied from VMEM.
        (_resharded("512x256xf32", _sharded('"x"', ""), _sharded("", '"x"')), 131072),
        # The dimension in lanes is another one first, then pieces of it are the most major ones.
        (_resharded("64x128x128xf32", _FIRST, _LAST), 1048576),
        # Pieces of half a tile are in tiles of their own first.
        (_resharded("64x32x256xf32", _FIRST, _SECOND), 524288),
        # Both are of one dimension.
        (_exchanged("64x8x32xf32", "8x8x32xf32", 0), 49152),
        (_exchanged("64x8x32xbf16", "8x8x32xbf16", 1), 45056),
    ],
)
def test_temporaries_are_as_allocated(text: str, allocated: int) -> None:
    result = propagate(Program.parse(_MESH + text, as_compiled=True), progress=False)
    assert result.memory("tpu-v5p").estimate.temporaries == allocated
