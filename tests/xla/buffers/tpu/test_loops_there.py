"""What loops and slices have in VMEM: programs with the temporaries that XLA:TPU allocates on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_MESH = 'sdy.mesh @mesh = <["x"=4, "y"=2]>\n'
_ROWS = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
_WHOLE = "{sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}"
_LARGE, _SQUARE, _ROW = "tensor<256x128xf32>", "tensor<128x128xf32>", "tensor<128xf32>"


def _temporaries(text: str) -> int:
    result = propagate(Program.parse(_MESH + text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


def _loop(given: str, lines: str) -> str:
    """A loop of five iterations that replaces %x by the %new of some lines, which read %w, too."""
    return f"""
    func.func @main(%x0: {_LARGE} {_ROWS}, %w0: {given}) -> {_LARGE} {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0:3 = stablehlo.while(%w = %w0, %i = %zero, %x = %x0)
          : {given.split()[0]}, tensor<i32>, {_LARGE}
      cond {{
        %end = stablehlo.constant dense<5> : tensor<i32>
        %1 = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }} do {{
        {lines}
        %one = stablehlo.constant dense<1> : tensor<i32>
        %next = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %w, %next, %new : {given.split()[0]}, tensor<i32>, {_LARGE}
      }}
      return %0#2 : {_LARGE}
    }}"""


MADE_THERE = _loop(
    f"{_LARGE} {_ROWS}",
    f"""
    %a = stablehlo.multiply %x, %w : {_LARGE}
    %none = stablehlo.constant dense<0.0> : tensor<f32>
    %b = stablehlo.reduce(%a init: %none) applies stablehlo.add across dimensions = [0]
      : ({_LARGE}, tensor<f32>) -> {_ROW}
    %tenth = stablehlo.constant dense<0.1> : {_ROW}
    %s = stablehlo.multiply %tenth, %b : {_ROW}
    %d = stablehlo.broadcast_in_dim %s, dims = [1] : ({_ROW}) -> {_LARGE}
    %e = stablehlo.multiply %d, %x : {_LARGE}
    %new = stablehlo.subtract %x, %e : {_LARGE}""",
)
"""What is replaced, and what is read, is in VMEM: two fetches, the loop, and what writes the result."""
MADE_IN_HBM = _loop(
    f"{_SQUARE} {_WHOLE}",
    f"""
    %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST]
      : ({_LARGE}, {_SQUARE}) -> {_LARGE}
    %b = stablehlo.subtract %x, %a : {_LARGE}
    %c = stablehlo.tanh %b : {_LARGE}
    %new = stablehlo.add %c, %x : {_LARGE}""",
)
"""A product replaces what it reads in HBM; weights are fetched while what the loop starts with is copied."""


@pytest.mark.parametrize(
    ("text", "allocated"), [(MADE_THERE, 163200), (MADE_IN_HBM, 131008)], ids=["there", "in_hbm"]
)
def test_loops_keep_values_in_vmem(text: str, allocated: int) -> None:
    """But for the elements that count iterations, and 32 bytes of each address."""
    assert abs(_temporaries(text) - allocated) <= 512


def _sliced(rows: int) -> str:
    """Two products, and a sum of the first rows of another argument."""
    part = f"tensor<{rows}x128xf32>"
    product = "contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST]"
    types = f"({_SQUARE}, {_SQUARE}) -> {_SQUARE}"
    return f"""
    func.func @main(%x: {_SQUARE} {_WHOLE}, %y: {_SQUARE} {_WHOLE}) -> {_SQUARE} {{
      %0 = stablehlo.dot_general %y, %y, {product} : {types}
      %1 = stablehlo.dot_general %0, %y, {product} : {types}
      %2 = stablehlo.slice %x [0:{rows}, 0:128] : ({_SQUARE}) -> {part}
      %3 = stablehlo.slice %1 [0:1, 0:128] : ({_SQUARE}) -> tensor<1x128xf32>
      %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x128xf32>) -> {part}
      %5 = stablehlo.multiply %2, %4 : {part}
      %6 = stablehlo.exponential %5 : {part}
      %none = stablehlo.constant dense<0.0> : tensor<f32>
      %7 = stablehlo.reduce(%6 init: %none) applies stablehlo.add across dimensions = [0]
        : ({part}, tensor<f32>) -> {_ROW}
      %8 = stablehlo.broadcast_in_dim %7, dims = [1] : ({_ROW}) -> {_SQUARE}
      %9 = stablehlo.add %1, %8 : {_SQUARE}
      return %9 : {_SQUARE}
    }}"""


def test_what_is_read_for_less_than_half_is_not_fetched() -> None:
    """XLA:TPU fetches the sliced argument for 64 rows of 128, and not for 56: an address of 32 KiB more."""
    fewer, half = _temporaries(_sliced(56)), _temporaries(_sliced(64))
    assert half - fewer == 32 << 10


@pytest.mark.parametrize(("rows", "allocated"), [(1024, 4_292_512), (8192, 33_619_904)])
def test_what_the_condition_of_a_loop_reads_is_in_hbm(rows: int, allocated: int) -> None:
    """So it is copied there before it is replaced by what is made of another value."""
    type_ = f"tensor<{rows}x1024xf32>"
    text = f"""
    func.func @main(%a: {type_}, %b: {type_}) -> ({type_}, {type_}) {{
      %0:2 = stablehlo.while(%x = %a, %y = %b) : {type_}, {type_}
      cond {{
        %1 = stablehlo.slice %x [0:1, 0:1] : ({type_}) -> tensor<1x1xf32>
        %2 = stablehlo.reshape %1 : (tensor<1x1xf32>) -> tensor<f32>
        %end = stablehlo.constant dense<5.0> : tensor<f32>
        %3 = stablehlo.compare LT, %2, %end, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %3 : tensor<i1>
      }} do {{
        %one = stablehlo.constant dense<1.0> : {type_}
        %1 = stablehlo.add %y, %one : {type_}
        %2 = stablehlo.sine %x : {type_}
        stablehlo.return %1, %2 : {type_}, {type_}
      }}
      return %0#0, %0#1 : {type_}, {type_}
    }}"""
    assert _temporaries(text) == pytest.approx(allocated, rel=0.03)
