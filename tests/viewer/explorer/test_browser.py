"""The page in a real browser: no console errors, no requests, and what clicks, keys and the slider do."""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from pathlib import Path

import pytest

from shardy_py import Program, propagate
from tests.conftest import corpus_names, corpus_text
from tests.viewer.explorer.browser import CHROMIUM, DRIVER, Browser, browser
from tests.viewer.explorer.programs import OPS_IN_LAYER, layers

pytest.importorskip("selenium", reason="selenium (extra: browser) is not installed")
pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium and chromium-driver are not installed"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def page() -> Generator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explorer") / "model.html"
    _write(layers(6), path)
    return path


def _write(text: str, path: Path) -> None:
    propagate(Program.parse(text, "model.mlir")).explorer().save(path)


def _select(page: Browser, name: str) -> None:
    page.run(
        f"const m = app.model, v = m.data.values.name.findIndex((n) => m.text(n) === {name!r});"
        "app.select(m.data.values.item[v], true)"
    )
    page.settle()


def _put(page: Browser, field: str, value: str, event: str) -> None:
    element = f"const e = document.getElementById({field!r})"
    page.run(f"{element}; e.value = {value!r}; e.dispatchEvent(new Event({event!r}))")
    page.settle()


@pytest.mark.parametrize("count", [20, 1000, 4000], ids=lambda n: f"{n * OPS_IN_LAYER} ops")
def test_programs_of_any_size_open(page: Browser, tmp_path: Path, count: int) -> None:
    path = tmp_path / "model.html"
    _write(layers(count), path)
    page.open(path)
    assert page.problems() == []
    assert page.requests() == []
    assert page.milliseconds() > 0
    assert page.texts("#panel td")[:2] == ["ops", f"{count * OPS_IN_LAYER:,}"]
    page.key("f")
    page.click("#list .entry")
    assert page.texts("#panel h2") == ["dot_general"]
    page.run("document.getElementById('step').value = 1; app.goto(1)")
    page.settle()
    assert page.problems() == []


def test_a_click_selects_and_opens(page: Browser, written: Path) -> None:
    page.open(written)
    before = len(page.texts("svg .item"))
    page.run("app.select(app.model.kind.findIndex((k, i) => k === 'scope' && app.model.label(i) === 'mlp'))")
    page.click(".item.scope")
    assert page.texts("#panel h2") == ["mlp"]
    assert len(page.texts("svg .item")) > before
    page.click(".item.open .title")
    assert len(page.texts("svg .item")) < before


def test_what_is_alone_is_open_and_fits(page: Browser, written: Path) -> None:
    page.open(written)
    assert any("layer_* \u00d76" in text for text in page.texts("svg .title"))
    assert any("1 of 6" in text for text in page.texts("svg text"))
    assert page.run("return app.camera.scale") > 1
    page.key("f")
    left, right = page.run(
        "const b = document.querySelector('.item.open .box').getBoundingClientRect();"
        "const v = document.querySelector('#views').getBoundingClientRect();"
        "return [b.left - v.left, v.right - b.right]"
    )
    assert left > 0
    assert right > 0


@pytest.mark.parametrize("size", [(1440, 900), (2560, 1440)], ids=["laptop", "wide"])
def test_controls_have_room(written: Path, size: tuple[int, int]) -> None:
    with browser(size) as wide:
        wide.open(written)
        field = "const e = document.getElementById('search'), s = getComputedStyle(e)"
        canvas = "const c = document.createElement('canvas').getContext('2d')"
        font = "c.font = `${s.fontSize} ${s.fontFamily}`"
        room = wide.run(
            f"{field}; {canvas}; {font}; return e.clientWidth - c.measureText(e.placeholder).width"
        )
        assert room > 16
        boxes = wide.run(
            "return [...document.querySelectorAll('#bar > *:not([hidden])')]"
            ".map((e) => e.getBoundingClientRect()).map((b) => [b.left, b.right])"
        )
        assert all(before[1] <= after[0] for before, after in pairwise(boxes))


