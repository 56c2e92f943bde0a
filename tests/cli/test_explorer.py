"""The command `shardy-explorer`."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py.cli.explorer import main
from tests.api.programs import MATMUL
from tests.report.compiled.compiled_program import COMPILED, PROGRAM
from tests.viewer.explorer.test_page import explorer_data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    sharded = MATMUL.replace('loc("x")', '{sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>} loc("x")')
    for name, text in (("a.mlir", MATMUL), ("b.mlir", sharded), ("bad.mlir", "func.func @main(")):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_file_is_named_as_the_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["a.mlir"]) == 0
    html = (folder / "a.html").read_text()
    assert "<title>a.mlir</title>" in html
    assert capsys.readouterr().out == f"a.html: {len(html) / 1000:,.0f} kB\n"


def test_two_programs(folder: Path) -> None:
    assert main(["a.mlir", "b.mlir", "-o", "two.html", "--partitioner", "shardy"]) == 0
    assert main(["a.mlir", "-o", "one.html"]) == 0
    assert (folder / "two.html").read_text() != (folder / "one.html").read_text()


def test_a_compiled_program(folder: Path) -> None:
    (folder / "p.mlir").write_text(PROGRAM)
    (folder / "p.hlo").write_text(COMPILED)
    assert main(["p.mlir", "--compiled", "p.hlo"]) == 0
    compiled = explorer_data((folder / "p.html").read_text())["compiled"]
    assert [each["name"] for each in compiled["collectives"]] == ["sum.1", "gather"]


def test_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["a.mlir", "-o", "-", "--no-propagate", "--no-source"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")
    assert sorted(path.name for path in folder.iterdir()) == ["a.mlir", "b.mlir", "bad.mlir"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bad.mlir"], "bad.mlir:1:16: error: "),
        (
            ["a.mlir", "-o", "nowhere/a.html"],
            "cannot open output file 'nowhere/a.html': No such file or directory",
        ),
        (["-", "-"], "shardy-explorer: only one of the programs can be standard input"),
        (["a.mlir", "--compiled", "missing.hlo"], "cannot open input file 'missing.hlo'"),
        (["a.mlir", "b.mlir", "--compiled", "a.hlo"], "shardy-explorer: --compiled is for one program"),
        (["-", "--compiled", "-"], "shardy-explorer: only one of the programs can be standard input"),
        (["missing.mlir"], "cannot open input file 'missing.mlir'"),
        (["a.mlir", "--model", "tpu-v99"], "unknown"),
    ],
)
def test_mistakes(
    folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    assert message in capsys.readouterr().err
    assert not list(folder.glob("*.html"))
