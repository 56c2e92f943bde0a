"""Where the sharding of each kind of value is found, and how it is changed."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.ir import find_ops, walk_pre_order
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_shardings import (
    function_argument_shardings,
    function_result_shardings,
    remove_result_shardings,
    set_sharding,
    sharding_of,
)
from shardy_py.sharding import TensorSharding

PROGRAM = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @device = <[], device_ids=[0]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %z: tensor<f32>)
    -> (tensor<8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %none = stablehlo.negate %a : tensor<8xf32>
  %some = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>} : tensor<8xf32>
  %constraint = sdy.sharding_constraint %a <@mesh, [{"y", ?}]> : tensor<8xf32>
  %barrier = stablehlo.optimization_barrier %a : tensor<8xf32>
  %edge = sdy.data_flow_edge %barrier sharding=<@mesh, [{"x"}]> : tensor<8xf32>
  %manual = sdy.manual_computation(%a)
      in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"}
      (%inner: tensor<4xf32>) {
    sdy.return %inner : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %sum = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0]
      : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %none, %some : tensor<8xf32>, tensor<8xf32>
}
func.func private @maximal(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@device, []>}, %b: tensor<8xf32>) {
  return
}
func.func private @mixed(%a: tensor<8xf32>, %b: tensor<8x8xf32>,
                         %c: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return
}
"""


def values(module: ModuleOp) -> dict[str, SSAValue]:
    """The values of the program that tests ask for."""
    ops = {op.name: op for op in walk_pre_order(module)}
    none, some = find_ops(module, "stablehlo.negate")
    manual = ops["sdy.manual_computation"]
    return {
        "argument": none.operands[0],
        "none": none.results[0],
        "some": some.results[0],
        "constraint": ops["sdy.sharding_constraint"].results[0],
        "barrier": ops["stablehlo.optimization_barrier"].results[0],
        "edge": ops["sdy.data_flow_edge"].results[0],
        "inner": manual.regions[0].blocks[0].args[0],
        "manual": manual.results[0],
        "of a reduction": ops["stablehlo.reduce"].regions[0].blocks[0].args[0],
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("argument", '<@mesh, [{"x"}]>'),
        ("none", "None"),
        ("some", '<@mesh, [{"y"}]>'),
        ("constraint", '<@mesh, [{"y", ?}]>'),
        ("barrier", '<@mesh, [{"x"}]>'),
        ("edge", '<@mesh, [{"x"}]>'),
        ("inner", '<@mesh, [{"y"}]>'),
        ("manual", '<@mesh, [{"x"}]>'),
        ("of a reduction", "None"),
    ],
)
def test_sharding_of(name: str, expected: str) -> None:
    assert str(sharding_of(values(parse_module(PROGRAM))[name])) == expected


def test_set_sharding() -> None:
    module = parse_module(PROGRAM)
    found = values(module)
    closed = TensorSharding.fully_closed("mesh", 1)
    for name in ("argument", "none", "barrier", "inner"):
        set_sharding(found[name], closed)
        assert sharding_of(found[name]) == closed
    assert sharding_of(found["edge"]) == closed
    assert 'in_shardings=[<@mesh, [{"x"}]>]' in print_module(module)
    set_sharding(found["of a reduction"], TensorSharding.fully_closed("mesh", 0))
    assert sharding_of(found["of a reduction"]) is None


def test_shardings_of_functions() -> None:
    symbols = Symbols(parse_module(PROGRAM))

    def texts(name: str) -> list[str] | None:
        shardings = function_argument_shardings(symbols.function(name), symbols)
        return None if shardings is None else [str(sharding) for sharding in shardings]

    assert texts("maximal") is None
    assert texts("mixed") == ["<@mesh, [{?}]>", "<@mesh, [{?}, {?}]>", '<@mesh, [{"x"}]>']
    results = function_result_shardings(symbols.function("main"), symbols)
    assert results is not None
    assert [str(sharding) for sharding in results] == ["<@mesh, [{?}]>", '<@mesh, [{"y"}]>']
    assert function_result_shardings(symbols.function("mixed"), symbols) is None


def test_the_last_sharding_takes_the_attributes_of_results_along() -> None:
    module = parse_module(PROGRAM)
    main = Symbols(module).function("main")
    remove_result_shardings(main, [0])
    assert "res_attrs" in main.properties
    remove_result_shardings(main, [1])
    assert "res_attrs" not in main.properties
