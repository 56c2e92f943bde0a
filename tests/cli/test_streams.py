"""Streams that are closed or full, links, long names, names that would control a terminal, interrupts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shardy_py.cli import main
from shardy_py.cli.check import main as check
from shardy_py.cli.shell import write_whole
from shardy_py.commands import run

SMALL = "func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n  return %arg0 : tensor<4xf32>\n}\n"
NAMES = ("hlo_indexing", "layout", "check", "diff", "view")
COMMANDS = ("shardy_py.cli", *(f"shardy_py.cli.{name}" for name in NAMES))


def _shell(module: str, redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = " ".join(arguments)
    script = f"import sys; from {module} import main; sys.exit(main(sys.argv[1:]))"
    command = f'exec "$PYTHON" -c "{script}" {words} {redirection}'
    environment = {**os.environ, "PYTHON": sys.executable}
    return subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, env=environment, timeout=120, check=False
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, which Linux has")
@pytest.mark.parametrize("module", COMMANDS)
def test_a_full_standard_output_is_an_error(module: str) -> None:
    finished = _shell(module, "> /dev/full", "--help")
    assert finished.returncode == 1
    assert "cannot open output file '-': No space left on device" in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize("module", COMMANDS)
def test_a_closed_standard_output_is_an_error(module: str) -> None:
    finished = _shell(module, ">&-", "--help")
    assert (finished.returncode, "Traceback" in finished.stderr) == (1, False)
    assert "cannot open output file '-'" in finished.stderr


def test_a_closed_standard_error_changes_no_exit_code(tmp_path: Path) -> None:
    finished = _shell("shardy_py.cli", "2>&-", str(tmp_path / "missing.mlir"))
    assert (finished.returncode, finished.stdout) == (1, "")


def test_the_output_may_be_a_link_or_have_a_long_name(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link, long = tmp_path / "folder" / "target", tmp_path / "link", tmp_path / ("n" * 250)
    link.symlink_to(target)
    for path in (link, long):
        write_whole(str(path), "text")
        assert path.read_text() == "text"
    assert link.is_symlink()
    assert target.read_text() == "text"
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["target"]


def test_an_output_onto_a_loop_of_links_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loop, program = tmp_path / "loop", tmp_path / "program.mlir"
    loop.symlink_to(loop)
    program.write_text(SMALL)
    assert main([str(program), "-o", str(loop)]) == 1
    assert f"cannot open output file '{loop}'" in capsys.readouterr().err


def test_names_cannot_control_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.mlir"
    program.write_text('"a\x1b[31mb"() : () -> ()\n// \u202e\n')
    assert main([str(program)]) == 1
    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert "\\1B[31m" in shown


def test_an_interrupt_while_a_command_loads_leaves_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "interrupted_command.py").write_text("raise KeyboardInterrupt\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert run("interrupted_command") == 130


def test_commands_read_bytecode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jax", reason="MLIR bytecode is read by jaxlib")
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    program, damaged = tmp_path / "program.mlirbc", tmp_path / "damaged.mlirbc"
    with mlir.make_ir_context(), program.open("wb") as file:
        ir.Module.parse(SMALL).operation.write_bytecode(file)
    damaged.write_bytes(program.read_bytes()[:40])
    for command in (main, check):
        assert command([str(program)]) == 0
        assert command([str(damaged)]) == 1
        assert f"{damaged}: error: jaxlib cannot read this MLIR bytecode: " in capsys.readouterr().err
