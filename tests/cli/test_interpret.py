"""The command `stablehlo-interpret`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from shardy_py.cli.interpret import main

TEXT = """func.func @main(%arg0: tensor<2xi32>, %arg1: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<2xi32>
  return %0 : tensor<2xi32>
}
"""
CHECK = """func.func @main() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %0, dense<[1, 3]> : tensor<2xi32>
  return
}
"""
PROBE = """func.func @main() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = interpreter.probe %0, probe_id = "here" : tensor<2xi32>
  return
}
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("p.mlir").write_text(TEXT)
    Path("check.mlir").write_text(CHECK)
    return "p.mlir"


def test_arrays_in_and_out(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("x.npz", **{"%arg0": np.int32([1, 2]), "1": np.int32([3, 4])})
    assert main([program, "--inputs", "x.npz", "-o", "y.npz", "--probe", "%0", "--trace"]) == 0
    out, err = capsys.readouterr()
    assert out == "result 0 = tensor<2xi32> {\n  [4, 6]\n}\n%0 = tensor<2xi32> {\n  [4, 6]\n}\n"
    assert err == "%0 stablehlo.add p.mlir:2:8: 2xint32, min 4, max 6, 0 NaN\n"
    with np.load("y.npz") as saved:
        assert {name: saved[name].tolist() for name in saved} == {"result 0": [4, 6], "%0": [4, 6]}


def test_probes_by_line_and_label(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = "--args=[dense<1> : tensor<2xi32>, dense<2> : tensor<2xi32>]"
    assert main([program, inputs, "--probe", "p.mlir:2"]) == 0
    assert capsys.readouterr().out.endswith("p.mlir:2 = tensor<2xi32> {\n  [3, 3]\n}\n")
    located = TEXT.replace("xi32>\n  return", 'xi32> loc("model.py":12:4)\n  return')
    Path("located.mlir").write_text(located)
    assert main(["located.mlir", inputs, "--probe", "model.py:12"]) == 0
    assert capsys.readouterr().out.endswith("model.py:12 = tensor<2xi32> {\n  [3, 3]\n}\n")
    assert main(["located.mlir", inputs, "--probe", "model.py:13"]) == 1
    assert "model.py:13" in capsys.readouterr().err


def test_probes_of_what_does_not_run(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A value of a function that is not called; its name is the one that is printed."""
    other = TEXT.replace("@main", "@other").replace("%0", "%sum")
    Path("two.mlir").write_text(TEXT + other)
    assert main(["two.mlir", "--random", "0", "--probe", "@other:%0"]) == 0
    assert capsys.readouterr().out.endswith("\n@other:%0 was not computed\n")


def test_a_bar_on_a_terminal(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its steps are the ops of the function that runs."""
    steps: list[object] = []

    @contextmanager
    def recorded(count: int) -> Iterator[Callable[[str], None]]:
        steps.append(count)
        yield steps.append

    monkeypatch.setattr("shardy_py.cli.interpret.can_show", lambda: True)
    monkeypatch.setattr("shardy_py.cli.interpret.progress", recorded)
    assert main([program, "--random", "0"]) == 0
    assert steps == [1, "stablehlo.add"]
    assert main([program, "--random", "0", "--no-progress"]) == 0
    assert steps == [1, "stablehlo.add"]


@pytest.mark.parametrize("moment", ["write", "replace"])
def test_ctrl_c_leaves_no_half_written_file(
    moment: str, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("y.npz").write_bytes(b"before")
    Path("probes").mkdir()
    Path("probe.mlir").write_text(PROBE)

    def interrupted(*arguments: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"os.{'chmod' if moment == 'write' else 'replace'}", interrupted)
    assert main([program, "--random", "0", "-o", "y.npz"]) == 130
    assert main(["probe.mlir", "--probe-output-dir", "probes"]) == 130
    assert Path("y.npz").read_bytes() == b"before"
    assert not list(Path("probes").iterdir())
    assert not list(Path().glob(".sdy-*"))


def test_probes_of_a_program_write_a_file_for_each_device(program: str) -> None:
    Path("probes").mkdir()
    Path("probe.mlir").write_text(PROBE)
    assert main(["probe.mlir", "--probe-output-dir", "probes", "--devices", "2"]) == 0
    files = sorted(path.name for path in Path("probes").iterdir())
    assert files == ["index.csv", "probe1.npy", "probe2.npy"]
    assert [np.load(f"probes/probe{n}.npy").tolist() for n in (1, 2)] == [[1, 2]] * 2


def test_as_stablehlo_translate(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "--args=[dense<1> : tensor<2xi32>, dense<2> : tensor<2xi32>]"
    assert main([program, "--interpret", arguments]) == 0
    assert main([program, "--interpret", "--interpreter-print-dense", arguments]) == 0
    assert capsys.readouterr().out == "tensor<2xi32> {\n  [3, 3]\n}\ndense<3> : tensor<2xi32>\n"


def test_failed_checks_have_a_place(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check.mlir"]) == 1
    message = "Element values don't match: 2 (actual) vs 3 (expected) at index [1]"
    assert f"check.mlir:3:3: error: 'check.expect_eq_const' op {message}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "expected an input for each argument, got none for %arg0, %arg1"),
        (["--args=1"], "expected array attribute string for args"),
        (["--args=[1 : i32]"], "expected dense elements attribute for args elements"),
        (["--inputs", "none.npz"], "cannot open input file 'none.npz'"),
        (["--inputs", "p.mlir"], "expected a .npz file of arrays"),
        (["--random", "1", "--devices", "0"], "expected a number of devices such as 8 or 2x4, got '0'"),
        (["--random", "1", "--probe", "%9"], "argument --probe: unknown value '%9'"),
        (
            ["--random", "1", "--function", "f"],
            "stablehlo-interpret: argument --function: unknown function '@f'",
        ),
        (["--random", "-1"], "argument --random: expected a number from 0 with at most 18 digits, got '-1'"),
        (["--random", "1", "--max-elements", "9" * 5000], "expected a number from 0 with at most 18 digits"),
        (["--random", "1", "--max-steps", "1"], "max-steps raises it"),
    ],
)
def test_mistakes(flags: list[str], message: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([program, *flags, "-o", "y.npz"]) == 1
    assert message in capsys.readouterr().err
    assert not Path("y.npz").exists()
