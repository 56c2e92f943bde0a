from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shardy_py.cli.flags import FLAGS
from shardy_py.cli.opt import main
from shardy_py.cli.shell import BUG, FAILURE, SUCCESS
from shardy_py.passes import PASSES
from shardy_py.passes.pipelines import PIPELINES

PROGRAM = "module {\n  func.func @main(%arg0: tensor<8xf32>) {\n    return\n  }\n}\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def test_file_to_standard_output(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program)]) == SUCCESS
    assert capsys.readouterr() == (PROGRAM, "")


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"module {\n  oops\n}\n")))
    assert main(["-"]) == FAILURE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("<stdin>:2:3: error: ")


def test_file_to_file(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = program.with_name("out.mlir")
    assert main([str(program), "-o", str(target)]) == SUCCESS
    assert target.read_text() == PROGRAM
    assert capsys.readouterr() == ("", "")
    assert sorted(path.name for path in program.parent.iterdir()) == ["out.mlir", "program.mlir"]


def test_no_file_after_a_failure(program: Path) -> None:
    target = program.with_name("out.mlir")
    target.write_text("old")
    assert main([str(program), "--sdy-fail-here", "-o", str(target)]) == FAILURE
    assert target.read_text() == "old"


def test_missing_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nowhere.mlir"
    assert main([str(path)]) == FAILURE
    assert capsys.readouterr().err == f"cannot open input file '{path}': No such file or directory\n"


def test_input_that_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "binary"
    path.write_bytes(b"ab\xff")
    assert main([str(path)]) == FAILURE
    expected = "expected a program as text, bytecode or a protocol buffer"
    assert capsys.readouterr().err == f"{path}: error: {expected}, got invalid UTF-8 at byte 2\n"


def test_output_that_cannot_be_written(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = program.parent / "no" / "out.mlir"
    assert main([str(program), "-o", str(target)]) == FAILURE
    assert capsys.readouterr().err == f"cannot open output file '{target}': No such file or directory\n"


def test_no_report_without_the_output(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program), "--memory-report", "-o", str(program.parent / "no" / "out.mlir")]) == FAILURE
    assert capsys.readouterr().out == ""


def test_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--nope"]) == FAILURE
    assert capsys.readouterr().err.startswith("sdy-opt: Unknown command line argument '--nope'.")


def test_a_bug_of_ours(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SDY_OPT_TRACEBACK", raising=False)
    assert main([str(program), "--sdy-crash"]) == BUG
    assert capsys.readouterr().err.startswith("sdy-opt: internal error: KeyError: 'lost'\nPlease report it")
    monkeypatch.setenv("SDY_OPT_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main([str(program), "--sdy-crash"])


def test_help_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == SUCCESS
    text = capsys.readouterr().out
    words = " ".join(text.split())
    for row in (*PASSES, *PIPELINES):
        assert f"  --{row.name}\n      " in text
        assert f"--{row.name} {row.summary} " in words
        assert row.summary.endswith(".")
        for option in row.options:
            assert f"        {option.name}=<" in text
    for flag in FLAGS:
        assert f"-{flag.name}" in text


def test_help_loads_no_xdsl() -> None:
    code = (
        "import sys; from shardy_py.cli.opt import main; main(['--help']); "
        "assert not {'xdsl', 'numpy', 'networkx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, timeout=20)


def test_version_and_dialects(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == SUCCESS
    assert capsys.readouterr().out.startswith("sdy-opt 0.")
    assert main(["--show-dialects"]) == SUCCESS
    names = capsys.readouterr().out.removeprefix("Available Dialects: ").strip().split(",")
    assert {"builtin", "func", "sdy", "stablehlo"} <= set(names)


def test_a_reader_that_goes_away(program: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    code = "import sys; from shardy_py.cli.opt import main; sys.exit(main(sys.argv[1:]))"
    finished = subprocess.run(
        [sys.executable, "-c", code, str(program)],
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=20,
        check=False,
    )
    os.close(writing)
    assert (finished.returncode, finished.stderr) == (FAILURE, b"")
