"""The command `sdy-diff`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardy_py.cli.diff import main
from tests.api.programs import MATMUL


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    sharded = MATMUL.replace('loc("x")', '{sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>} loc("x")')
    for name, text in (("a.mlir", MATMUL), ("b.mlir", sharded)):
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in ("a.mlir", "b.mlir")]


def test_only_what_changed(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(files) == 0
    out = capsys.readouterr().out
    assert '%arg0: none -> <@mesh, [{}, {"data"}]>  [x]' in out
    assert "%arg1" not in out


def test_propagated(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*files, "--propagate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [change["value"] for change in found["changed"]] == ["%arg0", "%arg1"]
    assert found["after"]["collectives"] == {"all_reduce": 1}


def test_exit_code(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*files, "--exit-code"]) == 1
    assert main([files[0], files[0], "--exit-code"]) == 0
    assert capsys.readouterr().out.endswith("no differences\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "-"], "sdy-diff: only one of the programs can be standard input"),
        (["/nowhere", "/nowhere"], "cannot open input file '/nowhere'"),
        (["a"], "the following arguments are required: after"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_bad_model_and_bad_program(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*files, "--model", "abacus"]) == 2
    assert "sdy-diff: argument --model: unknown cost model 'abacus'" in capsys.readouterr().err
    bad = tmp_path / "bad.mlir"
    bad.write_text("func.func @f(")
    assert main([str(bad), files[0]]) == 2
    assert "bad.mlir:1:" in capsys.readouterr().err
