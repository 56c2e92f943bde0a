"""The command: HLO and MLIR, text and JSON, mistakes with their place."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from shardy_py.cli.hlo_indexing import main

HLO = """// dumped
HloModule m
ENTRY e {
  p0 = f32[4,8] parameter(0)
  t = f32[8,4] transpose(p0), dimensions={1,0}
  n = f32[8,4] negate(t)
  ROOT s = f32[8,4] add(n, t)
}
"""
MLIR = """func.func @f(%arg0: tensor<4x8xf32>) -> tensor<8xf32> {
  %cst = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0]
    : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.hlo").write_text(HLO)
    (tmp_path / "f.mlir").write_text(MLIR)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.usefixtures("files")
def test_one_op(capsys: pytest.CaptureFixture[str]) -> None:
    expected = """\
e: t = stablehlo.transpose
  result 0 (t) -> operand 0 (p0):
    (d0, d1) -> (d1, d0),
    domain:
    d0 in [0, 7],
    d1 in [0, 3]
"""
    assert run(capsys, "m.hlo", "--op", "t") == (0, expected, "")
    assert run(capsys, "m.hlo", "--op=%t")[1] == expected
    assert run(capsys, "m.hlo", "--op", "transpose")[1] == expected


@pytest.mark.usefixtures("files")
def test_all_ops_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "m.hlo")[1]
    heads = [line for line in out.splitlines() if not line.startswith(" ")]
    assert heads == ["e: t = stablehlo.transpose", "e: n = stablehlo.negate", "e: s = stablehlo.add"]


@pytest.mark.usefixtures("files")
def test_direction_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "m.hlo", "--fusion", "--json", "--direction", "input-to-output")[1]
    assert json.loads(out) == [
        {
            "function": "e",
            "op": "",
            "kind": "fusion",
            "direction": "input-to-output",
            "pairs": [
                {
                    "result": 0,
                    "operand": 0,
                    "result_name": "s",
                    "operand_name": "p0",
                    "maps": ["(d0, d1) -> (d1, d0),\ndomain:\nd0 in [0, 3],\nd1 in [0, 7]"],
                }
            ],
        }
    ]


@pytest.mark.usefixtures("files")
def test_mlir(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "f.mlir", "--op", "stablehlo.reduce")
    assert code == 0
    assert out.startswith(
        "f: 0 = stablehlo.reduce\n  result 0 (0) -> operand 0 (arg0):\n    (d0)[s0] -> (s0, d0),"
    )
    assert run(capsys, "f.mlir", "--fusion", "--op", "@f")[1].startswith(
        "f: fusion\n  result 0 (0) -> operand 0"
    )


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(HLO.encode())))
    assert run(capsys, "-", "--op", "n")[1].startswith("e: n = stablehlo.negate\n")


@pytest.mark.usefixtures("files")
def test_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.hlo").write_text("HloModule m\ne { x = f32[3] foo() }")
    message = "bad.hlo:2:16: error: expected an opcode, got 'foo'\ne { x = f32[3] foo() }\n               ^\n"
    assert run(capsys, "bad.hlo") == (1, "", message)
    Path("bad.mlir").write_text("func.func @f() { stable }")
    code, _, err = run(capsys, "bad.mlir")
    assert (code, err.startswith("bad.mlir:1:18: error: ")) == (1, True)
    assert run(capsys, "m.hlo", "--op", "zz") == (
        1,
        "",
        "hlo-indexing: argument --op: unknown op 'zz': expected one of 't', 'n', 's'\n",
    )
    assert run(capsys, "none.hlo")[::2] == (
        1,
        "cannot open input file 'none.hlo': No such file or directory\n",
    )
    assert run(capsys)[::2] == (1, "hlo-indexing: the following arguments are required: file\n")
    Path("empty.mlir").write_text("")
    assert run(capsys, "empty.mlir")[2].startswith("empty.mlir:1:1: error: the module has no function\n")
    Path("latin.hlo").write_bytes(b"HloModule \xe9")
    fault = "latin.hlo: error: expected a program as text, bytecode or a protocol buffer, got invalid UTF-8"
    assert run(capsys, "latin.hlo")[2] == f"{fault} at byte 10\n"


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "misfit",
    [
        "f32[3] transpose(p), dimensions={4}",
        "f32[3,2] broadcast(p), dimensions={-1}",
        "f32[2] slice(p), slice={[0:2], [0:2]}",
        "f32[3] concatenate(p, p), dimensions={5}",
    ],
)
def test_misfits_have_the_place_of_their_instruction(misfit: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("misfit.hlo").write_text(f"HloModule m\ne {{\n  p = f32[3] parameter(0)\n  t = {misfit}\n}}")
    code, out, err = run(capsys, "misfit.hlo")
    assert (code, out) == (1, "")
    assert err.startswith("misfit.hlo:4:")


@pytest.mark.usefixtures("files")
def test_hlo_needs_no_xdsl() -> None:
    code = (
        "import sys; from shardy_py.cli.hlo_indexing import main; main(['m.hlo', '--fusion']);"
        " sys.exit('xdsl' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0
