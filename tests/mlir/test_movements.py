"""Moving ops and uses: the same lists as xDSL's own checked methods make."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from shardy_py.mlir import ir
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.ir import find_ops
from shardy_py.mlir.movements import replace_op

PROGRAM = """
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %a : tensor<8xf32>
  %1 = stablehlo.multiply %a, %b : tensor<8xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}
"""


def program() -> tuple[ModuleOp, list[Operation]]:
    module = parse_module(PROGRAM)
    return module, find_ops(
        module, "stablehlo.add", "stablehlo.multiply", "stablehlo.subtract", "func.return"
    )


def users(value: SSAValue) -> list[tuple[str, int]]:
    return [(use.operation.name, use.index) for use in value.uses]


def backwards(block: Block) -> list[Operation]:
    ops: list[Operation] = []
    op = block.last_op
    while op is not None:
        ops.append(op)
        op = op.prev_op
    return ops


def test_uses_are_newest_first() -> None:
    _, (add, *_) = program()
    assert users(add.operands[0]) == [("stablehlo.multiply", 0), ("stablehlo.add", 1), ("stablehlo.add", 0)]


def test_replace_operand_makes_a_new_use() -> None:
    _, (add, multiply, *_) = program()
    a, b = multiply.operands
    ir.replace_operand(add, 1, b)
    assert list(add.operands) == [a, b]
    assert users(a) == [("stablehlo.multiply", 0), ("stablehlo.add", 0)]
    assert users(b) == [("stablehlo.add", 1), ("stablehlo.multiply", 1)]


def test_replace_uses_as_xdsl_does() -> None:
    (_, (add, multiply, *_)), (_, (xdsl_add, xdsl_multiply, *_)) = program(), program()
    ir.replace_uses(add.operands[0], multiply.operands[1])
    xdsl_add.operands[0].replace_all_uses_with(xdsl_multiply.operands[1])
    assert users(multiply.operands[1]) == users(xdsl_multiply.operands[1])


def test_replace_uses_spares_an_op_and_what_a_test_rejects() -> None:
    _, (add, multiply, *_) = program()
    a, b = multiply.operands
    ir.replace_uses(a, b, but_not_in=multiply, only=lambda use: use.index == 1)
    assert list(add.operands) == [a, b]
    assert list(multiply.operands) == [a, b]


def test_places() -> None:
    module, (add, multiply, subtract, terminator) = program()
    block = add.parent
    assert block is not None
    order = [add, multiply, subtract, terminator]
    for place, expected in (
        (lambda: ir.place_before(multiply, add), [multiply, add, subtract, terminator]),
        (lambda: ir.place_after(multiply, add), order),
        (lambda: ir.place_at_start(multiply, block), [multiply, add, subtract, terminator]),
        (lambda: ir.place_after_value(multiply, add.results[0]), order),
        (lambda: ir.place_after_value(multiply, block.args[0]), [multiply, add, subtract, terminator]),
        (lambda: ir.place_at_end(multiply, block), [add, subtract, terminator, multiply]),
    ):
        ir.take_out(multiply)
        assert multiply.parent is None
        place()
        assert list(block.ops) == expected
        assert backwards(block) == expected[::-1]
    assert module.parent is None


def test_erase_lets_go_of_operands() -> None:
    module, (add, multiply, subtract, _) = program()
    ir.replace_uses(subtract.results[0], add.results[0])
    ir.erase(subtract)
    assert users(multiply.results[0]) == []
    assert "subtract" not in print_module(module)


def test_erase_lets_go_of_what_regions_use() -> None:
    module = parse_module("""
      func.func @main(%a: tensor<8xf32>, %c: tensor<i32>) {
        %0 = "stablehlo.case"(%c) ({ stablehlo.return %a : tensor<8xf32> }) : (tensor<i32>) -> tensor<8xf32>
        return
      }""")
    (case,) = find_ops(module, "stablehlo.case")
    value = case.regions[0].blocks[0].last_op
    assert value is not None
    argument = value.operands[0]
    ir.erase(case)
    assert users(argument) == []


def test_replace_op() -> None:
    module, (add, multiply, *_) = program()
    ir.take_out(multiply)
    ir.replace_uses(multiply.results[0], add.operands[0])
    replace_op(add, multiply)
    assert [op.name for op in find_ops(module, "stablehlo.add", "stablehlo.multiply")] == [
        "stablehlo.multiply"
    ]
