"""What StableHLO simplifies before XLA propagates, fold by fold; that XLA does it: `test_compiled.py`."""

from __future__ import annotations

import pytest

from shardy_py import Program
from tests.xla.prepare.running import after

F, N, Q, S = "tensor<8x4xf32>", "tensor<8x4xi32>", "tensor<8x4xi1>", "tensor<i32>"
ZERO, ONE = (f"%c = stablehlo.constant dense<{number}> : {F}\n" for number in ("-0.0", "1.0"))
NOTHING, ALL = (f"%c = stablehlo.constant dense<{number}> : {N}\n" for number in (0, -1))
SCALAR = "%c = stablehlo.constant dense<{}> : tensor<i32>\n"
JOINED = f"%j = stablehlo.concatenate %a, %b, %a, dim = 0 : ({F}, {F}, {F}) -> tensor<24x4xf32>\n"
CASE = f"""%0 = "stablehlo.case"(%k) ({{
  %1 = stablehlo.sine %a : {F}
  stablehlo.return %1 : {F}
}}, {{
  %1 = stablehlo.cosine %a : {F}
  stablehlo.return %1 : {F}
}}) : (tensor<i32>) -> {F}"""
FOLDED = {
    "a zero is added": (F, f"{ZERO}%0 = stablehlo.add %a, %c : {F}", "%a", ""),
    "to a zero": (F, f"{ZERO}%0 = stablehlo.add %c, %a : {F}", "%a", ""),
    "a zero is subtracted": (F, f"{ZERO}%0 = stablehlo.subtract %a, %c : {F}", "%a", ""),
    "from a zero": (F, f"{ZERO}%0 = stablehlo.subtract %c, %a : {F}", None, ""),
    "a one is multiplied": (F, f"{ONE}%0 = stablehlo.multiply %a, %c : {F}", "%a", ""),
    "a float zero is multiplied": (F, f"{ZERO}%0 = stablehlo.multiply %a, %c : {F}", None, ""),
    "a zero is multiplied": (
        N,
        f"{NOTHING}%0 = stablehlo.multiply %i, %c : {N}",
        "%c",
        NOTHING,
    ),
    "all bits are kept": (N, f"{ALL}%0 = stablehlo.and %i, %c : {N}", "%i", ""),
    "no bit is kept": (N, f"{NOTHING}%0 = stablehlo.and %i, %c : {N}", "%c", NOTHING),
    "no bit is set": (N, f"{NOTHING}%0 = stablehlo.or %i, %c : {N}", "%i", ""),
    "integers without themselves": (N, f"%0 = stablehlo.subtract %i, %i : {N}", "%c", NOTHING),
    "floats without themselves": (F, f"%0 = stablehlo.subtract %a, %a : {F}", None, ""),
    "equal to itself": (
        *(Q, f"%0 = stablehlo.compare LE, %i, %i : ({N}, {N}) -> {Q}"),
        *("%c", f"%c = stablehlo.constant dense<true> : {Q}"),
    ),
    "not false": (
        *(
            Q,
            f"%c = stablehlo.constant dense<false> : {Q}\n"
            f"%0 = stablehlo.compare NE, %p, %c : ({Q}, {Q}) -> {Q}",
        ),
        *("%p", ""),
    ),
    "the same type": (F, f"%0 = stablehlo.convert %a : {F}", "%a", ""),
    "no choice": (F, f"%0 = stablehlo.select %p, %a, %a : {Q}, {F}", "%a", ""),
    "a known choice": (
        *(F, f"%c = stablehlo.constant dense<false> : {Q}\n%0 = stablehlo.select %c, %a, %b : {Q}, {F}"),
        *("%b", ""),
    ),
    "not chosen": (
        *(F, f"%c = stablehlo.not %p : {Q}\n%0 = stablehlo.select %c, %a, %b : {Q}, {F}"),
        *("%0", f"%0 = stablehlo.select %p, %b, %a : {Q}, {F}"),
    ),
    "the real part": (
        F,
        f"%c = stablehlo.complex %a, %b : tensor<8x4xcomplex<f32>>\n"
        f"%0 = stablehlo.imag %c : (tensor<8x4xcomplex<f32>>) -> {F}",
        *("%b", ""),
    ),
    "reshaped twice": (
        "tensor<2x16xf32>",
        f"%1 = stablehlo.reshape %a : ({F}) -> tensor<32xf32>\n"
        "%0 = stablehlo.reshape %1 : (tensor<32xf32>) -> tensor<2x16xf32>",
        *("%0", f"%0 = stablehlo.reshape %a : ({F}) -> tensor<2x16xf32>"),
    ),
    "reshaped back": (
        F,
        f"%1 = stablehlo.reshape %a : ({F}) -> tensor<32xf32>\n"
        f"%0 = stablehlo.reshape %1 : (tensor<32xf32>) -> {F}",
        *("%a", ""),
    ),
    "transposed twice": (
        "tensor<4x2x8xf32>",
        f"%1 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : ({F}) -> tensor<8x4x2xf32>\n"
        "%2 = stablehlo.transpose %1, dims = [1, 0, 2] : (tensor<8x4x2xf32>) -> tensor<4x8x2xf32>\n"
        "%0 = stablehlo.transpose %2, dims = [0, 2, 1] : (tensor<4x8x2xf32>) -> tensor<4x2x8xf32>",
        "%0",
        f"%1 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : ({F}) -> tensor<8x4x2xf32>\n"
        "%0 = stablehlo.transpose %1, dims = [1, 2, 0] : (tensor<8x4x2xf32>) -> tensor<4x2x8xf32>",
    ),
    "only ones are transposed": (
        "tensor<8x1x4xf32>",
        f"%1 = stablehlo.reshape %a : ({F}) -> tensor<1x8x4xf32>\n"
        "%0 = stablehlo.transpose %1, dims = [1, 0, 2] : (tensor<1x8x4xf32>) -> tensor<8x1x4xf32>",
        *("%0", f"%0 = stablehlo.reshape %a : ({F}) -> tensor<8x1x4xf32>"),
    ),
    "a dimension of one is added": (
        *(
            "tensor<8x1x4xf32>",
            f"%0 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : ({F}) -> tensor<8x1x4xf32>",
        ),
        *("%0", f"%0 = stablehlo.reshape %a : ({F}) -> tensor<8x1x4xf32>"),
    ),
    "nothing is added": (F, f"%0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : ({F}) -> {F}", "%a", ""),
    "dimensions are swapped": (
        *("tensor<4x8xf32>", f"%0 = stablehlo.broadcast_in_dim %a, dims = [1, 0] : ({F}) -> tensor<4x8xf32>"),
        *("%0", f"%0 = stablehlo.transpose %a, dims = [1, 0] : ({F}) -> tensor<4x8xf32>"),
    ),
    "broadcast twice": (
        "tensor<2x8x3x4xf32>",
        f"%1 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : ({F}) -> tensor<8x3x4xf32>\n"
        "%0 = stablehlo.broadcast_in_dim %1, dims = [1, 2, 3] : (tensor<8x3x4xf32>) -> tensor<2x8x3x4xf32>",
        *("%0", f"%0 = stablehlo.broadcast_in_dim %a, dims = [1, 3] : ({F}) -> tensor<2x8x3x4xf32>"),
    ),
    "joined twice": (
        "tensor<32x4xf32>",
        f"{JOINED}%0 = stablehlo.concatenate %j, %b, dim = 0 : (tensor<24x4xf32>, {F}) -> tensor<32x4xf32>",
        "%0",
        f"%0 = stablehlo.concatenate %a, %b, %a, %b, dim = 0 : ({F}, {F}, {F}, {F}) -> tensor<32x4xf32>",
    ),
    "joined with nothing": (
        F,
        "%e = stablehlo.constant dense<> : tensor<0x4xf32>\n"
        f"%0 = stablehlo.concatenate %e, %a, dim = 0 : (tensor<0x4xf32>, {F}) -> {F}",
        *("%a", ""),
    ),
    "cut from one": (
        *(
            "tensor<3x4xf32>",
            f"{JOINED}%0 = stablehlo.slice %j [10:13, 0:4] : (tensor<24x4xf32>) -> tensor<3x4xf32>",
        ),
        *("%0", f"%0 = stablehlo.slice %b [2:5, 0:4] : ({F}) -> tensor<3x4xf32>"),
    ),
    "cut from two": (
        *(
            "tensor<9x4xf32>",
            f"{JOINED}%0 = stablehlo.slice %j [10:19, 0:4] : (tensor<24x4xf32>) -> tensor<9x4xf32>",
        ),
        "%0",
        f"%j = stablehlo.concatenate %b, %a, dim = 0 : ({F}, {F}) -> tensor<16x4xf32>\n"
        "%0 = stablehlo.slice %j [2:11, 0:4] : (tensor<16x4xf32>) -> tensor<9x4xf32>",
    ),
    "nothing is cut off": (F, f"%0 = stablehlo.slice %a [0:8, 0:4] : ({F}) -> {F}", "%a", ""),
    "cut at a computed place": (
        "tensor<2x4xf32>",
        f"{SCALAR.format(3)}%d = stablehlo.negate %c : tensor<i32>\n"
        "%l = stablehlo.compare LT, %d, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "%e = stablehlo.add %d, %c : tensor<i32>\n"
        "%f = stablehlo.select %l, %c, %d : tensor<i1>, tensor<i32>\n"
        f"%0 = stablehlo.dynamic_slice %a, %f, %e, sizes = [2, 4] : ({F}, {S}, {S}) -> tensor<2x4xf32>",
        *("%0", f"%0 = stablehlo.slice %a [3:5, 0:4] : ({F}) -> tensor<2x4xf32>"),
    ),
    "all is updated": (
        F,
        f"{SCALAR.format(0)}"
        f"%0 = stablehlo.dynamic_update_slice %a, %b, %c, %c : ({F}, {F}, tensor<i32>, tensor<i32>) -> {F}",
        *("%b", ""),
    ),
    "nothing is padded": (
        F,
        "%c = stablehlo.constant dense<2.0> : tensor<f32>\n"
        "%0 = stablehlo.pad %a, %c, low = [0, 0], high = [0, 0], interior = [0, 0]"
        f" : ({F}, tensor<f32>) -> {F}",
        *("%a", ""),
    ),
    "nothing is reversed": (F, f"%0 = stablehlo.reverse %a, dims = [] : {F}", "%a", ""),
    "constants are moved": (
        "tensor<3x2xi32>",
        "%c = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>\n"
        "%d = stablehlo.transpose %c, dims = [1, 0] : (tensor<3x2xi32>) -> tensor<2x3xi32>\n"
        "%e = stablehlo.slice %d [1:2, 0:3] : (tensor<2x3xi32>) -> tensor<1x3xi32>\n"
        "%f = stablehlo.concatenate %e, %e, dim = 0 : (tensor<1x3xi32>, tensor<1x3xi32>) -> tensor<2x3xi32>\n"
        "%0 = stablehlo.reshape %f : (tensor<2x3xi32>) -> tensor<3x2xi32>",
        *("%c", "%c = stablehlo.constant dense<[[2, 4], [6, 2], [4, 6]]> : tensor<3x2xi32>"),
    ),
    "equal constants are moved": (
        "tensor<4x8xf32>",
        f"{ONE}%0 = stablehlo.transpose %c, dims = [1, 0] : ({F}) -> tensor<4x8xf32>",
        *("%c", "%c = stablehlo.constant dense<1.0> : tensor<4x8xf32>"),
    ),
    "a known branch": (
        F,
        "%k = stablehlo.constant dense<0> : tensor<i32>\n" + CASE,
        *("%0", f"%0 = stablehlo.sine %a : {F}"),
    ),
    "a branch that there is not": (
        F,
        "%k = stablehlo.constant dense<-1> : tensor<i32>\n" + CASE,
        *("%0", f"%0 = stablehlo.cosine %a : {F}"),
    ),
}
"""What is before: type and lines of `%0`. What is after: its name, None if nothing changes, and lines."""


