"""The pages for users run, and show what happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import Page

PAGES = {
    "api": 9,
    "builder": 4,
    "check": 6,
    "coming_from": 14,
    "communication": 6,
    "diff": 2,
    "testing": 2,
    "tutorial": 12,
}
"""How many things each page shows, at least."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_true(name: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = Page(root / "docs" / f"{name}.md")
    page.run()
    assert page.checked >= PAGES[name]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```", "not\n1"),
        ("```python\n>>> 1\n2\n```", "Got:\n    1"),
        ("```console\n$ sdy-check --rules\nSDY009\n...\n```", "not\nSDY001"),
    ],
)
def test_a_page_that_is_not_true_is_found_out(page: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(page)
    with pytest.raises(AssertionError) as raised:
        Page(tmp_path / "page.md").run()
    assert message in str(raised.value)
