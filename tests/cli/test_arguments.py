"""What all commands have in common: version, help, and messages about misspelled flags and values."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from shardy_py import __version__
from shardy_py.cli.shell import FAILURE, SUCCESS, TROUBLE
from tests.pages import COMMANDS


def run(command: str, *arguments: str) -> int:
    return import_module(COMMANDS[command]).main([*arguments])


@pytest.mark.parametrize("command", COMMANDS)
def test_version(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "--version") == SUCCESS
    out = capsys.readouterr().out
    assert out.startswith(f"{command} {__version__} (Python 3.")
    assert ", xdsl 0." in out
    assert out.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run(command, "--help") == SUCCESS
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert "xit codes: 0" in "".join(lines)


def test_the_version_is_written_once(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"] == {"path": "shardy_py/__init__.py"}


def test_the_commands_are_those_of_the_package(root: Path) -> None:
    assert set(tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]) == set(COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("sdy-opt --communication-reprot", "Did you mean '--communication-report'?"),
        ("sdy-opt --sdy-close-sharding", "Did you mean '--sdy-close-shardings'?"),
        ("sdy-opt --partitioner=xle", "did you mean 'xla'?\nnote: its values: shardy, xla"),
        ("sdy-opt --mlir-print-ir-after=cannonicalize", "did you mean 'canonicalize'?"),
        ("sdy-opt --pass-pipeline=builtin.module(symbol-dc)", "did you mean 'symbol-dce'?"),
        ("sdy-opt --sdy-propagation-pipeline=max-copied=1", "did you mean 'max-copied-ops'?"),
        (
            "sdy-opt --sdy-propagation-pipeline=propagation-strategy=agressive",
            "did you mean 'aggressive'?",
        ),
        ("sdy-check p.mlir --formt json", "unrecognized arguments: --formt; did you mean '--format'?"),
        ("sdy-check p.mlir --format jsn", "did you mean 'json'?"),
        ("sdy-check p.mlir --fail-on warnings", "did you mean 'warning'?"),
        ("sdy-check p.mlir --select sdy003", "did you mean 'SDY003'?"),
        ("sdy-check p.mlir --level SDY003=warn", "did you mean 'warning'?"),
        ("sdy-diff --propogate", "did you mean '--propagate'?"),
        ("sdy-suggest p.mlir --harware h100", "did you mean '--hardware'?"),
        ("shardy-explorer p.mlir --no-sources", "did you mean '--no-source'?"),
        ("shardy-view --progam p.mlir", "did you mean '--program'?"),
        ("hlo-indexing p.mlir --direction input-output", "did you mean 'input-to-output'?"),
        ("hlo-indexing --fuson", "did you mean '--fusion'?"),
        ("hlo-layout drw f32[3]", "invalid choice: 'drw' (choose from "),
        ("hlo-layout draw f32[3] --row 3", "unrecognized arguments: --row; did you mean '--rows'?"),
        ("stablehlo-interpret --ranom 0", "did you mean '--random'?"),
    ],
)
def test_a_misspelling_gets_a_suggestion(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments.split(" ")) != SUCCESS
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_meshes_may_be_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("shardy-view", '[{"data"}, {}]', "--shape", "8x16")
    shown: list[str] = []
    for mesh in ('["data"=2, "model"=4]', "data=2,model=4", " data=2, model=4"):
        assert run(*arguments, "--mesh", mesh) == SUCCESS
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] == shown[2]
    assert run(*arguments, "--mesh", "dta=2") == FAILURE
    err = capsys.readouterr().err
    assert "argument sharding: sharding <@mesh" in err
    assert err.endswith("did you mean 'dta'?\n[{\"data\"}, {}]\n   ^\n")


def test_values_that_look_like_flags_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("hlo-layout", "bytes", "--", "--nope") != SUCCESS
    assert "expected a shape" in capsys.readouterr().err


EXIT_CODES = {"sdy-check": TROUBLE, "sdy-compare": TROUBLE, "sdy-diff": TROUBLE}
"""Of wrong use; 1 is an answer of these commands."""


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_use_has_its_exit_code(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "--no-such-flag") == EXIT_CODES.get(command, FAILURE)
    assert run(command, "--help") == SUCCESS
    text = " ".join(capsys.readouterr().out.split())
    if command in EXIT_CODES:
        assert "2: invalid input or command line, or an internal error." in text


PROGRAM = """
sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>})
    -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


