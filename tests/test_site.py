"""The site builds without a warning, and its reference holds what docstrings say."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of pages."""
    for package in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(package, reason=f"{package} is not installed (it comes with the docs extra)")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-b", "html"]
    command += ["-D", "html_theme=basic"]  # pages have the same text and anchors in each
    finished = subprocess.run(
        [*command, "-d", str(folder / "doctrees"), str(root / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    return folder / "html"


def test_every_page_is_there(site: Path, root: Path) -> None:
    pages = [page.relative_to(root / "docs") for page in (root / "docs").rglob("*.md")]
    assert all((site / page.with_suffix(".html")).exists() for page in pages)


def test_links_lead_somewhere(site: Path) -> None:
    text = {page.resolve(): page.read_text() for page in site.rglob("*.html")}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', shown)) for page, shown in text.items()}
    broken = [
        f"{page.relative_to(site)}: {target}"
        for page in text
        for target in re.findall(r'<a\b[^>]*\bhref="([^"]+)"', text[page])
        if not target.startswith("http") and not _exists(page, target, anchors)
    ]
    assert not broken


def _exists(page: Path, target: str, anchors: dict[Path, set[str]]) -> bool:
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    return file.exists() and (not anchor or anchor in anchors.get(file, ()))


def test_the_reference_has_what_guides_import(site: Path, root: Path) -> None:
    pages = "".join(page.read_text() for page in (site / "reference").glob("*.html"))
    described = {anchor.rpartition(".")[2] for anchor in re.findall(r'\bid="(?:module-)?([\w.]+)"', pages)}
    imports = [
        (page.name, name)
        for page in (root / "docs").glob("*.md")
        for names in re.findall(r"from shardy_py[\w.]* import (\([^)]*\)|[^(\n]+)", page.read_text())
        for name in re.findall(r"\w+", names)
    ]
    assert len(imports) > 100
    assert not [(page, name) for page, name in imports if name not in described]


def test_the_reference_shows_fields_and_code(site: Path) -> None:
    text = (site / "reference" / "api.html").read_text()
    assert re.search(r'<li><p><code[^>]*><span class="pre">unreduced</span></code>: axes', text)
    page = re.sub(r"<[^>]+>", "", text)
    assert "annotate(shardings: Mapping[str | Value, Sharding | P | str | None])" in html.unescape(page)
    assert "TypeAlias" not in page
    assert "``" not in page


@pytest.mark.parametrize(
    ("docstring", "rewritten"),
    [
        ("A `Sharding`s list of *all_axes*.", r"A ``Sharding``\ s list of \*all\_axes\*."),
        (
            "x, y: sizes. z: `a_b`. Raises `E` for 0.",
            "- ``x``, ``y``: sizes.\n\n- ``z``: ``a_b``.\n\nRaises ``E`` for 0.",
        ),
        ("First.\n    one\n    two", "First. one two"),
        ("As here:\n\n    a_b | c", "As here:\n\n::\n\n        a_b | c"),
        ("|a|b|\n|-|-|", "::\n\n    |a|b|\n    |-|-|"),
        ("Sum.\n>>> 1\n1", "Sum.\n\n>>> 1\n1"),
        ("- one\n  more\n- two", "- one more\n- two"),
        ("x: a size; empty: none. Not\nhere: the rest.", "- ``x``: a size; empty: none. Not here: the rest."),
        ("Raises E with file:line, a@b.", r"Raises E with file\:line, a\@b."),
    ],
)
def test_docstrings_become_restructured_text(
    docstring: str, rewritten: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(root / "docs"))
    from docstrings import to_restructured_text

    lines = docstring.split("\n")
    to_restructured_text(lines, ("x", "y", "z"))
    assert re.sub(r"\n{2,}", "\n\n", "\n".join(lines)).strip() == rewritten
