"""docs/torch.md: its code runs from top to bottom and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch (extra: torch) is not installed")

from shardy_py.frontends.torch import unregister_aten

pytestmark = pytest.mark.torch


def test_the_page_is_true(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (root / "docs" / "torch.md").read_text()
    names: dict[str, object] = {"__name__": "page"}
    shown = 0
    try:
        for block in re.finditer(r"```(\w+)\n(.*?)```", page, re.DOTALL):
            if block[1] == "python":
                exec(compile(block[2], "model.py", "exec", dont_inherit=True), names)
            else:
                shown += 1
                assert capsys.readouterr().out == block[2]
    finally:
        unregister_aten("mylib.gated")
    assert shown == 10
