"""Values used where they are not defined."""

from __future__ import annotations

import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.verification import find_faults

PROGRAM = """
func.func @f(%arg0: tensor<8xf32>) {
  %0 = stablehlo.abs %arg0 : tensor<8xf32>
  %1 = stablehlo.negate %0 : tensor<8xf32>
  return
}
func.func @g(%arg0: tensor<8xf32>) {
  %0 = stablehlo.sign %arg0 : tensor<8xf32>
  return
}
"""


def _ops(module: object) -> dict[str, object]:
    return {op.name: op for op in module.walk()}  # pyright: ignore


def test_a_value_defined_later_does_not_dominate_its_use() -> None:
    module = parse_module(PROGRAM)
    ops = _ops(module)
    absolute, negation = ops["stablehlo.abs"], ops["stablehlo.negate"]
    negation.detach()  # pyright: ignore
    absolute.parent.insert_op_before(negation, absolute)  # pyright: ignore
    (fault,) = find_faults(module)
    assert fault.message == "operand #0 does not dominate this use"
    assert [note.message for note in fault.notes] == ["operand defined here (op in the same block)"]
    assert (fault.where, fault.notes[0].where) == (
        parse_position(4),
        parse_position(3),
    )


def parse_position(line: int) -> object:
    """The place of the first op of a line of the program."""
    from shardy_py.base.errors import Position

    text = PROGRAM.split("\n")[line - 1]
    return Position("-", line, text.index("stablehlo") + 1)


def test_a_value_of_another_function_is_beyond_isolation() -> None:
    module = parse_module(PROGRAM)
    ops = _ops(module)
    ops["stablehlo.sign"].operands[0] = ops["stablehlo.abs"].results[0]  # pyright: ignore
    (fault,) = find_faults(module)
    assert fault.message == "'stablehlo.sign' op using value defined outside the region"
    assert [note.message for note in fault.notes] == ["required by region isolation constraints"]


def test_a_value_of_an_inner_region_ends_with_it() -> None:
    module = parse_module("""
func.func @f(%arg0: tensor<8xf32>, %arg1: tensor<i1>) {
  %0 = "stablehlo.if"(%arg1) ({
    %1 = stablehlo.abs %arg0 : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    %2 = stablehlo.sign %arg0 : tensor<8xf32>
    stablehlo.return %2 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  %3 = stablehlo.negate %arg0 : tensor<8xf32>
  return
}""")
    ops = _ops(module)
    ops["stablehlo.negate"].operands[0] = ops["stablehlo.abs"].results[0]  # pyright: ignore
    (fault,) = find_faults(module)
    assert fault.notes[0].message == "operand defined here (op in a child region)"


BLOCKS = """
func.func @f(%x: tensor<f32>) {
  "test.cfg"() ({
    %0 = stablehlo.add %x, %x : tensor<f32>
    "test.br"()[^bb1, ^bb2] : () -> ()
  ^bb1(%1: tensor<f32>):
    %2 = stablehlo.add %0, %1 : tensor<f32>
    "test.br"()[^bb1] : () -> ()
  ^bb2:
    %3 = stablehlo.add %0, %x : tensor<f32>
    "test.br"()[^bb3] : () -> ()
  ^bb3:
    %4 = stablehlo.add %3, %0 : tensor<f32>
    "test.nest"() ({
      %5 = stablehlo.add @, %4 : tensor<f32>
    }) : () -> ()
    "test.end"() : () -> ()
  ^bb4:
    %6 = stablehlo.add %2, %3 : tensor<f32>
    "test.end"() : () -> ()
  }) : () -> ()
  return
}"""


@pytest.mark.parametrize(
    ("value", "note"),
    [
        ("%3", ""),
        ("%x", ""),
        ("%1", "operand defined as a block argument (block #1 in a parent region)"),
        ("%2", "operand defined here (op in a parent region)"),
        ("%6", "operand defined here (op in a parent region)"),
    ],
)
def test_blocks_see_values_of_the_blocks_that_dominate_them(value: str, note: str) -> None:
    """Blocks that the entry does not reach may use any value; within @test.cfg, the order of ops is free."""
    module = parse_module(BLOCKS.replace("@,", f"{value},"), allow_unregistered=True)
    assert [remark.message for fault in find_faults(module) for remark in fault.notes] == [note][: bool(note)]
