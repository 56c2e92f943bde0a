"""Which values are in VMEM where any may be, beside what XLA:TPU allocated for v6e: no compiler runs.

Each program reads an argument of 128 MiB, so that not all of it fits into VMEM.
"""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_MIB = 1 << 20
_LESS = 0.85
"""The margin below what values without room in VMEM need in HBM (`partly_in_vmem.py`)."""
_ROWS, _WIDE = "tensor<4096x64xbf16>", "tensor<4096x8192xbf16>"
_LARGE = "tensor<8192x8192xbf16>"
_READ = f"""
  %none = stablehlo.constant dense<0.0> : tensor<bf16>
  %total = stablehlo.reduce(%large init: %none) applies stablehlo.add across dimensions = [0, 1]
    : ({_LARGE}, tensor<bf16>) -> tensor<bf16>"""


def _product(made: str, one: str, other: str, types: tuple[str, str, str], over: int = 1) -> str:
    held, read, result = types
    return (
        f"{made} = stablehlo.dot_general {one}, {other}, contracting_dims = [{over}] x [0] "
        f": ({held}, {read}) -> {result}"
    )


_HALF = "tensor<4096x5120xbf16>"
READ_OFTEN = f"""
func.func @main(%x: {_ROWS}, %w: tensor<64x8192xbf16>, %v: tensor<8192x64xbf16>, %u: tensor<64x5120xbf16>,
                %t: tensor<5120x64xbf16>, %large: {_LARGE})
    -> (tensor<64x8192xbf16>, tensor<5120x64xbf16>, tensor<bf16>) {{
  {_product("%a", "%x", "%w", (_ROWS, "tensor<64x8192xbf16>", _WIDE))}
  {_product("%c", "%a", "%v", (_WIDE, "tensor<8192x64xbf16>", _ROWS))}
  {_product("%0", "%c", "%u", (_ROWS, "tensor<64x5120xbf16>", _HALF))}
  %b = stablehlo.tanh %0 : {_HALF}
  {_product("%d", "%b", "%t", (_HALF, "tensor<5120x64xbf16>", _ROWS))}
  {_product("%h", "%b", "%d", (_HALF, _ROWS, "tensor<5120x64xbf16>"), 0)}
  {_product("%e", "%d", "%a", (_ROWS, _WIDE, "tensor<64x8192xbf16>"), 0)}
  {_READ}
  return %e, %h, %total : tensor<64x8192xbf16>, tensor<5120x64xbf16>, tensor<bf16>
}}"""
"""A value of 64 MiB that is needed for long, and one of 40 MiB: ops gain more from the first."""
UPDATED = f"""
func.func @main(%x: {_ROWS}, %w: tensor<64x8192xbf16>, %v: tensor<8192x64xbf16>, %p: tensor<8x8192xbf16>,
                %large: {_LARGE}) -> ({_ROWS}, tensor<bf16>) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  {_product("%0", "%x", "%w", (_ROWS, "tensor<64x8192xbf16>", _WIDE))}
  %a = stablehlo.tanh %0 : {_WIDE}
  %b = stablehlo.dynamic_update_slice %a, %p, %zero, %zero
    : ({_WIDE}, tensor<8x8192xbf16>, tensor<i32>, tensor<i32>) -> {_WIDE}
  {_product("%c", "%b", "%v", (_WIDE, "tensor<8192x64xbf16>", _ROWS))}
  {_READ}
  return %c, %total : {_ROWS}, tensor<bf16>
}}"""
"""A value of 64 MiB before and after an update, in one place."""


def _multiplied_at_the_end(inner: int, element: str) -> str:
    """A value of 72 MiB beside an argument of 32 MiB that only a product reads, which may round it before."""
    wide, narrow = "tensor<4096x9216xbf16>", f"tensor<4096x{inner}xbf16>"
    given, factor = f"tensor<{inner}x8192x{element}>", f"tensor<{inner}x8192xbf16>"
    kept = f"tensor<{inner}x9216xbf16>"
    rounded = "" if element == "bf16" else f"%r = stablehlo.convert %w : ({given}) -> {factor}"
    return f"""
    func.func @main(%x: {_ROWS}, %u: tensor<64x9216xbf16>, %v: tensor<9216x{inner}xbf16>, %w: {given},
                    %large: {_LARGE}) -> ({_WIDE}, {kept}, tensor<bf16>) {{
      {_product("%a", "%x", "%u", (_ROWS, "tensor<64x9216xbf16>", wide))}
      {_product("%c", "%a", "%v", (wide, f"tensor<9216x{inner}xbf16>", narrow))}
      {rounded}
      {_product("%d", "%c", "%r" if rounded else "%w", (narrow, factor, _WIDE))}
      {_product("%e", "%c", "%a", (narrow, wide, kept), 0)}
      {_READ}
      return %d, %e, %total : {_WIDE}, {kept}, tensor<bf16>
    }}"""


_SQUARE, _SMALL = "tensor<4096x4096xf32>", "tensor<256x4096xf32>"


