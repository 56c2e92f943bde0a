"""What all nine commands have in common: version, help, and messages about misspelled flags and values."""

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
        ("hlo-layout drw f32[3]", "unknown command 'drw': expected one of 'draw', 'bytes', "),
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


def test_values_that_look_like_flags_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("hlo-layout", "bytes", "--", "--nope") != SUCCESS
    assert "expected a shape" in capsys.readouterr().err


EXIT_CODES = {"sdy-check": TROUBLE, "sdy-diff": TROUBLE}
"""Of wrong use; 1 is an answer of these commands."""


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_use_has_its_exit_code(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "--no-such-flag") == EXIT_CODES.get(command, FAILURE)
    assert run(command, "--help") == SUCCESS
    text = " ".join(capsys.readouterr().out.split())
    if command in EXIT_CODES:
        assert "2: invalid input or command line, or an internal error." in text