def folded(text: str) -> Program:
    """The program after all folds, without dead ops."""
    return after("xla-fold xla-erase-dead-ops", text)


def function_of(type_: str, lines: str, result: str) -> str:
    arguments = f"%a: {F}, %b: {F}, %i: {N}, %p: {Q}"
    return f"func.func @main({arguments}) -> {type_} {{\n{lines}\nreturn {result} : {type_}\n}}"


@pytest.mark.parametrize(
    ("start", "limits"),
    [((1, 2), "[1:5, 2:18]"), ((60, 30), "[60:64, 16:32]"), ((-3, 0), "[0:4, 0:16]")],
)
def test_dynamic_slices_at_constants(start: tuple[int, int], limits: str) -> None:
    types = "(tensor<64x32xf32>, tensor<i32>, tensor<i32>) -> tensor<4x16xf32>"
    program = folded(
        f"""
func.func @main(%arg0: tensor<64x32xf32>, %arg1: tensor<i32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {{
  %c = stablehlo.constant dense<{start[0]}> : tensor<i32>
  %c_0 = stablehlo.constant dense<{start[1]}> : tensor<i32>
  %0 = stablehlo.dynamic_slice %arg0, %c, %c_0, sizes = [4, 16] : {types}
  %1 = stablehlo.dynamic_slice %arg0, %c, %arg1, sizes = [4, 16] : {types}
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}}
""",
    )
    assert f"stablehlo.slice %arg0 {limits} : (tensor<64x32xf32>) -> tensor<4x16xf32>" in program.text()
    assert len(program.values.of_op("dynamic_slice")) == 1


