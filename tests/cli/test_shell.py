"""What surrounds a command: exit codes, failures as messages, files written whole."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shardy_py.base.errors import Diagnostic, Position, ShardyError
from shardy_py.base.files import write_whole
from shardy_py.cli.shell import (
    BUG,
    FAILURE,
    INTERRUPTED,
    SUCCESS,
    Files,
    run_command,
    usage_error,
)


def run(work: Callable[[Files], int]) -> int:
    return run_command("greet", lambda arguments: None, lambda options, files: work(files), [])


def raising(error: BaseException) -> Callable[[Files], int]:
    def work(files: Files) -> int:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (usage_error("no such flag"), FAILURE, "greet: no such flag\n"),
        (ShardyError("no mesh"), FAILURE, "greet: error: no mesh\n"),
        (KeyboardInterrupt(), INTERRUPTED, ""),
        (MemoryError(), FAILURE, "greet: error: out of memory\n"),
        (MemoryError("no 8 GiB"), FAILURE, "greet: error: out of memory: no 8 GiB\n"),
        (RecursionError(), FAILURE, "greet: error: the program is nested too deeply\n"),
    ],
)
def test_failures_and_their_codes(
    error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(raising(error)) == code
    assert capsys.readouterr() == ("", message)


def test_errors_in_arguments_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    def parse(arguments: list[str]) -> str:
        raise ShardyError.unknown("greeting", arguments[0], ("hello", "bye"))

    assert run_command("greet", parse, lambda options, files: SUCCESS, ["helo"]) == FAILURE
    message = "greet: unknown greeting 'helo': expected one of 'hello', 'bye'; did you mean 'hello'?\n"
    assert capsys.readouterr() == ("", message)


def test_a_bug_asks_for_a_report(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SDY_OPT_TRACEBACK", raising=False)
    assert run(raising(KeyError("lost"))) == BUG
    assert capsys.readouterr().err.startswith("greet: internal error: KeyError: 'lost'\nPlease report it")
    monkeypatch.setenv("SDY_OPT_TRACEBACK", "1")
    with pytest.raises(KeyError):
        run(raising(KeyError("lost")))


def test_mistakes_in_a_file_show_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program"
    path.write_text("one\ntwo\n")

    def work(files: Files) -> int:
        source = files.read(str(path))
        raise ShardyError(Diagnostic("not a number", Position(source.file, 2, 2)))

    assert run(work) == FAILURE
    assert capsys.readouterr().err == f"{path}:2:2: error: not a number\ntwo\n ^\n"


def test_mistakes_without_a_place_name_the_only_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "a.mlir", tmp_path / "b.mlir"
    first.write_text("")
    second.write_text("")

    def work(*names: Path) -> Callable[[Files], int]:
        def read(files: Files) -> int:
            for name in names:
                files.read(str(name))
            raise ShardyError("no mesh")

        return read

    assert run(work(first)) == FAILURE
    assert capsys.readouterr().err == f"{first}: error: no mesh\n"
    assert run(work(first, second)) == FAILURE
    assert capsys.readouterr().err == "greet: error: no mesh\n"


def test_nesting_names_the_file_that_was_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program"
    path.write_text("")

    def work(files: Files) -> int:
        files.read(str(path))
        raise RecursionError

    assert run(work) == FAILURE
    assert capsys.readouterr().err == f"{path}: error: the program is nested too deeply\n"


def test_output_in_the_characters_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    octets = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(octets, encoding="ascii"))
    assert run(lambda files: files.show("│ · │ é")) == SUCCESS
    assert octets.getvalue() == b"| . | \\xe9\n"


@pytest.mark.parametrize("name", ["nowhere", "", "a\0b", "binary"])
def test_files_that_cannot_be_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(b"ab\xff")
    assert run(lambda files: len(files.read(name).text)) == FAILURE
    shown = name.replace("\0", "\\00")
    start = "binary: error: expected a program" if name == "binary" else f"cannot open input file '{shown}': "
    assert capsys.readouterr().err.startswith(start)


@pytest.mark.parametrize("name", ["no/file", "", "a\0b"])
def test_files_that_cannot_be_written(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ShardyError) as caught:
        Files().write(name, "text")
    assert caught.value.first.message.startswith(f"cannot open output file '{name}': ")
    assert list(tmp_path.iterdir()) == []


def test_standard_streams(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"text\n")))

    def work(files: Files) -> int:
        source = files.read("-")
        assert source.file == "<stdin>"
        files.write("-", source.text * 2)
        return SUCCESS

    assert run(work) == SUCCESS
    assert capsys.readouterr() == ("text\ntext\n", "")


def test_files_keep_their_mode_and_links(tmp_path: Path) -> None:
    target, link = tmp_path / "file", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    write_whole(str(link), "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    write_whole(str(tmp_path / "fresh"), "x")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o666 & ~mask
    write_whole(os.devnull, "x")
