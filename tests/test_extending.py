"""docs/extending.md: its code runs from top to bottom and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shardy_py.ops import TABLE


def test_the_page_is_true(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (root / "docs" / "extending.md").read_text()
    names: dict[str, object] = {"__name__": "extending"}
    shown = 0
    before = dict(TABLE)
    try:
        for language, block in re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL):
            if language == "python":
                exec(compile(block, "docs/extending.md", "exec", dont_inherit=True), names)
            else:
                shown += 1
                assert capsys.readouterr().out.rstrip("\n") == block.rstrip("\n")
    finally:
        TABLE.clear()
        TABLE.update(before)
    assert shown == 8