def _loop(of: str, start: str) -> str:
    """Eight iterations that add an argument to a sum, from zeros on."""
    return f"""
      %{of}:3 = stablehlo.while(%i = %first, %h = {start}, %s = %zeros) : tensor<i32>, {_SMALL}, {_SQUARE}
      cond {{
        %n = stablehlo.constant dense<8> : tensor<i32>
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }} do {{
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        {_product("%0", "%h", "%w", (_SMALL, _SQUARE, _SMALL))}
        %k = stablehlo.tanh %0 : {_SMALL}
        %part = stablehlo.slice %k [0:1, 0:4096] : ({_SMALL}) -> tensor<1x4096xf32>
        %rows = stablehlo.broadcast_in_dim %part, dims = [0, 1] : (tensor<1x4096xf32>) -> {_SQUARE}
        %1 = stablehlo.multiply %v, %rows : {_SQUARE}
        %t = stablehlo.add %s, %1 : {_SQUARE}
        stablehlo.return %j, %k, %t : tensor<i32>, {_SMALL}, {_SQUARE}
      }}"""


FROM_ZEROS = f"""
func.func @main(%x: {_SMALL}, %w: {_SQUARE}, %v: {_SQUARE}) -> ({_SMALL}, {_SQUARE}) {{
  %first = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<f32>) -> {_SQUARE}
  {_loop("a", "%x")}
  {_loop("b", "%a#1")}
  %sine = stablehlo.sine %a#2 : {_SQUARE}
  %cosine = stablehlo.cosine %b#2 : {_SQUARE}
  {_product("%2", "%sine", "%cosine", (_SQUARE, _SQUARE, _SQUARE))}
  return %b#1, %2 : {_SMALL}, {_SQUARE}
}}"""
"""Two sums of 64 MiB that loops begin with the same zeros."""


_HALVED = "tensor<4096x4096xbf16>"


def _rounded_loop(of: str, read: str, added: str) -> str:
    """Eight iterations that multiply what they carry, from zeros on."""
    return f"""
      %{of}:2 = stablehlo.while(%i = %first, %h = %zeros) : tensor<i32>, {_SQUARE}
      cond {{
        %n = stablehlo.constant dense<8> : tensor<i32>
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }} do {{
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        {_product("%0", "%h", read, (_SQUARE, _HALVED, _SQUARE))}
        %1 = stablehlo.add %0, {added} : {_SQUARE}
        %k = stablehlo.tanh %1 : {_SQUARE}
        stablehlo.return %j, %k : tensor<i32>, {_SQUARE}
      }}"""


ROUNDED = f"""
func.func @main(%w: {_HALVED}, %v: {_HALVED}, %b: {_SQUARE}, %x: {_SMALL}) -> ({_SMALL}, {_SMALL}) {{
  %first = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<f32>) -> {_SQUARE}
  {_rounded_loop("a", "%w", "%b")}
  {_rounded_loop("c", "%v", "%b")}
  {_product("%2", "%x", "%a#1", (_SMALL, _SQUARE, _SMALL))}
  {_product("%3", "%x", "%c#1", (_SMALL, _SQUARE, _SMALL))}
  return %2, %3 : {_SMALL}, {_SMALL}
}}"""


_IMAGES, _KERNEL = "tensor<32x64x64x256xbf16>", "tensor<3x3x256x256xbf16>"
CONVOLVED = f"""
func.func @main(%x: {_IMAGES}, %w: {_KERNEL}) -> {_IMAGES} {{
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : ({_IMAGES}, {_KERNEL}) -> {_IMAGES}
  return %0 : {_IMAGES}
}}"""
"""A convolution of which XLA:TPU for v6e copies the kernel before the program starts, not the image."""


def _least(text: str) -> float:
    """The MiB in HBM if all values that have room are in VMEM."""
    estimate = propagate(Program.parse(text, as_compiled=True), progress=False).memory("tpu-v6e").estimate
    assert estimate is not None
    return (estimate.temporaries - estimate.in_vmem) / _MIB


@pytest.mark.parametrize(
    ("text", "allocated"),
    [
        pytest.param(READ_OFTEN, 40, id="read_often"),
        pytest.param(UPDATED, 0, id="updated"),
        pytest.param(CONVOLVED, 0, id="convolved"),
        pytest.param(_multiplied_at_the_end(2048, "bf16"), 72, id="argument_copied_before"),
        pytest.param(_multiplied_at_the_end(1024, "f32"), 0, id="argument_rounded_before_it_is_multiplied"),
    ],
)
def test_what_has_no_room_is_as_allocated(text: str, allocated: int) -> None:
    assert _least(text) == pytest.approx(_LESS * allocated, abs=0.5)


def test_what_loops_replace_comes_before_what_they_read() -> None:
    """One of two sums is in VMEM; what each adds is read in HBM. XLA:TPU allocates 128 MiB."""
    assert _least(FROM_ZEROS) <= _LESS * 128


def test_loops_begin_with_zeros_of_their_own() -> None:
    """XLA:TPU allocates 200 MiB for v5p: two sums, a result and a product; zeros have no memory beside."""
    result = propagate(Program.parse(FROM_ZEROS, as_compiled=True), progress=False)
    estimate = result.memory("tpu-v5p").estimate
    assert estimate is not None
    assert estimate.temporaries / _MIB == pytest.approx(200, abs=1)


def test_zeros_of_a_loop_are_rounded_as_it_carries_them() -> None:
    """What both loops carry is only multiplied, thus in bf16. XLA:TPU allocates 64 MiB for v5p."""
    result = propagate(Program.parse(ROUNDED, as_compiled=True), progress=False)
    estimate = result.memory("tpu-v5p").estimate
    assert estimate is not None
    assert estimate.temporaries / _MIB == pytest.approx(64, abs=1)
