"""The HTML file: nothing but text from the program, and no way to the network."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from shardy_py import Program, ShardyError, propagate
from shardy_py.report.notebook import PALETTE
from shardy_py.viewer.explorer import document, page
from shardy_py.viewer.explorer_file import Explorer, subject_of
from tests.viewer.explorer.programs import layers

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a\u202eb\u0007",
    "n" * 10_000,
)


def _explorer(text: str, **options: Any) -> Explorer:
    return propagate(Program.parse(text, "model.mlir")).explorer(**options)


def explorer_data(html: str) -> dict[str, Any]:
    """The data of a page."""
    match = re.search(r'id="data">([^<]*)</script>', html)
    assert match is not None
    return json.loads(zlib.decompress(b64decode(match[1])))


def test_the_policy_allows_this_script_and_style_only() -> None:
    html = _explorer(layers(1)).html
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy
    for tag in ("script", "style"):
        texts = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in texts]
        assert len(hashes) == 1
        assert f"{tag}-src 'sha256-{hashes[0]}'" in policy


def test_the_page_names_no_other_address() -> None:
    html = _explorer(layers(1)).html
    addresses = set(re.findall(r"https?://[\w./-]+", html))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.findall(r"<(?:link|img|iframe|object|embed)\b", html)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name: str) -> None:
    literal = name.replace('"', '\\"').replace("\u0007", "\\07")
    text = layers(1).replace('"jit(f)/layer_0/mlp/tanh"', f'"{literal}"')
    html = _explorer(text, titles=(name, "")).html
    assert html.count("<script") == html.count("</script>") == 2
    assert "<img" not in html
    assert all(len(each) <= 410 for each in explorer_data(html)["texts"])
    assert "\u202e" not in json.dumps(explorer_data(html), ensure_ascii=False)


def test_python_lines_come_with_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text("".join(f"line {n}\n" for n in range(1, 40)))
    Path("secret.txt").write_text("secret\n" * 40)
    text = layers(1).replace('loc("jit(f)/layer_0/mlp/tanh")', 'loc("model.py":20:1)')
    text = text.replace('loc("jit(f)/layer_0/add")', 'loc("secret.txt":2:1)')
    assert explorer_data(_explorer(text).html)["sources"] == [
        ["model.py", [[n, f"line {n}"] for n in range(16, 25)]]
    ]
    assert explorer_data(_explorer(text, has_sources=False).html)["sources"] == []


def test_explorers_are_saved_and_shown_in_notebooks(tmp_path: Path) -> None:
    explorer = _explorer(layers(1))
    explorer.save(tmp_path / "model.html")
    assert (tmp_path / "model.html").read_text() == explorer.html
    with pytest.raises(ShardyError, match="cannot open output file"):
        explorer.save(tmp_path / "nowhere" / "model.html")
    frame = explorer._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts')
    assert "<script" not in frame
    assert repr(explorer) == f"Explorer('program', {len(explorer.html):,} bytes)"


def test_a_result_is_shown_in_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path = propagate(Program.parse(layers(1), "model.mlir")).show()
    assert opened == [path.as_uri()]
    assert "<!doctype html>" in path.read_text()


@pytest.mark.parametrize(
    ("count", "most"),
    [
        pytest.param(1000, 1_000_000, id="5,000"),
        pytest.param(4000, 3_000_000, id="20,000", marks=pytest.mark.slow),
    ],
)
def test_files_stay_small(count: int, most: int) -> None:
    result = propagate(Program.parse(layers(count), "model.mlir"))
    subject = subject_of(result, "model", result.communication(), has_sources=False)  # the verdict takes long
    assert len(page(document(subject))) < most


_GROUNDS = ("paper", "ground", "group")
_ON_GROUNDS = ("ink", "soft", "accent", "send", "good")
_GRAPHICS = (("edge", "group"), ("edge", "ground"))


def _themes() -> dict[str, dict[str, str]]:
    """The colours of each theme by name; those of the dark one replace those of the light one."""
    style = (files("shardy_py.viewer.explorer") / "page" / "style.css").read_text("utf-8")
    blocks = re.findall(r":root[^{]*{[^}]*}", style)[:2]
    light, dark = (dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in blocks)
    return {"light": light, "dark": light | dark}


def _luminance(colour: str) -> float:
    """Of WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_is_that_of_wcag_aa(theme: str) -> None:
    colours = _themes()[theme]
    texts = [(text, ground) for text in _ON_GROUNDS for ground in _GROUNDS] + [("ink", "mark")]
    low = {pair: _contrast(colours[pair[0]], colours[pair[1]]) for pair in texts}
    assert {pair: ratio for pair, ratio in low.items() if ratio < 4.5} == {}
    graphics = {pair: _contrast(colours[pair[0]], colours[pair[1]]) for pair in _GRAPHICS}
    assert {pair: ratio for pair, ratio in graphics.items() if ratio < 3} == {}


def _mixed(below: str, above: str, part: float) -> str:
    """A colour with another one over it, which covers so much of it."""
    channels = [(int(below[at : at + 2], 16), int(above[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(old + (new - old) * part):02x}" for old, new in channels)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_can_be_read_on_heat(theme: str) -> None:
    style = (files("shardy_py.viewer.explorer") / "page" / "style.css").read_text("utf-8")
    parts = dict(re.findall(r"(?<!dark )\.heat-(\d) { fill-opacity: ([\d.]+)", style))
    assert len(parts) == 6
    if theme == "dark":
        parts |= dict(re.findall(r":root\.dark \.heat-(\d) { fill-opacity: ([\d.]+)", style))
    colours = _themes()[theme]
    grounds = [_mixed(colours["paper"], colours["send"], float(part)) for part in parts.values()]
    assert [ground for ground in grounds if _contrast(colours["ink"], ground) < 4.5] == []


def test_names_of_axes_can_be_read_on_their_colours() -> None:
    full = {"#fff": "#ffffff", "#000": "#000000"}
    assert [fill for fill, ink in PALETTE if _contrast(fill, full.get(ink, ink)) < 4.5] == []
