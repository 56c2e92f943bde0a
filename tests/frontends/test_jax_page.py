"""docs/jax.md: its code runs from top to bottom and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")


def test_the_page_is_true(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (root / "docs" / "jax.md").read_text()
    names: dict[str, object] = {"__name__": "page"}
    shown = 0
    for block in re.finditer(r"```(\w+)\n(.*?)```", page, re.DOTALL):
        if block[1] == "python":
            exec(compile(block[2], "model.py", "exec", dont_inherit=True), names)
        else:
            shown += 1
            assert capsys.readouterr().out == block[2]
    assert shown == 2