@pytest.mark.parametrize("name", FOLDED)
def test_folds(name: str) -> None:
    type_, lines, result, left = FOLDED[name]
    program = folded(function_of(type_, lines, "%0"))
    expected = function_of(type_, lines, "%0") if result is None else function_of(type_, left, result)
    assert program.text() == Program.parse(expected).text()


def test_unused_operands_of_sorts_are_dropped() -> None:
    program = folded(
        """
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xi32>) -> tensor<8xf32> {
  %0:2 = "stablehlo.sort"(%arg0, %arg1) <{dimension = 0 : i64}> ({
  ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<i32>, %arg5: tensor<i32>):
    %1 = stablehlo.compare LT, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  return %0#0 : tensor<8xf32>
}
""",
    )
    assert '%0 = "stablehlo.sort"(%arg0)' in program.text()
    assert "^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):" in program.text()


@pytest.mark.parametrize(("used", "left"), [((1,), "(%arg1 init: %arg3)"), ((0,), None), ((0, 1), None)])
def test_unused_results_of_reductions_are_dropped(used: tuple[int, ...], left: str | None) -> None:
    """The second result is made of the second operand alone, the first one of both."""
    program = folded(
        f"""
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<f32>, %arg3: tensor<f32>)
    -> ({", ".join(["tensor<f32>"] * len(used))}) {{
  %0:2 = stablehlo.reduce(%arg0 init: %arg2), (%arg1 init: %arg3) across dimensions = [0]
      : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
   reducer(%arg4: tensor<f32>, %arg5: tensor<f32>) (%arg6: tensor<f32>, %arg7: tensor<f32>) {{
    %1 = stablehlo.maximum %arg6, %arg7 : tensor<f32>
    %2 = stablehlo.add %arg4, %arg5 : tensor<f32>
    %3 = stablehlo.multiply %2, %1 : tensor<f32>
    stablehlo.return %3, %1 : tensor<f32>, tensor<f32>
  }}
  return {", ".join(f"%0#{index}" for index in used)} : {", ".join(["tensor<f32>"] * len(used))}
}}
"""
    )
    (reduce,) = {id(value.entry.op): value.entry.op for value in program.values.of_op("reduce")}.values()
    assert len(reduce.operands) == (2 if left else 4)
    if left:
        assert f"stablehlo.reduce{left} applies stablehlo.maximum across dimensions = [0]" in program.text()
