"""Programs that ask for too much end in diagnostics with a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py.cli.interpret import main

SIZE = "%n = stablehlo.constant dense<1000000000000> : tensor<1xi64>"
TOO_MANY = "elements in one tensor, more than the limit of "
IOTA = f"""{SIZE}
%0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>"""
BROADCAST = f"""{SIZE}
%0 = stablehlo.dynamic_broadcast_in_dim %f, %n, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>"""
PAD = f"""{SIZE}
%z = stablehlo.constant dense<0> : tensor<1xi64>
%0 = stablehlo.dynamic_pad %x, %f, %n, %z, %z
  : (tensor<2xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>"""
STATIC = """%0 = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<1000000x1000000xf32>"""
DOUBLING = """%c = stablehlo.convert %x : (tensor<2xf32>) -> tensor<?xf32>
%0 = stablehlo.while(%y = %c) : tensor<?xf32> cond {
  %t = stablehlo.constant dense<true> : tensor<i1>
  stablehlo.return %t : tensor<i1>
} do {
  %z = stablehlo.concatenate %y, %y, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  stablehlo.return %z : tensor<?xf32>
}"""
ENDLESS = DOUBLING.replace("?", "2").replace("stablehlo.concatenate %y, %y, dim = 0", "stablehlo.add %y, %y")
ENDLESS = ENDLESS.replace(" : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>", " : tensor<2xf32>")
DEVICES = """%0 = sdy.manual_computation(%x) in_shardings=[<mesh<["a"=9999999]>, [{}]>]
  out_shardings=[<mesh<["a"=9999999]>, [{}]>] manual_axes={"a"} (%y: tensor<2xf32>) {
  sdy.return %y : tensor<2xf32>
} : (tensor<2xf32>) -> tensor<2xf32>"""
WINDOW = """%0 = "stablehlo.reduce_window"(%x, %f) <{window_dimensions = array<i64: 2000000000000>,
  padding = dense<[[1000000000000, 999999999998]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2xf32>, tensor<f32>) -> tensor<1xf32>"""
SHIFT = "%0 = chlo.broadcast_shift_left %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"
CALL = "%0 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x) : (tensor<2xf32>) -> tensor<2xf32>"
ITSELF = "func.call @main(%x, %f) : (tensor<2xf32>, tensor<f32>) -> ()"

TOO_MUCH = (IOTA, BROADCAST, PAD, STATIC, DOUBLING, ENDLESS, ITSELF, DEVICES)


def program_of(body: str) -> str:
    return f"func.func @main(%x: tensor<2xf32>, %f: tensor<f32>) {{\n{body}\nreturn\n}}\n"


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (IOTA, 3, "'stablehlo.dynamic_iota' op has 1000000000000 " + TOO_MANY),
        (BROADCAST, 3, "'stablehlo.dynamic_broadcast_in_dim' op has 1000000000000 " + TOO_MANY),
        (PAD, 4, "'stablehlo.dynamic_pad' op has 1000000000002 " + TOO_MANY),
        (STATIC, 2, "'stablehlo.broadcast_in_dim' op has 1000000000000 " + TOO_MANY),
        (DOUBLING, 7, "'stablehlo.concatenate' op has 2048 " + TOO_MANY),
        (ENDLESS, 3, "exceeds the limit of 1000 executed ops"),
        (DEVICES, 2, "devices: expected at most 1048576, got 9999999"),
        (WINDOW, 2, "'stablehlo.reduce_window' op has 2000000000000 " + TOO_MANY),
        (SHIFT, 2, "'chlo.broadcast_shift_left' op cannot run on elements of float32, float32"),
        (CALL, 2, "'stablehlo.custom_call' op @stablehlo.dynamic_top_k does not take 1 operands"),
        (ITSELF, 1, "calls nest too deep to run"),
    ],
)
def test_programs_that_ask_for_too_much(
    body: str, line: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(program_of(body))
    limits = [] if body is ITSELF else ["--max-elements", "1024", "--max-steps", "1000"]
    assert main([str(path), "--random", "0", *limits]) == 1
    error = capsys.readouterr().err
    assert f"{path}:{line}:" in error
    assert message in error
    assert error.count("' op ") == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "argument %x has 1000000000000 " + TOO_MANY),
        (["--devices", "999999x999999"], "devices: expected at most 1048576, got 999998000001"),
    ],
)
def test_inputs_and_devices(
    flags: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.mlir"
    size = "2" if flags else "1000000x1000000"
    path.write_text(f"func.func @main(%x: tensor<{size}xf32>) {{\nreturn\n}}\n")
    assert main([str(path), "--random", "0", *flags]) == 1
    assert message in capsys.readouterr().err
