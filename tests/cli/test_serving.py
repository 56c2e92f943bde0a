"""`shardy-serve`: commands that a server runs do what they do in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, which Unix has")

PROGRAM = "func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n  return %arg0 : tensor<4xf32>\n}\n"
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """#!{python}
import sys
from shardy_py.cli.commands import {function}
sys.exit({function}())
"""


def _shell(script: str, folder: Path, *, served: bool) -> tuple[int, str, str]:
    """Exit code and outputs of a script that runs in a folder."""
    for name in ("sdy-opt", "shardy-serve"):
        (folder / name).write_text(SCRIPT.format(python=sys.executable, function=name.replace("-", "_")))
        (folder / name).chmod(0o700)
    environment = {name: value for name, value in os.environ.items() if name != "SHARDY_SERVER"}
    environment |= {"PYTHONPATH": str(ROOT), "PATH": f"{folder}:{environment['PATH']}"}
    finished = subprocess.run(
        [*(["shardy-serve"] * served), "sh", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return finished.returncode, finished.stdout, finished.stderr


def test_commands_have_the_streams_folder_arguments_and_environment_of_their_callers(tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(PROGRAM)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.mlir").write_text("func.func @é(")
    script = """
        sdy-opt a.mlir --mlir-print-op-generic | sdy-opt - ; echo $?
        cd sub
        sdy-opt ../a.mlir -o c.mlir; cat c.mlir
        PYTHONIOENCODING=ascii sdy-opt b.mlir --allow-unregistered-dialect
        sdy-opt ../a.mlir > /dev/full; echo $?
        sdy-opt ../a.mlir <&-
        test -n "$SHARDY_SERVER" && echo served >&2
        exit 7
    """
    code, output, errors = _shell(script, tmp_path, served=True)
    assert (code, output, errors.replace("served\n", "")) == _shell(script, tmp_path, served=False)
    assert code == 7
    assert errors.endswith("served\n")


def test_what_one_command_does_no_other_sees(tmp_path: Path) -> None:
    plugin = "from shardy_py.cli import opt\nopt.help_text = lambda: 'changed'\n"
    (tmp_path / "plugin.py").write_text(plugin)
    script = "sdy-opt --load=plugin.py --help; sdy-opt --help | head -n 1"
    _, output, errors = _shell(script, tmp_path, served=True)
    assert (output, errors) == _shell(script, tmp_path, served=False)[1:]
    assert output.count("changed") == 1


def test_a_server_that_is_gone_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(PROGRAM)
    code, output, errors = _shell("SHARDY_SERVER=none sdy-opt a.mlir", tmp_path, served=False)
    assert (code, errors, "func.func @main" in output) == (0, "", True)


def test_a_command_ends_with_its_caller(tmp_path: Path) -> None:
    """What would wait for more input when its caller is killed reads no more."""
    script = """
        trap '' PIPE
        mkfifo input
        SHARDY_SERVER= sdy-opt --version > /dev/null
        sdy-opt - < input 2> /dev/null & caller=$!
        exec 3> input
        kill -9 $caller
        while echo % >&3; do sleep 0.05; done
    """
    _, _, errors = _shell(script, tmp_path, served=True)
    assert "Broken pipe" in errors or "I/O error" in errors


def test_exit_codes(tmp_path: Path) -> None:
    script = """
        for arguments in "" --bogus --help --version no-such-command / false; do
            shardy-serve $arguments > output 2>&1; echo $?
        done
        shardy-serve sh -c 'kill -9 $$'; echo $?
    """
    _, output, _ = _shell(script, tmp_path, served=False)
    assert output.split() == ["1", "1", "0", "0", "127", "126", "1", "137"]