@pytest.mark.parametrize(
    ("flag", "column", "message"),
    [
        ("--why-not=%0,zero,data", 4, "dimension: expected a number from 0, got 'zero'"),
        ("--why-not=%0,7,data", 4, "expected a dimension from 0 to 1, got 7"),
        ("--why-not=%0,0,modl", 6, "unknown axis 'modl': expected one of 'data', 'model'; did you mean"),
        ("--why-not=%0", 1, "expected VALUE,DIMENSION,AXIS such as '%3,0,x', got '%0'"),
        ("--why-not=%9,0,data", 1, "unknown value '%9'"),
        ("--explain=op=dot_genral", 1, "did you mean 'op=dot_general' or"),
        ("--explain=", 1, "unknown value ''"),
        ("--communication-report=tpu-v5p,modl=tpu-dcn", 9, "unknown axis 'modl'"),
        ("--communication-report=tpu-v5p,data=tpu-dcm", 14, "did you mean 'tpu-dcn'?"),
        ("--communication-report=tpu-v5p,", 9, "or AXIS=LINK, got ''"),
        ("--time-report=tpu-v5e,topology=4", 18, "expected 2 sizes such as 4x4, got '4'"),
        ("--time-report=tpu-v5e,data=beyonf", 14, "did you mean 'beyond'?"),
        ("--time-report=tpu-v5e,dta=beyond", 9, "place of the hardware: unknown axis 'dta'"),
        ("--time-trace=step.json,h10", 11, "unknown hardware 'h10'"),
        ("--target=h100,dta=beyond", 6, "place of the hardware: unknown axis 'dta'"),
        ("--prove=x", 1, "expected the seed, a number from 0 with at most 18 digits, or floats, got 'x'"),
    ],
)
def test_errors_in_a_value_are_placed_in_the_flag(
    flag: str, column: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.mlir").write_text(PROGRAM)
    reports = ["--time-report"] if flag.startswith("--target") else []
    assert run("sdy-opt", str(tmp_path / "p.mlir"), "--sdy-propagation-pipeline", flag, *reports) == FAILURE
    out, err = capsys.readouterr()
    name, _, value = flag.partition("=")
    assert out == ""
    assert f"\n{name}:1:{column}: error: " in f"\n{err}"
    assert message in err
    assert err.endswith(f"\n{value}\n{' ' * (column - 1)}^\n")


@pytest.mark.parametrize(
    ("arguments", "column", "message"),
    [
        ("sdy-check --level SDY003=erorr", 8, "argument --level: unknown level 'erorr'"),
        ("sdy-check --select SDY003,SDY99", 8, "argument --select: unknown rule 'SDY99'"),
        ("sdy-check --model tpu-v5p,dta=tpu-dcn", 9, "argument --model: link of the cost model: unknown"),
        ("sdy-check --expect all_gather:dta", 12, "argument --expect: unknown axis 'dta'"),
        ("shardy-explorer -o x.html --model tpu-v5p,dta=tpu-dcn", 9, "unknown axis 'dta'"),
        ("sdy-suggest --mesh data=8,model=x", 14, "argument --mesh: expected a number from 1 to"),
        ("sdy-suggest --mesh data=8,data=2", 8, "argument --mesh: axis 'data' is given twice"),
        ("sdy-check --target h100,dta=beyond", 6, "argument --target: place of the hardware: unknown axis"),
        ("shardy-explorer -o x.html --target h100,dta=beyond", 6, "argument --target: place of the hardware"),
        ("sdy-suggest --target h100,dta=beyond", 6, "place of the hardware: unknown axis 'dta'"),
        ("stablehlo-interpret --devices 2x2x", 1, "argument --devices: expected a number of devices"),
    ],
)
def test_a_part_of_a_value_has_a_caret(
    arguments: str,
    column: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.mlir").write_text(PROGRAM)
    words = arguments.split(" ")
    assert run(*words, "p.mlir") == EXIT_CODES.get(words[0], FAILURE)
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert column == 1 or err.endswith(f"\n{words[-1]}\n{' ' * (column - 1)}^\n")
    assert not Path("x.html").exists()


NOWHERE = """
#loc = loc(unknown)
module {
  sdy.mesh @mesh = <["data"=2]> loc(#loc)
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"modl"}]>}) -> tensor<8xf32> {
    return %arg0 : tensor<8xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
"""
"""A program whose ops have no location, as that of @main in what JAX prints."""


@pytest.mark.parametrize(
    "command",
    [
        "sdy-opt",
        "sdy-check",
        "sdy-suggest",
        "shardy-explorer -o x.html",
        "stablehlo-interpret",
        "hlo-indexing",
        "sdy-diff p.mlir",
        "sdy-compare p.mlir",
    ],
)
def test_errors_of_ops_without_a_location_name_the_file(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.mlir").write_text(NOWHERE)
    words = command.split(" ")
    assert run(*words, "p.mlir") == EXIT_CODES.get(words[0], FAILURE)
    out, err = capsys.readouterr()
    assert out == ""
    assert """p.mlir:1:1: error: 'func.func' op arg 0 - unknown axis name: "modl"\n""" in err
    assert not Path("x.html").exists()


@pytest.mark.parametrize("command", ["sdy-opt", "sdy-check", "sdy-diff p.mlir", "sdy-compare p.mlir"])
def test_a_folder_without_programs_is_an_error_at_its_name(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.mlir").write_text(PROGRAM)
    Path("empty").mkdir()
    words = command.split(" ")
    assert run(*words, "empty") == EXIT_CODES.get(words[0], FAILURE)
    assert "\nempty: error: expected a file, or a folder that XLA" in f"\n{capsys.readouterr().err}"


def test_a_program_without_functions_is_no_mistake_of_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.mlir").write_text("")
    assert run("stablehlo-interpret", "p.mlir") == FAILURE
    assert capsys.readouterr().err.startswith("p.mlir:1:1: error: unknown function '@main'")
    assert run("stablehlo-interpret", "p.mlir", "--function", "f") == FAILURE
    assert "argument --function: unknown function '@f'" in capsys.readouterr().err
