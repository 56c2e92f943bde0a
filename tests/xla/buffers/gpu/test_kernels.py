"""Which ops are one kernel on an H100, by the temporaries that XLA:GPU of jax 0.10.2 allocates."""

from __future__ import annotations

import pytest

from shardy_py.api import Program, propagate

MIB = 2**20


def temporaries(text: str) -> int:
    """The bytes of temporaries on an H100."""
    return propagate(Program.parse(text), progress=False).memory("h100").estimate.temporaries


def test_any_number_of_padded_values_is_added_up_in_one_kernel() -> None:
    count, row, whole = 20, "tensor<1x65536xf32>", "tensor<20x65536xf32>"
    lines = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>"]
    for n in range(count):
        lines += [
            f"%d{n} = stablehlo.add %x{n}, %x{n} : {row}",
            f"%p{n} = stablehlo.pad %d{n}, %zero, low = [{n}, 0], high = [{count - 1 - n}, 0], "
            f"interior = [0, 0] : ({row}, tensor<f32>) -> {whole}",
            f"%s{n} = stablehlo.add %{f's{n - 1}' if n else 'p0'}, %p{n} : {whole}",
        ]
    arguments = ", ".join(f"%x{n}: {row}" for n in range(count))
    ops = "\n".join(lines)
    assert (
        temporaries(f"func.func @main({arguments}) -> {whole} {{\n{ops}\nreturn %s{count - 1} : {whole}\n}}")
        == 0
    )


@pytest.mark.parametrize(
    ("op", "window", "size"),
    [
        ("tanh", 2, 32),
        ("exponential_minus_one", 2, 0),
        ("exponential_minus_one", 3, 32),
        ("exponential", 3, 0),
    ],
)
def test_windows_compute_what_they_read_for_each_place_again(op: str, window: int, size: int) -> None:
    type_ = "tensor<16x524288xf32>"
    text = f"""func.func @main(%x: {type_}) -> {type_} {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.{op} %x : {type_}
      %1 = "stablehlo.reduce_window"(%0, %zero) <{{window_dimensions = array<i64: {window}, 1>,
          padding = dense<[[0, {window - 1}], [0, 0]]> : tensor<2x2xi64>}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %2 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }}) : ({type_}, tensor<f32>) -> {type_}
      return %1 : {type_}
    }}"""
    assert temporaries(text) == size * MIB


def test_the_product_of_two_matrices_as_vectors_is_summed_up_in_one_kernel() -> None:
    text = """func.func @main(%x: tensor<1024x4096xf32>, %y: tensor<1024x4096xf32>) -> tensor<f32> {
      %0 = stablehlo.cosine %x : tensor<1024x4096xf32>
      %1 = stablehlo.reshape %0 : (tensor<1024x4096xf32>) -> tensor<4194304xf32>
      %2 = stablehlo.reshape %y : (tensor<1024x4096xf32>) -> tensor<4194304xf32>
      %3 = stablehlo.dot_general %1, %2, contracting_dims = [0] x [0]
        : (tensor<4194304xf32>, tensor<4194304xf32>) -> tensor<f32>
      return %3 : tensor<f32>
    }"""
    assert temporaries(text) < MIB
