"""The command `sdy-compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardy_py.cli.compare import main
from tests.report.compiled.compiled_program import COMPILED, LINE_9, PROGRAM


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, text in (("a.mlir", PROGRAM), ("a.hlo", COMPILED)):
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in ("a.mlir", "a.hlo")]


def test_a_program_and_what_was_compiled_of_it(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*files, "--exit-code"]) == 0
    out = capsys.readouterr().out
    row = next(
        line.split("  ") for line in out.splitlines() if line.startswith("all_reduce") and "x=4" in line
    )
    assert [cell.strip() for cell in row[-2:]] == ["bf16 widened to f32", "model.py:7:3 jit(f)/dot"]
    assert "Joined with the forecast: 100 % by its metadata." in out


def test_outputs(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sarif = tmp_path / "out.sarif"
    assert main([*files, "--json", "--sarif", str(sarif)]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["bytes"] == 480
    assert json.loads(sarif.read_text())["runs"][0]["tool"]["driver"]["name"] == "sdy-compare"
    assert main([*files, "--csv"]) == 0
    assert capsys.readouterr().out.count("\n") == 3


def test_the_exit_code_tells_what_was_not_forecast(files: list[str]) -> None:
    Path(files[1]).write_text(
        COMPILED.replace(LINE_9, LINE_9.replace("9}", "12}")).replace("constraint", "other")
    )
    assert main(files) == 0
    assert main([*files, "--exit-code"]) == 1


def test_two_compiled_programs(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "b.hlo"
    other.write_text(COMPILED.replace("f32[8,8]", "bf16[8,8]"))
    assert main([files[1], files[1], "--exit-code"]) == 0
    assert capsys.readouterr().out == "jit_f as two compilers made it: no differences\n"
    assert main([files[1], str(other), "--exit-code"]) == 1
    assert [line.split() for line in capsys.readouterr().out.split("\n")[6:9]] == [
        ["line", "collective", "devices", "tensor", "count", "runs", "results"],
        ["model.py:7", "-", "all_reduce", "{0,1,2,3}", "8x8xf32", "1", "1", "256", "B"],
        ["+", "all_reduce", "{0,1,2,3}", "8x8xbf16", "1", "1", "128", "B"],
    ]
    assert main([files[1], str(other), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"][0]["location"] == "model.py:7"
    assert main([files[1], str(other), "--sarif", "-"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    found = next(each for each in run["results"] if each["ruleId"] == "SDYC004")
    assert found["message"]["text"] == (
        "sends 1 all_reduce of 8x8xbf16, 128 B; before: 1 all_reduce of 8x8xf32, 256 B"
    )
    place = found["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("model.py", 7)


def test_a_folder_that_xla_dumped(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "dump"
    given = folder / "module_0003.jit_f"
    given.mkdir(parents=True)
    (given / "module.mlir").write_text(PROGRAM)
    (folder / "module_0003.jit_f.sm_9.0a_gpu_after_optimizations.txt").write_text(COMPILED)
    (folder / "module_0004.jit_larger.cpu_after_optimizations.txt").write_text(COMPILED * 2)
    (folder / "module_0004.jit_larger.before_optimizations.txt").write_text(f"// {'-' * 9999}\n{COMPILED}")
    assert main([str(given / "module.mlir"), str(folder), "--exit-code"]) == 2  # its name is not jit_f
    capsys.readouterr()
    named = tmp_path / "named.mlir"
    named.write_text(f"module @jit_f {{{PROGRAM}}}")
    assert main([str(named), str(folder), "--exit-code", "--as-written"]) == 0
    assert "remark: read module_0003.jit_f.sm_9.0a_gpu_after_optimizations.txt" in capsys.readouterr().err
    (folder / "module_0004.jit_larger.before_optimizations.txt").unlink()
    (folder / "module_0004.jit_larger.cpu_after_optimizations.txt").unlink()
    assert main([str(folder), "--exit-code"]) == 0
    assert main([str(folder), str(folder), "--exit-code"]) == 0
    assert capsys.readouterr().out.endswith("jit_f as two compilers made it: no differences\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "-"], "sdy-compare: only one of the programs can be standard input"),
        (["a.mlir"], "sdy-compare: expected a compiled program, or one folder that XLA dumped"),
        (
            ["a.mlir", "a.mlir"],
            "a.mlir: error: expected HLO of a compiled program, got MLIR; pass compiled.as_text()",
        ),
        (["a.mlir", "/nowhere"], "cannot open input file '/nowhere'"),
        (
            ["a.mlir", "a.hlo", "--json", "--csv"],
            "standard output can take one of --json, --csv and --sarif only",
        ),
        (["a.hlo", "a.hlo", "--csv"], "--csv is for a program and what was compiled of it"),
        (["a.mlir", "a.hlo", "--target", "abacus"], "sdy-compare: argument --target: unknown"),
        (["a.mlir", "."], "expected a file, or a folder that XLA or Shardy dumped"),
    ],
)
def test_mistakes(
    files: list[str],
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(Path(files[0]).parent)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_damaged_assignment_names_its_file(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a-buffer-assignment.txt").write_text("nothing")
    assert main(files) == 2
    assert (
        "a-buffer-assignment.txt: error: expected a buffer assignment of XLA, got no allocations"
        in capsys.readouterr().err
    )
