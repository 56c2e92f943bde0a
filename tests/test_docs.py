"""The documentation is true: generated pages are fresh, links lead somewhere, the README runs as it shows."""

from __future__ import annotations

import importlib.util
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from shardy_py import Program
from tests.pages import COMMANDS, EXAMPLES, Page, run_command

PROGRAM = """
module @step {
  sdy.mesh @mesh = <["data"=4]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>})
      -> tensor<8xf32> {
    %0 = stablehlo.negate %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""


def test_generated_files_are_fresh(root: Path) -> None:
    generated = runpy.run_path(str(root / "docs" / "generate.py"))
    assert generated["PAGE"].read_text() == generated["passes_page"](), "run `make docs`"
    assert generated["STUB"].read_text() == generated["builder_stub"](), "run `make docs`"


def test_links_lead_somewhere(root: Path) -> None:
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_readme_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("highspy", reason="highspy (extra: suggest) is not installed")
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(EXAMPLES)
    text = (EXAMPLES.parent / "README.md").read_text()
    has_jax = importlib.util.find_spec("jax")
    if not has_jax:
        text = re.sub(r"```python\nimport jax\n.*?```\n\n```text\n.*?```", "", text, flags=re.DOTALL)
    Path("README.md").write_text(text)
    page = Page(Path("README.md"))
    page.run()
    assert page.checked == (7 if has_jax else 6)


def demo(*arguments: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / "demo.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_the_demo_runs(tmp_path: Path) -> None:
    program, target = EXAMPLES / "mlp.mlir", tmp_path / "propagated.mlir"
    shown = demo(program, target).stdout
    parts = ("propagated in", "func.func public @main(", "sharded along", "Memory on each device")
    for part in (*parts, "Communication:", "from the argument sharding of", str(target)):
        assert part in shown
    assert target.read_text() == Program.load(program).run("sdy-propagation-pipeline").text()


def test_the_demo_takes_any_program(tmp_path: Path) -> None:
    program, target = tmp_path / "program.mlir", tmp_path / "propagated.mlir"
    for body in ("%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }", ") { return }"):
        program.write_text(f"func.func @f({body}")
        assert "func.func @f(" in demo(program, target).stdout
    assert "demo.py program.mlir propagated.mlir" in demo(program).stderr
    assert demo(program, tmp_path / "nowhere" / "propagated.mlir").stderr.startswith("[Errno 2]")


def test_examples_are_what_jax_prints(root: Path) -> None:
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    command = [sys.executable, str(root / "examples" / "mlp.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    shown = (root / "examples" / "mlp.mlir").read_text()
    assert Program.parse(printed).text(debuginfo=True) == Program.parse(shown).text(debuginfo=True)


def test_readme_commands_run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("program", "before", "after", "dump"):
        Path(f"{name}.mlir").write_text(PROGRAM)
    hlo = "HloModule m\nENTRY e {\n  p = f32[8] parameter(0)\n  ROOT r = f32[8] negate(p)\n}\n"
    for name in ("module", "compiled"):
        Path(f"{name}.hlo").write_text(hlo)
    Path("known.json").write_text('{"version": 1, "findings": []}')
    text = (root / "README.md").read_text().replace("%5,0,tensor", "%0,0,data").replace("%5", "%0")
    names = "|".join(COMMANDS)
    commands = re.findall(rf"^    ((?:{names}) [^<\n]*)$", text, re.MULTILINE)
    assert len(commands) == 12
    for command in commands:
        assert run_command(command) == 0, command


def test_pages_name_files_that_exist(root: Path) -> None:
    folders = ("shardy_py", "tests", "benchmarks", "docs", "examples", "tools")
    files = [str(path) for folder in folders for path in (root / folder).rglob("*.py")]
    for page in (*root.glob("*.md"), *(root / "docs" / "design").glob("*.md")):
        for name in re.findall(r"`([\w/]+\.py)`", page.read_text()):
            assert any(file.endswith(f"/{name}") for file in files), f"{page.name}: {name}"


def test_architecture_has_the_import_order(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())
    layers = [layer.strip("()") for layer in project["tool"]["importlinter"]["contracts"][0]["layers"]]
    page = (root / "docs" / "design" / "architecture.md").read_text()
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", page, re.MULTILINE)
    assert ["__main__", *reversed(rows)] == layers


def test_no_machine_is_named(root: Path) -> None:
    """Neither absolute paths nor registries: the checkout works wherever it lies."""
    forbidden = re.compile(r"(?<![\w.])/(?:root|home/\w+|work|Users)/|pypi\.org|files\.pythonhosted")
    suffixes = {".py", ".md", ".toml", ".yaml", ".cfg", ""}
    folders = ("shardy_py", "tests", "filecheck", "benchmarks", "docs", "examples", ".ci", "Makefile")
    files = [p for f in folders for p in ((root / f).rglob("*") if (root / f).is_dir() else [root / f])]
    for path in [*files, *root.glob("*.md"), root / "pyproject.toml"]:
        if path.is_file() and path.suffix in suffixes and "__pycache__" not in path.parts:
            found = forbidden.search(path.read_text())
            assert not found or path == Path(__file__), f"{path}: {found}"
