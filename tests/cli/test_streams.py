"""Streams that are closed or full, links, long names, names that would control a terminal, interrupts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shardy_py.base.files import write_whole
from shardy_py.cli.check import main as check
from shardy_py.cli.diff import main as diff
from shardy_py.cli.hlo_indexing import main as hlo_indexing
from shardy_py.cli.opt import main
from shardy_py.cli.view import main as view

SMALL = "func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n  return %arg0 : tensor<4xf32>\n}\n"
NAMES = ("hlo_indexing", "layout", "check", "compare", "diff", "explorer", "suggest", "view")
COMMANDS = ("shardy_py.cli.opt", *(f"shardy_py.cli.{name}" for name in NAMES))


def _shell(module: str, redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = " ".join(arguments)
    script = f"import sys; from {module} import main; sys.exit(main(sys.argv[1:]))"
    command = f'exec "$PYTHON" -c "{script}" {words} {redirection}'
    environment = {**os.environ, "PYTHON": sys.executable}
    return subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, env=environment, timeout=120, check=False
    )


def _failure(module: str) -> int:
    """The exit code of wrong use: 2 if 1 is an answer of the command."""
    return 2 if module.endswith((".check", ".compare", ".diff")) else 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, which Linux has")
@pytest.mark.parametrize("module", COMMANDS)
def test_a_full_standard_output_is_an_error(module: str) -> None:
    finished = _shell(module, "> /dev/full", "--help")
    assert finished.returncode == _failure(module)
    assert "cannot open output file '-': No space left on device" in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize("module", COMMANDS)
def test_a_closed_standard_output_is_an_error(module: str) -> None:
    finished = _shell(module, ">&-", "--help")
    assert (finished.returncode, "Traceback" in finished.stderr) == (_failure(module), False)
    assert "cannot open output file '-'" in finished.stderr


def test_a_closed_standard_error_changes_no_exit_code(tmp_path: Path) -> None:
    finished = _shell("shardy_py.cli.opt", "2>&-", str(tmp_path / "missing.mlir"))
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


INTERRUPT = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
COMMAND = """
from shardy_py.cli.shell import run_command

def work(options, files):
    try:
        {interrupt}
    except KeyboardInterrupt:
        raise {error}
    return 0

def main():
    return run_command("interrupted", list, work, [])
"""


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (INTERRUPT, -signal.SIGINT),
        (COMMAND.format(interrupt=INTERRUPT, error="KeyboardInterrupt"), 130),
        (COMMAND.format(interrupt=INTERRUPT, error="ImportError"), 130),
    ],
)
def test_an_interrupt_leaves_no_traceback(command: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(command)
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from shardy_py.cli.commands import run; "
    finished = subprocess.run(
        [sys.executable, "-c", script + "sys.exit(run('interrupted'))"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (code, "")


def test_commands_read_bytecode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    program, damaged = tmp_path / "program.mlirbc", tmp_path / "damaged.mlirbc"
    with mlir.make_ir_context(), program.open("wb") as file:
        ir.Module.parse(SMALL).operation.write_bytecode(file)
    damaged.write_bytes(program.read_bytes()[:40])
    for command, failure in ((main, 1), (check, 2)):
        assert command([str(program)]) == 0
        assert command([str(damaged)]) == failure
        assert f"{damaged}: error: MLIR bytecode at byte " in capsys.readouterr().err


PROGRAM = r"""sdy.mesh @"m\0Aerror: z" = <["a\0Aerror: z"=2, "b\1B[31m"=2, "\FF\FE"=2]>
func.func @main(
    %arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@"m\0Aerror: z", [{"a\0Aerror: z"}, {"b\1B[31m"}]>}
        loc("arg\0Aerror: z\1B[31m"("x\0Aerror: z.py":3:4)),
    %arg1: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@"m\0Aerror: z", [{}, {"\FF\FE"}]>}
        loc("\FF\FE":3:4))
    -> (tensor<8x8xf32> {jax.result_info = "res\0Aerror: z"}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
    : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32> loc("\0Aerror: z"("\0Aerror: z.py":7:8))
  %1 = stablehlo.custom_call @"cc\0Aerror: z"(%0)
    : (tensor<8x8xf32>) -> tensor<8x8xf32> loc("\FF\FE":7:8)
  %2 = call @"f\0Aerror: z"(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
func.func private @"f\0Aerror: z"(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
PROPAGATED = ("--sdy-propagation-pipeline",)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (main, (*PROPAGATED, "--memory-report")),
        (main, (*PROPAGATED, "--communication-report")),
        (main, (*PROPAGATED, "--explain=%0")),
        (main, (*PROPAGATED, "--why-not=%1,0,b\x1b[31m")),
        (main, (*PROPAGATED, "--why-not=%1,0,b")),
        (main, (*PROPAGATED, "--explain=%0", "--memory-report", "--communication-report", "--json")),
        (main, ("--mlir-print-ir-before-all", *PROPAGATED)),
        (check, ()),
        (check, ("--json",)),
        (check, ("--sarif", "-")),
        (view, ("--program",)),
        (view, ("--json", "--value=%0", "--program")),
        (diff, ("--propagate", "OTHER")),
        (diff, ("--propagate", "--json", "OTHER")),
        (hlo_indexing, ()),
        (hlo_indexing, ("--json",)),
    ],
)
def test_names_cannot_forge_lines(
    command: Callable[[list[str]], int],
    arguments: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program, other = tmp_path / "program.mlir", tmp_path / "other.mlir"
    program.write_text(PROGRAM)
    other.write_text(PROGRAM.replace(r'[{}, {"\FF\FE"}]', "[{}, {}]"))
    words = [str(other) if word == "OTHER" else word for word in arguments]
    assert command([*words, str(program)]) in (0, 1)
    captured = capsys.readouterr()
    for text in captured:
        assert not re.search("^error: z|[\x1b\x7f-\x9f]", text, re.MULTILINE)
        assert "internal error" not in text
    if {"--json", "--sarif"} & {*arguments}:
        assert not re.search("[\ud800-\udfff]", str(json.loads(captured.out)))


@pytest.mark.parametrize("names", [("good", "no/file"), ("no/file", "good"), ("good", "good")])
def test_of_two_outputs_both_are_written_or_none(
    names: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.mlir").write_text(SMALL)
    Path("good").write_text("old")
    sarif, baseline = names
    assert check(["program.mlir", "--sarif", sarif, "--write-baseline", baseline]) == 2
    assert Path("good").read_text() == "old"
    assert sorted(os.listdir()) == ["good", "program.mlir"]


@pytest.mark.parametrize(
    ("module", "redirection", "arguments"),
    [
        ("shardy_py.cli.layout", ">&-", ("draw", "'f32[3,5]'")),
        ("shardy_py.cli.opt", "<&-", ("-",)),
        ("shardy_py.cli.check", "<&-", ("-",)),
    ],
)
def test_closed_streams_are_errors(module: str, redirection: str, arguments: tuple[str, ...]) -> None:
    finished = _shell(module, redirection, *arguments)
    assert finished.returncode == _failure(module)
    assert re.match("cannot open (in|out)put file '-': Bad file descriptor\n$", finished.stderr)
