"""The HTML file: nothing but text from the program, and no way to the network."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from shardy_py import Program, ShardyError, propagate
from shardy_py.api.explorer import Explorer
from tests.explorer.programs import layers

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a\u202eb\u0007",
    "n" * 10_000,
)


def _explorer(text: str, **options: Any) -> Explorer:
    return propagate(Program.parse(text, "model.mlir")).explorer(**options)


def _data(html: str) -> dict[str, Any]:
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
    assert all(len(each) <= 410 for each in _data(html)["texts"])
    assert "\u202e" not in json.dumps(_data(html), ensure_ascii=False)


def test_python_lines_come_with_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text("".join(f"line {n}\n" for n in range(1, 40)))
    Path("secret.txt").write_text("secret\n" * 40)
    text = layers(1).replace('loc("jit(f)/layer_0/mlp/tanh")', 'loc("model.py":20:1)')
    text = text.replace('loc("jit(f)/layer_0/add")', 'loc("secret.txt":2:1)')
    assert _data(_explorer(text).html)["sources"] == [["model.py", [[n, f"line {n}"] for n in range(16, 25)]]]
    assert _data(_explorer(text, has_sources=False).html)["sources"] == []


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


@pytest.mark.parametrize(("count", "most"), [(1000, 1_000_000), (4000, 3_000_000)], ids=["5,000", "20,000"])
def test_files_stay_small(count: int, most: int) -> None:
    assert len(_explorer(layers(count)).html) < most
