"""The documentation is true: generated pages are fresh, links lead somewhere, the README's example runs."""

from __future__ import annotations

import importlib.util
import re
import runpy
from pathlib import Path

import pytest

from tests.pages import COMMANDS, run_command

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


def test_passes_page_is_fresh(root: Path) -> None:
    generated = runpy.run_path(str(root / "docs" / "generate.py"))["passes_page"]()
    assert (root / "docs" / "passes.md").read_text() == generated, "run `make docs`"


def test_links_lead_somewhere(root: Path) -> None:
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_readme_examples_run(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    names: dict[str, object] = {"text": PROGRAM}
    api, jax, stages = re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(), re.DOTALL)
    exec(api, names)
    printed = capsys.readouterr().out
    assert "(1024, 16, 64) (1024, 4, 64) P(None, 'tensor', None)" in printed
    for part in ("The peak is at", "on tpu-v5p", "from the argument sharding of", "why is dimension 0 of %5"):
        assert part in printed
    assert re.search(r"^\d+ \d+ -\d+$", printed, re.MULTILINE)
    if importlib.util.find_spec("jax"):
        exec(jax, names)
        assert capsys.readouterr().out == "P('data', 'model') (8, 512)\n"
    exec(stages, names)
    printed = capsys.readouterr().out
    assert 'stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}]>]>}' in printed
    assert "arguments           1    32 B          8 B  25.0%" in printed


def test_readme_commands_run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("program", "before", "after", "dump"):
        Path(f"{name}.mlir").write_text(PROGRAM)
    hlo = "HloModule m\nENTRY e {\n  p = f32[8] parameter(0)\n  ROOT r = f32[8] negate(p)\n}\n"
    Path("module.hlo").write_text(hlo)
    Path("known.json").write_text('{"version": 1, "findings": []}')
    text = (root / "README.md").read_text().replace("%5,0,tensor", "%0,0,data").replace("%5", "%0")
    names = "|".join(COMMANDS)
    commands = re.findall(rf"^    ((?:{names}) [^<\n]*)$", text, re.MULTILINE)
    assert len(commands) == 8
    for command in commands:
        assert run_command(command) == 0, command


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