def test_the_slider_moves_shardings(page: Browser, written: Path) -> None:
    page.open(written)
    _select(page, "%0")
    assert "f32[64@data,2048@model]" in page.texts("#panel td")
    page.run("app.goto(0)")
    page.settle()
    assert "f32[64,2048]" in page.texts("#panel td")
    page.key("ArrowRight")
    assert page.texts("#step-text")[0].startswith("1 of ")
    page.run("app.goto(1e9)")
    page.settle()
    assert "f32[64@data,2048@model]" in page.texts("#panel td")
    assert page.problems() == []


def test_a_tensor_says_why_and_why_not(page: Browser, written: Path) -> None:
    page.open(written)
    _select(page, "%0")
    titles = page.texts("#panel h3")
    assert "why dim 0 along data" in titles
    assert "why dim 1 along model" in titles
    assert any("%arg1" in text and "annotation" in text for text in page.texts("#panel li"))
    assert len(page.texts("svg .why")) > 0
    _select(page, "%arg1")
    assert "why not dim 0 along data" in page.texts("#panel summary")


def test_search_finds_names_ops_and_axes(page: Browser, written: Path) -> None:
    page.open(written)
    for words, first in (("%3", "dot_general"), ("tanh", "tanh"), ("layer_5/mlp/mul", "multiply")):
        _put(page, "search", words, "input")
        assert page.texts("#list .entry b")[0] == first
    _put(page, "search", "model", "input")
    assert len(page.texts("#list .entry")) > 12


def test_filters_dim_what_does_not_match(page: Browser, written: Path) -> None:
    page.open(written)
    page.run("app.toggle(app.model.kind.findIndex((k, i) => k === 'scope' && app.model.label(i) === 'mlp'))")
    _put(page, "filter", "sends", "change")
    assert 0 < len(page.texts("svg .item.off")) < len(page.texts("svg .item"))


def test_links_select(page: Browser, written: Path) -> None:
    page.open(written, "#%252")
    assert page.texts("#panel h2") == ["multiply"]
    assert page.run("return location.hash") == "#%252"


def test_two_states_side_by_side(page: Browser, tmp_path: Path) -> None:
    path = tmp_path / "both.html"
    propagate(Program.parse(layers(3), "model.mlir")).what_if({"%arg0": None}).explorer().save(path)
    page.open(path)
    _put(page, "state", "2", "change")
    assert page.texts("#views figcaption") == ["before", "after"]
    _select(page, "%0")
    assert '[{}, {"model"}]' in " ".join(page.texts("#panel td"))
    assert page.problems() == []


def test_partial_sums_are_hatched(page: Browser, tmp_path: Path) -> None:
    text = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>})
    -> tensor<8x16xf32> {
  %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>}
    : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
"""
    path = tmp_path / "partial.html"
    _write(text, path)
    page.open(path)
    fills = page.run("return [...document.querySelectorAll('svg rect')].map((e) => e.getAttribute('fill'))")
    assert "url(#hatching)" in fills


def test_hostile_names_do_nothing(page: Browser, tmp_path: Path) -> None:
    text = layers(1).replace("jit(f)/layer_0/mlp/tanh", "</script><img src=x onerror=alert(1)>")
    path = tmp_path / "hostile.html"
    _write(text, path)
    page.open(path)
    _select(page, "%1")
    assert any("</script><img src=x onerror=alert(1)>" in text for text in page.texts("#panel td"))
    assert page.run("return document.images.length") == 0
    assert page.problems() == []


def test_the_view_is_saved_as_svg(page: Browser, written: Path) -> None:
    page.open(written)
    keep = "(blob) => { blob.text().then((text) => saved.push(text)); return '#'; }"
    page.run(f"globalThis.saved = []; URL.createObjectURL = {keep}")
    page.click("#export")
    text = page.run("return new Promise((done) => setTimeout(() => done(saved[0]), 50))")
    assert text.startswith("<svg")
    assert "var(--" not in text


@pytest.mark.parametrize("name", corpus_names())
def test_programs_of_the_corpus_open(page: Browser, tmp_path: Path, name: str) -> None:
    path = tmp_path / "page.html"
    _write(corpus_text(name), path)
    page.open(path)
    page.key("f")
    page.run("app.select(app.model.kind.indexOf('op'), true); app.goto(5)")
    page.settle()
    assert page.problems() == []
