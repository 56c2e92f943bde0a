"""`--as-compiled` and `--as-written`: programs of JAX as XLA changes them before it propagates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardy_py.api import Program
from shardy_py.base.releases import NEWEST
from shardy_py.cli.check import main as sdy_check
from shardy_py.cli.diff import main as sdy_diff
from shardy_py.cli.interpret import main as stablehlo_interpret
from shardy_py.cli.opt import main as sdy_opt
from shardy_py.cli.view import main as shardy_view

_COUNTS = "attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32}"

# XLA folds x + 0 before it propagates, and with it the op that has no sharding of its own.
JAX = (
    f"module @jit_f {_COUNTS} "
    """{
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
      -> (tensor<16xf32> {jax.result_info = ""}) {
    %zero = stablehlo.constant dense<0.0> : tensor<16xf32>
    %0 = stablehlo.add %arg0, %zero : tensor<16xf32>
    %1 = call @twice(%0) : (tensor<16xf32>) -> tensor<16xf32>
    return %1 : tensor<16xf32>
  }
  func.func private @twice(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}
"""
)
REMARK = (
    f"remark: taken as {NEWEST} compiles it: the module is named @jit_f; --as-written takes it as written"
)
WRITTEN = f"remark: taken as written: no trace of JAX; --as-compiled takes it as {NEWEST} compiles it"
PROPAGATE = "--sdy-propagation-pipeline"


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "f.mlir"
    path.write_text(JAX)
    return str(path)


def _report(command: list[str], capsys: pytest.CaptureFixture[str]) -> object:
    assert sdy_opt(command) == 0
    return json.loads(capsys.readouterr().out)["memory"]


def test_reports_of_sdy_opt(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = [program, PROPAGATE, "--memory-report=linear", "--json"]
    compiled = _report([*report, "--as-compiled"], capsys)
    assert compiled != _report([*report, "--as-written"], capsys)
    assert compiled == _report(report, capsys)


def test_sdy_opt_prints_the_program_as_its_passes_make_it(
    program: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert sdy_opt([program, PROPAGATE]) == 0
    printed = capsys.readouterr()
    assert REMARK not in printed.err
    out = tmp_path / "out.mlir"
    assert sdy_opt([program, PROPAGATE, "--memory-report", "-o", str(out)]) == 0
    assert REMARK in capsys.readouterr().err
    assert out.read_text() == printed.out
    assert sdy_opt([program, "--as-compiled", PROPAGATE]) == 0
    assert capsys.readouterr().out != printed.out


def test_reports_without_propagation_are_on_the_program_as_it_is(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sdy_opt([program, "--memory-report"]) == 0
    assert REMARK not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "arguments"), [(sdy_check, ["--fail-on", "never"]), (sdy_diff, ["--propagate"])]
)
def test_commands_that_propagate_compile_programs_of_jax(
    command: object, arguments: list[str], program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(command)
    programs = [program] * (2 if command is sdy_diff else 1)
    assert command([*programs, *arguments]) == 0
    assert REMARK in capsys.readouterr().err
    for flag in ("--as-written", "--as-compiled"):
        assert command([*programs, *arguments, flag]) == 0
        assert REMARK not in capsys.readouterr().err


def test_other_programs_are_taken_as_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.mlir"
    path.write_text(JAX.replace(f"@jit_f {_COUNTS}", "").replace("jax.result_info", "other.info"))
    assert sdy_check([str(path), "--fail-on", "never"]) == 0
    assert WRITTEN in capsys.readouterr().err
    assert sdy_opt([str(path), PROPAGATE, "--memory-report"]) == 0
    assert capsys.readouterr().err.count(WRITTEN) == 1


def test_diff_of_inner_report(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folded = tmp_path / "g.mlir"
    folded.write_text(Program.parse(JAX, as_compiled=True).text())
    assert sdy_diff([program, str(folded), "--propagate", "--exit-code"]) == 0
    assert sdy_diff([program, str(folded), "--propagate", "--exit-code", "--as-written"]) == 1


def test_commands_that_do_not_propagate_compile_on_request(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shardy_view(["--program", program]) == 0
    written = capsys.readouterr().out
    assert shardy_view(["--program", program, "--as-compiled"]) == 0
    assert len(capsys.readouterr().out.splitlines()) < len(written.splitlines())
    assert stablehlo_interpret([program, "--random", "0"]) == 0
    expected = capsys.readouterr().out
    assert stablehlo_interpret([program, "--random", "0", "--as-compiled"]) == 0
    assert capsys.readouterr().out == expected


def test_only_one_of_the_flags(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sdy_check([program, "--as-written", "--as-compiled"]) == 2
    assert "not allowed with argument" in capsys.readouterr().err
