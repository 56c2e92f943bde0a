"""docs/extending.md: its code runs from top to bottom and prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py import passes
from shardy_py.base import plugins
from shardy_py.ops import TABLE
from tests.pages import Page


def test_the_page_is_true(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "_owners", {})
    monkeypatch.setattr(passes, "_BY_NAME", dict(passes._BY_NAME))
    page = Page(root / "docs" / "extending.md", {"__name__": "extending"})
    before = dict(TABLE)
    try:
        page.run()
    finally:
        TABLE.clear()
        TABLE.update(before)
    assert page.checked == 10
