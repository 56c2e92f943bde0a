"""Conversions around ops that move elements, as the pass convert-mover of XLA:TPU leaves them."""

from __future__ import annotations

import pytest

from shardy_py import Program
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.stablehlo_builder import element_of
from shardy_py.xla.prepare.for_tpu import simplified_for_tpu

_SLICE = "stablehlo.slice %w [0:4, 0:7] : (tensor<4x8x{0}>) -> tensor<4x7x{0}>"
_TURN = "stablehlo.transpose %w, dims = [1, 0] : (tensor<4x8x{0}>) -> tensor<8x4x{0}>"
_FLAT = "stablehlo.reshape %w : (tensor<4x8x{0}>) -> tensor<32x{0}>"
_JOIN = "stablehlo.concatenate %w, %w, dim = 0 : (tensor<4x8x{0}>, tensor<4x8x{0}>) -> tensor<8x8x{0}>"
_PAD = """stablehlo.pad %w, %c, low = [0, 0], high = [0, 1], interior = [0, 0]
    : (tensor<4x8x{0}>, tensor<{0}>) -> tensor<4x9x{0}>"""
_MOVES = {
    "slice": (_SLICE, "4x7"),
    "transpose": (_TURN, "8x4"),
    "reshape": (_FLAT, "32"),
    "concatenate": (_JOIN, "8x8"),
    "pad": (_PAD, "4x9"),
}


def _ops(body: str, given: str, results: str, types: str) -> list[str]:
    """The names of the ops with the element types of their results, once the program is simplified."""
    text = (
        f"func.func @main(%a: tensor<4x8x{given}>) -> ({types}) {{\n{body}\n  return {results} : {types}\n}}"
    )
    module = simplified_for_tpu(Program.parse(text, as_compiled=False).module)
    names = (op for op in walk_pre_order(module) if op.name.startswith("stablehlo."))
    return [f"{op.name.removeprefix('stablehlo.')} {element_of(op.results[0])}" for op in names]


@pytest.mark.parametrize("move", _MOVES)
@pytest.mark.parametrize(("narrow", "wide"), [("bf16", "f32"), ("i8", "i32"), ("i1", "f32"), ("f32", "f64")])
def test_the_narrower_type_is_moved(move: str, narrow: str, wide: str) -> None:
    op, shape = _MOVES[move]
    zero = "0" if wide.startswith("i") else "0.0"
    body = f"""  %w = stablehlo.convert %a : (tensor<4x8x{narrow}>) -> tensor<4x8x{wide}>
  %c = stablehlo.constant dense<{zero}> : tensor<{wide}>
  %r = {op.format(wide)}"""
    found = _ops(body, narrow, "%r", f"tensor<{shape}x{wide}>")
    constant = [f"constant {narrow}"] if move == "pad" else []
    assert found == [*constant, f"{move} {narrow}", f"convert {wide}"]


@pytest.mark.parametrize("move", [move for move in _MOVES if move != "pad"])
def test_a_result_is_narrowed_before_it_is_moved(move: str) -> None:
    op, shape = _MOVES[move]
    body = f"""  %w = stablehlo.exponential %a : tensor<4x8xf32>
  %m = {op.format("f32")}
  %r = stablehlo.convert %m : (tensor<{shape}xf32>) -> tensor<{shape}xbf16>"""
    found = _ops(body, "f32", "%r", f"tensor<{shape}xbf16>")
    assert found[0] == "exponential f32"
    assert found[-1] == f"{move} bf16"
    assert {*found[1:-1]} == {"convert bf16"}


@pytest.mark.parametrize(
    ("body", "results", "types"),
    [
        (
            f"""  %w = stablehlo.convert %a : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %r = {_SLICE.format("f32")}""",
            "%r, %w",
            "tensor<4x7xf32>, tensor<4x8xf32>",
        ),
        (
            f"""  %w = stablehlo.convert %a : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %c = stablehlo.constant dense<0.1> : tensor<f32>
  %r = {_PAD.format("f32")}""",
            "%r",
            "tensor<4x9xf32>",
        ),
        (
            f"""  %w = stablehlo.convert %a : (tensor<4x8xbf16>) -> tensor<4x8xf16>
  %r = {_SLICE.format("f16")}""",
            "%r",
            "tensor<4x7xf16>",
        ),
    ],
    ids=["another op reads what is converted", "the narrower type lacks a constant", "as wide"],
)
def test_a_conversion_stays(body: str, results: str, types: str) -> None:
    assert _ops(body, "bf16", results, types)[0].startswith("convert")
