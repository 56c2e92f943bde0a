"""Programs that slice, pad and join values, with the temporaries that XLA:TPU allocates for them on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_MESH = 'sdy.mesh @mesh = <["x"=8]>\n'
_CUBES = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}'
_ADDRESSES = 64
"""The bytes of tuples themselves, which XLA counts once and the forecast not at all."""


def _temporaries(text: str) -> int:
    result = propagate(Program.parse(_MESH + text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


def _summed(body: str, shape: str, dimension: int, made: str, given: str = "24x512x1024xf32") -> str:
    """A program that sums what `body` makes of %x, and of %y, as %joined."""
    cubes = f"tensor<{given}> {_CUBES}"
    return f"""
    func.func @main(%x: {cubes}, %y: {cubes})
        -> (tensor<{made}> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      {body}
      %sum = stablehlo.reduce(%joined init: %zero) applies stablehlo.add across dimensions = [{dimension}]
        : (tensor<{shape}>, tensor<f32>) -> tensor<{made}>
      return %sum : tensor<{made}>
    }}"""


def _rolled(amount: int, dimension: int, *, is_added: bool = False) -> str:
    """A program that moves the end of 64x512x1024xf32 to its front."""
    whole = [64, 512, 1024]
    at = whole[dimension] - amount

    def slice_of(name: str, start: int, end: int) -> str:
        own = [(0, 64), (0, 512), (0, 1024)]
        own[dimension] = (start, end)
        ranges = ", ".join(f"{first}:{last}" for first, last in own)
        shape = "x".join(str(last - first) for first, last in own)
        return f"%{name} = stablehlo.slice %x [{ranges}] : (tensor<64x512x1024xf32>) -> tensor<{shape}xf32>"

    shapes = [[*whole], [*whole]]
    shapes[0][dimension], shapes[1][dimension] = amount, at
    types = ", ".join(f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in shapes)
    add = "stablehlo.add %r, %x : tensor<64x512x1024xf32>"
    return f"""
    func.func @main(%x: tensor<64x512x1024xf32> {_CUBES}) -> (tensor<64x512x1024xf32> {_CUBES}) {{
      {slice_of("end", at, whole[dimension])}
      {slice_of("front", 0, at)}
      %r = stablehlo.concatenate %end, %front, dim = {dimension} : ({types}) -> tensor<64x512x1024xf32>
      {"%s = " + add if is_added else ""}
      return {"%s" if is_added else "%r"} : tensor<64x512x1024xf32>
    }}"""


PADDED = """%sine = stablehlo.sine %x : tensor<24x512x1024xf32>
      %joined = stablehlo.pad %sine, %zero, low = [0, 3, 0], high = [0, 0, 0], interior = [0, 0, 0]
        : (tensor<24x512x1024xf32>, tensor<f32>) -> tensor<24x515x1024xf32>"""
SLICED_TWICE = """%added = stablehlo.add %x, %y : tensor<24x512x1024xf32>
      %a = stablehlo.slice %added [0:24, 3:512, 0:1024] : (tensor<24x512x1024xf32>) -> tensor<24x509x1024xf32>
      %b = stablehlo.slice %added [0:24, 0:509, 0:1024] : (tensor<24x512x1024xf32>) -> tensor<24x509x1024xf32>
      %joined = stablehlo.multiply %a, %b : tensor<24x509x1024xf32>"""


@pytest.mark.parametrize(
    ("text", "allocated"),
    [
        # A pad does not take in what makes its operand.
        (_summed(PADDED, "24x515x1024xf32", 2, "24x515xf32"), 6291456),
        # What two slices would compute again is stored.
        (_summed(SLICED_TWICE, "24x509x1024xf32", 2, "24x509xf32"), 6291456),
        # The first part is read where it is, the other one is within tiles.
        (_rolled(8, 2), 2097152),
        (_rolled(3, 1, is_added=True), 131072),
        # Slices of whole tiles are copied into VMEM.
        (_rolled(8, 1), 0),
        # What is put beside others is not in the memory of their sum.
        (_rolled(509, 1, is_added=True), 16842688),
    ],
)
def test_temporaries_are_as_allocated(text: str, allocated: int) -> None:
    assert abs(_temporaries(text) - allocated) <= _ADDRESSES


def test_rotations_are_of_pieces_of_what_a_device_holds() -> None:
    """XLA slices the last rows, which are sent; what a device keeps is read where it is."""
    rows = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
    text = f"""
    func.func @main(%x: tensor<8192x1024xf32> {rows}) -> (tensor<8192x1024xf32> {rows}) {{
      %0 = stablehlo.slice %x [8189:8192, 0:1024] : (tensor<8192x1024xf32>) -> tensor<3x1024xf32>
      %1 = stablehlo.slice %x [0:8189, 0:1024] : (tensor<8192x1024xf32>) -> tensor<8189x1024xf32>
      %2 = stablehlo.concatenate %0, %1, dim = 0
        : (tensor<3x1024xf32>, tensor<8189x1024xf32>) -> tensor<8192x1024xf32>
      return %2 : tensor<8192x1024xf32>
    }}"""
    assert abs(_temporaries(text) - 49120) <= _ADDRESSES


def test_loops_replace_in_vmem_what_they_copy_first() -> None:
    """XLA allocates 225,152 bytes: a copy of what is replaced, and addresses."""
    rows = '<@mesh, [{"x"}, {}]>'
    pairs = ", ".join(f"[{i}, {(i + 1) % 8}]" for i in range(8))
    text = f"""
    func.func @main(%x: tensor<1024x512xf32> {{sdy.sharding = #sdy.sharding{rows}}})
        -> (tensor<1024x512xf32> {{sdy.sharding = #sdy.sharding{rows}}}) {{
      %0 = sdy.manual_computation(%x) in_shardings=[{rows}] out_shardings=[{rows}] manual_axes={{"x"}}
          (%y: tensor<128x512xf32>) {{
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %six = stablehlo.constant dense<6> : tensor<i32>
        %1:2 = stablehlo.while(%i = %zero, %v = %y) : tensor<i32>, tensor<128x512xf32>
        cond {{
          %2 = stablehlo.compare LT, %i, %six, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %2 : tensor<i1>
        }} do {{
          %2 = stablehlo.slice %v [127:128, 0:512] : (tensor<128x512xf32>) -> tensor<1x512xf32>
          %3 = "stablehlo.collective_permute"(%2) <{{
            channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
            source_target_pairs = dense<[{pairs}]> : tensor<8x2xi64>}}>
              : (tensor<1x512xf32>) -> tensor<1x512xf32>
          %4 = stablehlo.concatenate %3, %v, dim = 0
            : (tensor<1x512xf32>, tensor<128x512xf32>) -> tensor<129x512xf32>
          %5 = stablehlo.slice %4 [0:128, 0:512] : (tensor<129x512xf32>) -> tensor<128x512xf32>
          %half = stablehlo.constant dense<0.5> : tensor<f32>
          %halves = stablehlo.broadcast_in_dim %half, dims = [] : (tensor<f32>) -> tensor<128x512xf32>
          %6 = stablehlo.multiply %v, %halves : tensor<128x512xf32>
          %7 = stablehlo.add %5, %6 : tensor<128x512xf32>
          %8 = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %8, %7 : tensor<i32>, tensor<128x512xf32>
        }}
        sdy.return %1#1 : tensor<128x512xf32>
      }} : (tensor<1024x512xf32>) -> tensor<1024x512xf32>
      return %0 : tensor<1024x512xf32>
    }}"""
    assert 225152 <= _temporaries(text) <= 225152 + (32 << 10) + 2 * _ADDRESSES
