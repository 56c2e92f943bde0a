"""Plugins: modules, files and entry points, each loaded once; their mistakes are diagnostics."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from shardy_py import passes
from shardy_py.base import plugins
from shardy_py.base.errors import ShardyError
from shardy_py.base.plugins import load_installed_plugins, load_plugins
from shardy_py.cli import check, diff, explorer, interpret, suggest
from shardy_py.cli.opt import main
from shardy_py.mlir.dialects import parse_module
from shardy_py.ops import TABLE
from shardy_py.ops.compute import COMPUTED
from shardy_py.propagation.rules.derive import derive_rule

PASS = """
from shardy_py.passes import register_pass

def register():
    register_pass("{name}", run)

def run(module):
    "Prints its name."
    print("{name} ran")
"""
PROGRAM = "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n  return %a : tensor<8xf32>\n}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """The working directory, with a program; what plugins register is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    for module, name in ((plugins, "_owners"), (passes, "_BY_NAME")):
        monkeypatch.setattr(module, name, dict(getattr(module, name)))
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(plugins, "_names", {})
    monkeypatch.setattr(plugins, "_called", set())
    monkeypatch.syspath_prepend(tmp_path / "site")
    (tmp_path / "program.mlir").write_text(PROGRAM)
    rows, functions = dict(TABLE), dict(COMPUTED.rows)
    yield tmp_path
    for table, before in ((TABLE, rows), (COMPUTED.rows, functions)):
        table.clear()
        table.update(before)  # pyright: ignore
    for name, module in [*sys.modules.items()]:
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def install(folder: Path, value: str, plugin: str) -> None:
    """A package with an entry point, in a folder of installed packages."""
    write(folder / "site" / "acme_plugin.py", plugin)
    information = folder / "site" / "acme-1.0.dist-info"
    write(information / "METADATA", "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    write(information / "entry_points.txt", f"[shardy_py.plugins]\nacme = {value}\n")


def test_a_file_a_module_and_a_function(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "first.py", PASS.format(name="first") + "\nregister()")
    write(folder / "site" / "second.py", PASS.format(name="second"))
    arguments = ["program.mlir", "--first", "--load", "./first.py", "-load=second:register", "--second"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("first ran\nsecond ran\nmodule {")


def test_a_plugin_is_loaded_once_however_it_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "site" / "only.py", "print('loaded')\n" + PASS.format(name="only"))
    load_plugins("only:register", "./site/only.py:register", "site/../site/only.py", "only")
    assert capsys.readouterr().out == "loaded\n"


def test_installed_plugins(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(folder, "acme_plugin:register", PASS.format(name="acme"))
    assert main(["program.mlir", "--acme"]) == 0
    assert capsys.readouterr().out.startswith("acme ran\n")
    assert main(["--help"]) == 0
    assert "  --acme\n      Prints its name.\n" in capsys.readouterr().out
    monkeypatch.setattr(plugins, "_called", set())
    monkeypatch.setattr(passes, "_BY_NAME", {})
    monkeypatch.setenv("SHARDY_PY_PLUGINS", "off")
    load_installed_plugins()
    assert not passes.known_passes()


def test_a_folder_named_by_no_one_is_not_searched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(folder, "acme_plugin", "raise ValueError")
    monkeypatch.chdir(folder / "site")  # `python -m shardy_py` there
    load_installed_plugins()


def test_an_import_loads_no_plugin(folder: Path) -> None:
    install(folder, "acme_plugin", "print('loaded')")
    command = [sys.executable, "-c", "import shardy_py.api; print('imported')"]
    environment = {"PYTHONPATH": f"{Path(passes.__file__).parents[2]}:{folder / 'site'}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "imported\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.txt", None, r"plugin 'x.txt': no module named 'x'"),
        ("", None, r"expected a module or a file name\.py, got ''"),
        ("..x", None, r"expected a module or a file name\.py, got '\.\.x'"),
        ("missing", None, r"plugin 'missing': no module named 'missing'\Z"),
        ("mistaken", "", r"no module named 'mistaken'; \./mistaken\.py names a file"),
        ("./missing.py", None, r"cannot open file './missing\.py': No such file or directory"),
        ("./a.txt", "", r"plugin './a.txt': expected a file of Python, name\.py, got './a.txt'"),
        (
            "./a.py",
            "import json\njson.loads('{')",
            r"plugin './a.py': .*/a\.py:2: JSONDecodeError: Expecting",
        ),
        ("./b.py", "\n\nimport nowhere", r".*/b\.py:3: ModuleNotFoundError: No module named 'nowhere'"),
        ("./c.py", "def f(:\n", r".*/c\.py:1: SyntaxError: invalid syntax"),
        ("./d.py", "exit(0)", r".*/d\.py:1: SystemExit: 0"),
        ("./e.py:go", "def to(): pass", r"plugin './e.py:go': .*unknown function 'go': expected 'to'"),
        ("./f.py:go", "def go(): 1 / 0", r".*/f\.py:1: ZeroDivisionError: division by zero"),
    ],
)
def test_mistakes(folder: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        path = name.partition(":")[0]
        write(folder / (path if "." in path else f"{path}.py"), text)
    with pytest.raises(ShardyError, match=message):
        load_plugins(name)


def test_names_of_two_plugins(folder: Path) -> None:
    text = "from shardy_py.ops import OpSpec, register\nregister(OpSpec('mine.op'))"
    write(folder / "a.py", text + "\nregister(OpSpec('mine.op'))  # its own")
    write(folder / "b.py", text)
    message = r"row of op 'mine\.op': expected one plugin that registers it, got two, the other is './a\.py'"
    with pytest.raises(ShardyError, match=r"plugin './b\.py': .*b\.py:2: " + message):
        load_plugins("./a.py", "./b.py")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'symbol-dce', run", "there is a pass or pipeline 'symbol-dce' already"),
        ("'sdy-propagation-pipeline', run", "there is a pass or pipeline 'sdy-propagation-pipeline' already"),
        ("'a b', run", "pass: expected a name of letters, digits and dashes, got 'a b'"),
        ("'x', int", "pass 'x': expected a function, or a ModulePass of that name, got int"),
        ("'x', run, options=Options", "option 'size' of pass 'x': expected a default .*, got 1.5"),
    ],
)
def test_passes_that_cannot_be_registered(folder: Path, call: str, message: str) -> None:
    text = "from dataclasses import dataclass\nfrom shardy_py.passes import register_pass\nrun = print\n"
    text += "@dataclass\nclass Options:\n    size: float = 1.5\n"
    write(folder / "a.py", f"{text}register_pass({call})")
    with pytest.raises(ShardyError, match=message):
        load_plugins("./a.py")


