"""The command: a sharding or a program in, words and pictures out; mistakes without a traceback."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from shardy_py.cli.view import main

PROGRAM = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %arg1: !stablehlo.token) -> tensor<8x4xf32> {
  %0 = stablehlo.negate %arg0 : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""
X = ["--mesh", '["x"=2]']


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.mlir").write_text(PROGRAM)
    return "p.mlir"


def test_the_page_is_true(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = root / "docs" / "local_shapes.md"
    results = doctest.testfile(str(page), module_relative=False)
    assert (results.failed, results.attempted > 5) == (0, True)
    capsys.readouterr()
    commands = re.findall(r"```console\n\$ shardy-view (.*)\n((?:.*\n)*?)```", page.read_text())
    assert len(commands) == 2
    for arguments, output in commands:
        if output:
            assert main(shlex.split(arguments)) == 0
            assert capsys.readouterr().out == output


@pytest.mark.parametrize(
    "arguments",
    [
        ['<@mesh, [{"x"}, {}]>', "--mesh", '<["x"=2]>', "--shape", "4x2"],
        ['#sdy.sharding<@mesh, [{"x"}, {}]>', "--mesh", '#sdy.mesh<["x"=2]>', "--shape", "4x2xf32"],
        ['<mesh<["x"=2]>, [{"x"}, {}]>', "--shape", "tensor<4x2xf32>"],
        [' [{"x"}, {}]', "--mesh", 'sdy.mesh @m = <["x"=2]>', "--shape", "4x2xcomplex<f32>"],
        ['[{"x"}, {}]', "--mesh", 'mesh<["x"=2]>', "--shape", "4x2"],
    ],
)
def test_spellings(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert not err
    assert "every device allocates 2x2: 4 elements (50%)" in out
    assert "0:2 │ 0   │" in out


def test_scalar(capsys: pytest.CaptureFixture[str]) -> None:
    for shape in ("scalar", "f32", "tensor<f32>"):
        assert main(["[]", *X, "--shape", shape]) == 0
        assert "tensor scalar: 1 element" in capsys.readouterr().out


def test_no_picture_for_an_unknown_device(tmp_path: Path) -> None:
    file = tmp_path / "picture.svg"
    assert main(['[{"x"}]', *X, "--shape", "8", "--device", "7", "--svg", str(file)]) == 1
    assert not file.exists()


def test_svg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "picture.svg"
    assert main(['[{"x"}]', *X, "--shape", "8", "--svg", str(file)]) == 0
    assert capsys.readouterr().out.startswith("sharding ")
    assert main(['[{"x"}]', *X, "--shape", "8", "--svg", "-"]) == 0
    assert capsys.readouterr().out == file.read_text()
    assert file.read_text().startswith("<svg ")


def test_terminal_without_boxes() -> None:
    command = [
        sys.executable,
        "-c",
        "import sys; from shardy_py.cli.view import main; sys.exit(main())",
        '[{"\u00e9"}]',
        "--mesh",
        '["\u00e9"=2]',
        "--shape",
        "8",
    ]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    run = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert b"+-----+-----+" in run.stdout
    assert b'along "\\C3\\A9"' in run.stdout


def test_value_of_a_manual_computation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.mlir"
    file.write_text("""
