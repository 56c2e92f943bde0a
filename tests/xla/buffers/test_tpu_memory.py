"""What XLA:TPU stores of small programs, by rule: no compiler runs.

What it allocates for many programs is compared by `on_targets.py`.
"""

from __future__ import annotations

from shardy_py import Program, propagate

MIB = 1 << 20
_MESH = 'sdy.mesh @mesh = <["x"=4]>'
_ROWS = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
_WHOLE = "{sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}"
_SQUARE = "tensor<1024x1024xf32>"


def _temporaries(text: str, target: str = "tpu-v5p") -> float:
    """The temporaries of a program on each device, in MiB, but for addresses of tuples (32 KiB each)."""
    result = propagate(Program.parse(f"{_MESH}\n{text}", as_compiled=True), progress=False)
    return round(result.memory(target).estimate.temporaries / MIB, 1)


def _dot(left: str, right: str) -> str:
    types = f"({_SQUARE}, {_SQUARE}) -> {_SQUARE}"
    return f"stablehlo.dot_general {left}, {right}, contracting_dims = [1] x [0] : {types}"


def _chain(middle: str, precision: str = "") -> str:
    """Two products of whole matrices of 4 MiB, with lines between."""
    last = _dot("%1", "%w").replace("[0] :", f"[0]{precision} :")
    return f"""
    func.func @main(%x: {_SQUARE}, %w: {_SQUARE}) -> {_SQUARE} {{
      %0 = {_dot("%x", "%w")}
      {middle}
      %2 = {last}
      return %2 : {_SQUARE}
    }}"""


_TANH = f"%1 = stablehlo.tanh %0 : {_SQUARE}"


def test_what_only_products_read_is_of_bf16() -> None:
    """And the tanh is computed with the first product, so that this is not stored in f32."""
    assert _temporaries(_chain(_TANH)) == 2
    assert _temporaries(_chain(_TANH, ", precision = [HIGHEST, HIGHEST]")) == 4


def test_a_product_takes_what_makes_its_operand() -> None:
    """An exponential of an argument is computed in both products that read it."""
    text = f"""
    func.func @main(%x: {_SQUARE}, %w: {_SQUARE}) -> ({_SQUARE}, {_SQUARE}) {{
      %0 = stablehlo.exponential %x : {_SQUARE}
      %1 = {_dot("%0", "%w")}
      %2 = {_dot("%w", "%0")}
      return %1, %2 : {_SQUARE}, {_SQUARE}
    }}"""
    assert _temporaries(text) == 0


def _gathered(lines: str) -> str:
    return f"""
    func.func @main(%x: {_SQUARE} {_ROWS}) -> ({_SQUARE} {_WHOLE}) {{
      %0 = sdy.sharding_constraint %x <@mesh, [{{}}, {{}}]> : {_SQUARE}
      {lines}
    }}"""


def test_what_is_gathered_is_not_in_the_memory_of_results() -> None:
    assert _temporaries(_gathered(f"return %0 : {_SQUARE}")) == 4
    applied = f"%1 = stablehlo.sine %0 : {_SQUARE} return %1 : {_SQUARE}"
    assert _temporaries(_gathered(applied)) == 4


def test_fusions_of_v5p_are_in_vmem() -> None:
    """What one op makes of what is gathered is in HBM, what two do is not."""
    one = f"%1 = stablehlo.tanh %0 : {_SQUARE} "
    two = f"{one} %2 = stablehlo.multiply %1, %0 : {_SQUARE} "
    end = f"%3 = stablehlo.cholesky %{{}}, lower = true : {_SQUARE} return %3 : {_SQUARE}"
    assert _temporaries(_gathered(one + end.format(1))) == 8
    assert _temporaries(_gathered(two + end.format(2))) == 4
    assert _temporaries(_gathered(two + end.format(2)), "tpu7x") == 8


_LOOP = """
func.func @main(%w: tensor<8x512x512xf32>, %x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %h = %x, %v = %w)
      : tensor<i32>, tensor<512x512xf32>, tensor<8x512x512xf32>
  cond {
    %end = stablehlo.constant dense<8> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.dynamic_slice %v, %i, %none, %none, sizes = [1, 512, 512]
        : (tensor<8x512x512xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x512x512xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x512x512xf32>) -> tensor<512x512xf32>
    %4 = stablehlo.dot_general %h, %3, contracting_dims = [1] x [0]PRECISION
        : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %5 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %5, %4, %v : tensor<i32>, tensor<512x512xf32>, tensor<8x512x512xf32>
  }
  return %0#1 : tensor<512x512xf32>
}
"""


def test_what_loops_round_is_converted_before() -> None:
    """The stacked weights are 8 MiB in f32, and 4 MiB in the bf16 that the loop reads."""
    exact = _temporaries(_LOOP.replace("PRECISION", ", precision = [HIGHEST, HIGHEST]"))
    rounded = _temporaries(_LOOP.replace("PRECISION", ""))
    assert 3 < rounded - exact < 5