FAILING = """
from xdsl.utils.exceptions import PassFailedException
from shardy_py.ops import OpSpec, register
from shardy_py.passes import register_pass

def divide(*_):
    return 1 // 0

def refuse(module):
    raise PassFailedException("unsuitable")

register_pass("divide", divide)
register_pass("refuse", refuse)
register(OpSpec("mine.divide", rule=divide))
"""


def test_what_registered_functions_raise(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a.py", FAILING)
    assert main(["program.mlir", "--load=a.py", "--divide"]) == 1
    place = f"{folder / 'a.py'}:7"
    error = (
        f"pass 'divide': {place}: ZeroDivisionError: integer division or modulo by zero; SDY_OPT_TRACEBACK=1"
    )
    assert f"program.mlir:1:1: error: {error}" in capsys.readouterr().err
    assert main(["program.mlir", "--load=a.py", "--refuse"]) == 1
    assert "error: pass 'refuse': unsuitable\n" in capsys.readouterr().err
    call = parse_module('%0 = "mine.divide"() : () -> tensor<2xf32>', allow_unregistered=True)
    from shardy_py.mlir.record import record_of

    (op,) = call.body.block.ops
    with pytest.raises(ShardyError, match=f"sharding rule: {place}: ZeroDivisionError"):
        derive_rule(record_of(op))


@pytest.mark.parametrize(
    ("command", "code"),
    [(main, 1), (check.main, 2), (diff.main, 2), (suggest.main, 1), (explorer.main, 1), (interpret.main, 1)],
)
def test_every_command_that_reads_programs_loads_plugins(
    command: object, code: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "a.py", "print('named')\nraise ValueError('no')")
    install(folder, "acme_plugin", "print('installed')")
    assert callable(command)
    assert command(["--load", "./a.py", "program.mlir"]) == code
    out, err = capsys.readouterr()
    assert out == "installed\nnamed\n"
    assert f"argument --load: plugin './a.py': {folder / 'a.py'}:2: ValueError: no" in err
