"""The progress bar: on terminals alone, once work takes long, and gone when it is done."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import shardy_py.base.progress
from shardy_py import Options, Program, propagate
from shardy_py.base.progress import progress
from shardy_py.cli import check, diff, interpret
from shardy_py.cli.opt import main as sdy_opt

PROGRAM = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}
"""
RUN = """
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %arg0 : tensor<8xf32>
  %1 = stablehlo.add %0, %arg0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
"""
ERASE_LINE = "\x1b[2K"


class Terminal(io.StringIO):
    """What is written to it, as a terminal gets it."""

    def isatty(self) -> bool:
        return True

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + 20
        while text not in self.getvalue():
            assert time.monotonic() < end, f"no {text!r} in {self.getvalue()!r}"
            time.sleep(0.01)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error, a terminal on which the bar appears at once."""
    stream = Terminal()
    monkeypatch.setattr(shardy_py.base.progress, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setattr(shardy_py.base.progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return stream


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    """Steps that last until they are seen."""
    begin = shardy_py.base.progress._Bar.begin

    def begin_and_wait(bar: shardy_py.base.progress._Bar, name: str) -> None:
        begin(bar, name)
        terminal.wait_for(name)

    monkeypatch.setattr(shardy_py.base.progress._Bar, "begin", begin_and_wait)


def test_a_bar_counts_steps_and_vanishes(terminal: Terminal) -> None:
    with progress(3) as begin:
        begin("sdy-first")
        terminal.wait_for("sdy-first")
        begin("sdy-second")
        terminal.wait_for("sdy-second")
    shown = re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue())
    assert "0/3" in shown
    assert "1/3" in shown
    assert shown.index("sdy-first") < shown.index("sdy-second")
    assert terminal.getvalue().endswith(ERASE_LINE)


def test_a_bar_vanishes_after_a_failure(terminal: Terminal) -> None:
    def fail() -> None:
        with progress(1) as begin:
            begin("sdy-first")
            terminal.wait_for("sdy-first")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert terminal.getvalue().endswith(ERASE_LINE)


def test_quick_work_has_no_bar(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shardy_py.base.progress, "DELAY_SECONDS", 3600.0)
    with progress(1) as begin:
        begin("sdy-first")
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(
    "reason", ["not a terminal", "dumb terminal", "closed", "none", "not wanted", "no steps"]
)
def test_no_bar(reason: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason == "not a terminal":
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    if reason == "dumb terminal":
        monkeypatch.setenv("TERM", "dumb")
    if reason == "none":
        monkeypatch.setattr(shardy_py.base.progress, "sys", SimpleNamespace(stderr=None))
    written = terminal.getvalue
    if reason == "closed":
        written = str
        terminal.close()
    monkeypatch.setattr(shardy_py.base.progress, "Timer", None)
    with progress(0 if reason == "no steps" else 1, shown=reason != "not wanted") as begin:
        begin("sdy-first")
    assert written() == ""


@pytest.mark.usefixtures("slow")
def test_sdy_opt_names_its_passes(
    terminal: Terminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    assert sdy_opt([str(file), "--sdy-close-shardings", "--symbol-dce"]) == 0
    for step in ("reading", "sdy-close-shardings", "symbol-dce", "writing", "3/4"):
        assert step in terminal.getvalue()
    assert "func.func @main" in capsys.readouterr().out


@pytest.mark.usefixtures("slow")
def test_stablehlo_interpret_names_its_ops(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(RUN)
    assert interpret.main([str(file), "--random", "0"]) == 0
    for step in ("stablehlo.negate", "stablehlo.add", "1/2"):
        assert step in terminal.getvalue()
    assert terminal.getvalue().endswith(ERASE_LINE)
    before = terminal.getvalue()
    monkeypatch.setattr(shardy_py.base.progress, "Timer", None)
    assert interpret.main([str(file), "--random", "0", "--no-progress"]) == 0
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    assert interpret.main([str(file), "--random", "0"]) == 0
    assert terminal.getvalue() == before


@pytest.mark.parametrize("flag", ["--no-progress", "-no-progress=true", "--mlir-print-ir-after=symbol-dce"])
def test_sdy_opt_without_a_bar(
    flag: str, terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    monkeypatch.setattr(shardy_py.base.progress, "Timer", None)
    assert sdy_opt([str(file), "--sdy-close-shardings", flag]) == 0
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("slow")
def test_the_api_names_its_passes(terminal: Terminal) -> None:
    propagate(Program.parse(PROGRAM))
    assert "sdy-user-priority-propagate" in terminal.getvalue()


@pytest.mark.usefixtures("slow")
def test_the_api_without_a_bar(terminal: Terminal) -> None:
    result = propagate(Program.parse(PROGRAM), Options(), progress=False)
    result.what_if({"%arg0": None})
    assert terminal.getvalue() == ""


def test_rich_is_loaded_for_a_bar_alone() -> None:
    code = "import sys, shardy_py.cli.driver, shardy_py.api; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("flags", [(), ("--no-progress",)])
@pytest.mark.parametrize(
    ("main", "programs", "step"),
    [(check.main, 1, "sdy-user-priority-propagate"), (diff.main, 2, "propagating program.mlir")],
)
def test_other_commands_have_one_too(
    main: Callable[[list[str]], int],
    programs: int,
    step: str,
    flags: tuple[str, ...],
    terminal: Terminal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.mlir").write_text(PROGRAM)
    main(["program.mlir"] * programs + [*flags])
    assert (step in terminal.getvalue()) == (not flags)
