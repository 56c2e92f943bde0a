"""Copies of ops: independent of the original, and with the uses in MLIR's order."""

from __future__ import annotations

from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.ir import erase, find_ops, place_after, place_before
from tests.report.executed_lines import executed_lines

PROGRAM = """
func.func @main(%a: tensor<8xf32>, %c: tensor<i32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %a : tensor<8xf32>
  %1:2 = "stablehlo.case"(%c) ({
    %2 = stablehlo.add %0, %a : tensor<8xf32>
    %3 = stablehlo.multiply %2, %0 : tensor<8xf32>
    stablehlo.return %3, %2 : tensor<8xf32>, tensor<8xf32>
  }) {key = "value"} : (tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %1#0 : tensor<8xf32>
}
"""


def test_copy_prints_like_the_original() -> None:
    module = parse_module(PROGRAM)
    expected = print_module(module)
    (case,) = find_ops(module, "stablehlo.case")
    copy = clone(case, {})
    place_before(copy, case)
    for old, new in zip(case.results, copy.results, strict=True):
        old.replace_all_uses_with(new)
    copy.attributes["key"] = case.attributes["key"]
    case.attributes.clear()
    erase(case)
    assert print_module(module) == expected


def test_mapping_replaces_operands_everywhere_and_gets_results() -> None:
    module = parse_module(PROGRAM)
    negate, case = find_ops(module, "stablehlo.negate", "stablehlo.case")
    argument = negate.operands[0]
    mapping = {negate.results[0]: argument}
    copy = clone(case, mapping)
    place_after(copy, case)
    assert mapping[case.results[1]] is copy.results[1]
    (add,) = find_ops(copy, "stablehlo.add")
    assert list(add.operands) == [argument, argument]
    assert [use.operation.name for use in negate.results[0].uses] == ["stablehlo.multiply", "stablehlo.add"]


def test_uses_in_regions_come_op_by_op() -> None:
    (case,) = find_ops(parse_module(PROGRAM), "stablehlo.case")
    copy = clone(case, {})
    add, _ = find_ops(copy, "stablehlo.add", "stablehlo.multiply")
    uses = [(use.operation.name, use.index) for use in add.results[0].uses]
    assert uses == [("stablehlo.return", 1), ("stablehlo.multiply", 0)]


def test_nested_regions_are_copied_without_a_look_at_those_around_them() -> None:
    def lines(depth: int) -> int:
        start = '%0 = "stablehlo.case"(%c) ({ ' * depth + "%1 = stablehlo.negate %a : tensor<8xf32> "
        end = "stablehlo.return %a : tensor<8xf32> }) : (tensor<i32>) -> tensor<8xf32> " * depth
        text = f"func.func @main(%a: tensor<8xf32>, %c: tensor<i32>) {{ {start}{end} return }}"
        module = parse_module(text)
        return executed_lines(lambda: clone(module, {}), "xdsl/ir/core.py")

    assert lines(40) < 5 * lines(10)