sdy.mesh @mesh = <["m"=2, "f"=2]>
func.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"m", "f"}]>] out_shardings=[<@mesh, [{"m"}]>]
      manual_axes={"m"} (%arg1: tensor<8xf32>) {
    sdy.return %arg1 : tensor<8xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
""")
    assert main(["--program", str(file), "--value", "%arg1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        '%arg1 is manual along "m"; the following describes its local tensor\nsharding <@mesh, [{"f"}]>\n'
    )
    assert main(["--program", str(file), "--device", "3"]) == 0
    assert "[12:16]" in capsys.readouterr().out


def test_huge_mesh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['[{"x"}]', "--mesh", '["x"=1099511627776]', "--shape", "8", "--device", "7"]) == 0
    out = capsys.readouterr().out
    assert "1,099,511,627,776 devices" in out
    assert "│ 0   │ 1   │ 2   │ 3   │ 4   │ 5   │ ... │ (1099511627775) │" in out
    assert "holds [7:8]" in out
    assert main(["[{}]", "--mesh", '["x"=1099511627776]', "--shape", "8"]) == 0
    assert "│ 1,099,511,627,776 devices │" in capsys.readouterr().out


def test_program(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--program", program, "--device", "1"]) == 0
    rows = [re.split(" {2,}", line) for line in capsys.readouterr().out.splitlines()]
    assert rows == [
        ["value", "type", "sharding", "each device", "copies", "device 1"],
        ["%arg0", "8x4xf32", '<@mesh, [{"x"}, {}]>', "4x4xf32", "1", "[4:8, 0:4]"],
        ["%0", "8x4xf32", "-", "8x4xf32", "2", "[0:8, 0:4]"],
        ["result 0", "8x4xf32", "-", "8x4xf32", "2", "[0:8, 0:4]"],
    ]


def test_one_value_of_a_program(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--program", program, "--value", "%arg0", "--device", "1"]) == 0
    out = capsys.readouterr().out
    assert 'dimension 0 of 8: sharded along "x" into 2 shards of 4' in out
    assert "holds [4:8, 0:4]" in out
    assert main(["--program", program, "--value", "%0"]) == 0
    assert 'each element is on 2 devices, which differ along "x"' in capsys.readouterr().out
    assert main(["--program", program, "--value", "%0", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["value"], row["local_shape"], row["copies"]) == ("%0", [8, 4], 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "shardy-view: sharding and shape missing"),
        (['[{"x"}]'], "shardy-view: shape missing"),
        (['[{"x"}]', "--shape", "8"], "shardy-view: the sharding refers to mesh @mesh: define it by --mesh"),
        (
            ['<mesh<["x"=2]>, [{"x"}]>', *X, "--shape", "8"],
            "--mesh cannot be combined with a sharding that has an inlined mesh",
        ),
        (['[{"x"}', *X, "--shape", "8"], "<sharding>:1:15: error: expected ']'"),
        (['[{"x"}] ]', *X, "--shape", "8"], "error: expected '>'"),
        (['<@m, [{"x"}]> ]', *X, "--shape", "8"], "error: expected the end of the text"),
        (['[{"x"}]', "--mesh", '["x"=2', "--shape", "8"], "<mesh>:1:8: error: expected ']'"),
        (['[{"x"}]', "--mesh", '["x"=0]', "--shape", "8"], "axis size must be at least 1, got: 0"),
        (['[{"z"}]', *X, "--shape", "8"], 'on mesh <["x"=2]>: unknown axis name: "z"'),
        (['[{"x"}, {"x"}]', *X, "--shape", "8x8"], 'duplicate axis ref: "x"'),
        (['[{"x"}]', *X, "--shape", "8x8"], "expected rank 2 of the tensor, got rank 1"),
        (
            ['[{"x"}]', *X, "--shape", "8x?"],
            "argument --shape: expected sizes like 8x16, or scalar, got '8x?'",
        ),
        (['[{"x"}]', *X, "--shape", "9" * 25], "expected sizes like 8x16, or scalar"),
        (['[{"x"}]', *X, "--shape", "foo"], "expected sizes like 8x16, or scalar, got 'foo'"),
        (
            ['[{"x"}]', *X, "--shape", "8", "--device", "2"],
            'mesh <["x"=2]>: expected a device from 0 to 1, got 2',
        ),
        (['[{"x"}]', *X, "--shape", "8", "--device", "two"], "invalid int value: 'two'"),
        (
            ['[{"x"}]', *X, "--shape", "8", "--value", "%0"],
            "--value and --json require --program",
        ),
        (["--program", "gone.mlir"], "cannot open input file 'gone.mlir': No such file or directory"),
        (["--program", "p.mlir", *X], "--program cannot be combined with a sharding"),
        (["--program", "p.mlir", "--value", "%7"], "unknown value '%7'"),
        (["--program", "p.mlir", "--value", "%arg1"], "expected a ranked tensor of the program"),
        (["--program", "p.mlir", "--svg", "-"], "--svg draws a single sharding; add --value"),
        (["--program", "p.mlir", "--device", "9"], "expected a device from 0 to 1, got 9"),
        (['[{"x"}]', *X, "--shape", "8", "--svg", "gone/x.svg"], "cannot open output file 'gone/x.svg'"),
    ],
)
def test_mistakes(
    arguments: list[str], message: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert message in err
    assert not out
