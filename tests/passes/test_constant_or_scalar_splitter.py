"""Which constants are copied, and which stay as they are."""

from __future__ import annotations

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.ir import find_ops
from shardy_py.passes.import_.constants import split_constants


def test_a_constant_of_one_use_is_not_copied() -> None:
    module = parse_module("""
      func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
        %0 = sdy.constant dense<1.0> : tensor<8xf32>
        %1 = stablehlo.negate %0 : tensor<8xf32>
        %2 = stablehlo.add %a, %1 : tensor<8xf32>
        return %2 : tensor<8xf32>
      }""")
    before = find_ops(module, "sdy.constant", "stablehlo.negate")
    split_constants(module)
    assert find_ops(module, "sdy.constant", "stablehlo.negate") == before


def test_the_last_user_takes_the_original() -> None:
    module = parse_module("""
      func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
        %0 = sdy.constant dense<1.0> : tensor<8xf32>
        %1 = stablehlo.add %a, %0 : tensor<8xf32>
        %2 = stablehlo.subtract %1, %0 : tensor<8xf32>
        return %2 : tensor<8xf32>
      }""")
    (original,) = find_ops(module, "sdy.constant")
    split_constants(module)
    copy, last = find_ops(module, "sdy.constant")
    assert last is original
    users = [[use.operation.name for use in op.results[0].uses] for op in (copy, last)]
    assert users == [["stablehlo.add"], ["stablehlo.subtract"]]


def test_what_a_copy_is_computed_of_is_copied_though_it_has_one_use() -> None:
    module = parse_module("""
      func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
        %0 = sdy.constant dense<1.0> : tensor<8xf32>
        %1 = stablehlo.negate %0 : tensor<8xf32>
        %2 = stablehlo.add %a, %1 : tensor<8xf32>
        %3 = stablehlo.subtract %2, %1 : tensor<8xf32>
        return %3 : tensor<8xf32>
      }""")
    split_constants(module)
    for op in find_ops(module, "sdy.constant", "stablehlo.negate"):
        assert len(list(op.results[0].uses)) == 1
    assert len(find_ops(module, "sdy.constant", "stablehlo.negate")) == 4


def test_constants_may_nest_deep() -> None:
    depth = 3000
    body = "\n".join(f"%{i} = stablehlo.negate %{i - 1} : tensor<8xf32>" for i in range(1, depth))
    module = parse_module(f"""
      func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {{
        %0 = sdy.constant dense<1.0> : tensor<8xf32>
        {body}
        %b = stablehlo.add %a, %{depth - 1} : tensor<8xf32>
        return %b, %{depth - 1} : tensor<8xf32>, tensor<8xf32>
      }}""")
    split_constants(module)
    assert len(find_ops(module, "stablehlo.negate")) == 2 * (depth - 1)
