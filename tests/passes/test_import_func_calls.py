"""Calls to named computations and back."""

from __future__ import annotations

from shardy_py.base.errors import collected_warnings
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.ir import find_ops
from shardy_py.passes.import_.named_computations import export_named_computations, import_calls
from shardy_py.passes.options import CopyOptions

CALLED_THREE_TIMES = """
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @f(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = call @f(%1) : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


def test_copies_of_a_body_are_warned_of_once() -> None:
    module = parse_module(CALLED_THREE_TIMES, "calls.mlir")
    with collected_warnings() as warnings:
        import_calls(module, CopyOptions())
    assert len(find_ops(module, "stablehlo.negate")) == 3
    assert [str(warning) for warning in warnings] == [
        "calls.mlir:4:8: warning: function @f has multiple call ops, we need to clone the function body "
        "for each call"
    ]


def test_there_and_back_numbers_the_functions() -> None:
    module = parse_module(CALLED_THREE_TIMES)
    import_calls(module, CopyOptions())
    assert find_ops(module, "func.call") == []
    export_named_computations(module)
    text = print_module(module)
    assert [text.count(f"call @{name}(") for name in ("f", "f_0", "f_1")] == [1, 1, 1]
    assert text.count('attributes {sdy.original_func_name = "f"}') == 3


def test_nested_computations_are_exported_first() -> None:
    module = parse_module("""
      func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
        %0 = sdy.named_computation<"outer">(%a) (%b: tensor<8xf32>) {
          %1 = sdy.named_computation<"inner">(%b) (%c: tensor<8xf32>) {
            sdy.return %c : tensor<8xf32>
          } : (tensor<8xf32>) -> tensor<8xf32>
          sdy.return %1 : tensor<8xf32>
        } : (tensor<8xf32>) -> tensor<8xf32>
        return %0 : tensor<8xf32>
      }""")
    export_named_computations(module)
    names = [str(function.properties["sym_name"]) for function in find_ops(module, "func.func")]
    assert names == ['"main"', '"inner"', '"outer"']
