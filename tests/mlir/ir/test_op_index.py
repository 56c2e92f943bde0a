"""The list of ops that passes share finds what a walk finds, whatever was placed meanwhile."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.mlir.dialects.registry import parse_module
from shardy_py.mlir.dialects.sdy import ConstantOp
from shardy_py.mlir.ir import (
    OpIndex,
    build_operation,
    convert,
    erase,
    find_ops,
    indexed,
    ops_in,
    place_at_end,
    place_before,
    take_out,
)
from shardy_py.mlir.movements import replace_op

TEXT = """
func.func @main(%a: tensor<8xf32>, %c: tensor<i1>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.constant dense<1.0> : tensor<8xf32>
  %1 = "stablehlo.if"(%c) ({
    %2 = stablehlo.add %a, %0 : tensor<8xf32>
    stablehlo.return %2 : tensor<8xf32>
  }, {
    stablehlo.return %0 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
"""


def constant_like(op: Operation) -> Operation:
    return build_operation(type(op), (), [op.results[0].type], dict(op.properties), {}, op.location)


def assert_current(index: OpIndex, module: ModuleOp) -> None:
    walked = ops_in(module)
    inside = [(op, ops_in(op)) for op in walked if op.regions]
    with indexed(index):
        assert {op.name: find_ops(module, op.name) for op in walked} == {
            op.name: [each for each in walked if each.name == op.name] for op in walked
        }
        assert ops_in(module) == walked
        assert all(ops_in(op) == ops for op, ops in inside)


def test_ops_that_are_inserted_are_found_in_order() -> None:
    module = parse_module(TEXT)
    index = OpIndex(module)
    constant, branch, add, first_end, *_ = ops_in(module.body.block.ops.first or module)
    with indexed(index):
        new = [constant_like(constant) for _ in range(4)]
        for op, anchor in zip(new, (add, first_end, branch, constant), strict=True):
            place_before(op, anchor)
        last = constant_like(constant)
        place_before(last, new[0])  # before one that is new itself
    assert_current(index, module)


def test_ops_that_are_moved_and_erased_are_found_at_their_places() -> None:
    module = parse_module(TEXT)
    index = OpIndex(module)
    constant, branch, *_ = ops_in(module.body.block.ops.first or module)
    with indexed(index):
        copy = constant_like(constant)
        place_before(copy, branch)
        erase(copy)
        assert find_ops(module, constant.name) == [constant]
        end = module.body.block.first_op
        assert end is not None
        take_out(end)
        assert not find_ops(module, "func.func")
        place_at_end(end, module.body.block)
    assert_current(index, module)


def test_an_op_that_changes_its_class_has_uses_as_if_replaced() -> None:
    replaced, converted = parse_module(TEXT), parse_module(TEXT)
    (old,) = find_ops(replaced, "stablehlo.constant")
    replace_op(old, build_operation(ConstantOp, (), [old.results[0].type], old.properties, {}, old.location))
    index = OpIndex(converted)
    with indexed(index):
        (op,) = find_ops(converted, "stablehlo.constant")
        convert(op, ConstantOp)
    assert_current(index, converted)
    uses = [
        [
            (use.operation.name, use.index)
            for op in find_ops(module, "sdy.constant")
            for use in op.results[0].uses
        ]
        for module in (replaced, converted)
    ]
    assert uses[0] == uses[1]
    assert len(uses[0]) == 3
