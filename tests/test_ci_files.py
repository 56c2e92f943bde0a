"""What other repositories use of this one: the hook of pre-commit, and the GitHub action."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from shardy_py.cli.check import _parser


def loaded(path: Path) -> Any:
    yaml = pytest.importorskip("yaml", reason="PyYAML, which pre-commit has, is not installed")
    return yaml.safe_load(path.read_text())


def test_the_hook_is_one(root: Path) -> None:
    clientlib = pytest.importorskip("pre_commit.clientlib", reason="pre-commit is not installed")
    (hook,) = clientlib.load_manifest(root / ".pre-commit-hooks.yaml")
    command, *flags = hook["entry"].split(" ")
    assert command == hook["id"] == "sdy-check"
    assert _parser().parse_args([*flags, "a.mlir", "b.mlir"]).programs == ["a.mlir", "b.mlir"]
    names = ["a.mlir", "b.mlirbc", "c.mlir.gz", "d.hlo", "e.py", "mlir"]
    assert [name for name in names if re.search(hook["files"], name)] == names[:4]
    assert f"- id: {hook['id']}" in (root / "docs" / "ci.md").read_text()


@pytest.mark.parametrize(
    ("programs", "sarif", "arguments", "expected"),
    [
        ("", "", "", ""),
        ("models/**/*.mlir a.mlir", "", "--fail-on error", "models/**/*.mlir a.mlir --fail-on error"),
        ("*", "my report.sarif", "", "* --sarif my report.sarif"),
    ],
)
def test_the_action_passes_words_on(
    programs: str, sarif: str, arguments: str, expected: str, root: Path, tmp_path: Path
) -> None:
    action = loaded(root / "action.yml")
    *_, step = action["runs"]["steps"]
    given = {"programs": programs, "sarif": sarif, "arguments": arguments}
    environment = {
        name: given[re.sub(r"\$\{\{ inputs\.(\w+) \}\}", r"\1", value)] for name, value in step["env"].items()
    }
    command = tmp_path / "sdy-check"
    command.write_text('#!/bin/sh\necho "$@"\n')
    command.chmod(0o755)
    environment["PATH"] = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    script = ["bash", "-e", "-c", step["run"]]
    out = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    words = out.stdout.replace("--format github --no-progress", "").split()
    assert words == expected.split()
    assert {*action["inputs"]} == {*given, "version"}
    page = (root / "docs" / "ci.md").read_text()
    assert all(f"          {name}: " in page for name in action["inputs"])
