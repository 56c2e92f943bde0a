"""Values of modules by path: `layers.0.mlp` is what ops outside of that module use."""

from __future__ import annotations

import pytest

from shardy_py import Program, ShardyError

TEXT = """
func.func @main(%x: tensor<8x8xf32> loc("x"), %w: tensor<8x8xf32> loc("up.weight")) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("mlp.up/linear"("m.py":3:1))
  %1 = stablehlo.tanh %0 : tensor<8x8xf32> loc("mlp/tanh"("m.py":4:1))
  %2 = stablehlo.add %1, %x : tensor<8x8xf32> loc("add"("m.py":5:1))
  %3 = stablehlo.multiply %0, %2 : tensor<8x8xf32> loc("mlp.up/mul backward"("m.py":3:1))
  %4 = stablehlo.add %1, %3 : tensor<8x8xf32> loc("mlp10/add"("m.py":9:1))
  %5 = stablehlo.add %4, %4 : tensor<8x8xf32> loc("two/add"("m.py":10:1))
  %6 = stablehlo.subtract %4, %4 : tensor<8x8xf32> loc("two/sub"("m.py":10:1))
  %7 = stablehlo.add %5, %6 : tensor<8x8xf32> loc("add"("m.py":5:1))
  return %7 : tensor<8x8xf32>
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return Program.parse(TEXT)


@pytest.mark.parametrize(("path", "name"), [("mlp.up", "%0"), ("mlp", "%1"), ("mlp10", "%4")])
def test_the_output_of_a_module(program: Program, path: str, name: str) -> None:
    assert program[path].name == name


def test_several_outputs_are_listed(program: Program) -> None:
    assert [value.name for value in program.values.named("two")] == ["%5", "%6"]
    with pytest.raises(
        ShardyError, match=r"ambiguous name 'two': expected one value, got 2 values: @main:%5"
    ):
        program["two"]


@pytest.mark.parametrize("path", ["mlp1", "mlp.up.weight", "ml", ""])
def test_what_is_no_module(program: Program, path: str) -> None:
    assert path not in program.values


def test_the_name_of_an_argument_goes_before_a_module() -> None:
    program = Program.parse(TEXT.replace('loc("x")', 'loc("mlp")'))
    assert program["mlp"].name == "%arg0"
