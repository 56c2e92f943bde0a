"""The page in a real browser: no console errors, no requests, and what clicks, keys and the slider do."""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from pathlib import Path

import pytest

from shardy_py import Program, propagate
from tests.conftest import corpus_names, corpus_text
from tests.report.compiled.compiled_program import COMPILED, PROGRAM
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


_MARGINS = """
const boxes = [...document.querySelectorAll('#views .item.open .box')].map((e) => e.getBoundingClientRect());
const b = boxes.reduce((a, c) => (c.width > a.width ? c : a));
const v = document.querySelector('#views').getBoundingClientRect();
return [b.left - v.left, b.top - v.top, v.right - b.right, v.bottom - b.bottom];
"""
"""The pixels around the largest group."""


def _open_list(page: Browser, name: str) -> None:
    page.run(f"app.lists.open(app.lists.tabs.findIndex(([n]) => n === {name!r}))")


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


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(20, id="100 ops"),
        pytest.param(200, id="1,000 ops"),
        pytest.param(7000, id="35,000 ops", marks=pytest.mark.slow),
    ],
)
def test_programs_of_any_size_open(page: Browser, tmp_path: Path, count: int) -> None:
    path = tmp_path / "model.html"
    _write(layers(count), path)
    page.open(path)
    assert page.problems() == []
    assert page.requests() == []
    assert page.milliseconds() > 0
    assert page.texts("#list .facts td")[:2] == ["ops", f"{count * OPS_IN_LAYER:,}"]
    page.key("f")
    _open_list(page, "Collectives")
    page.click("#list .entry")
    assert page.texts("#panel h2") == ["dot_general"]
    page.run("document.getElementById('step').value = 1; app.goto(1)")
    page.settle()
    page.run(
        "const last = app.model.kind.lastIndexOf('op');"
        "app.layout.reveal(last); app.camera.scale = 1; app.center(last); app.draw()"
    )
    page.settle()
    assert page.panned() > 0
    assert page.problems() == []


def test_panning_moves_what_is_drawn(page: Browser, written: Path) -> None:
    page.open(written)
    page.run(
        "globalThis.redrawn = 0; const v = app.views[0], old = v.redraw.bind(v);"
        "v.redraw = (...a) => { redrawn++; old(...a); }"
    )
    assert page.panned() > 0
    assert page.run("return redrawn") < 10, "each frame draws all again"
    drawn, camera = page.run(
        "const next = (then) => requestAnimationFrame(() => requestAnimationFrame(then));"
        "return new Promise((done) => next(() => {"
        " const [v] = app.views, moved = new DOMMatrix(v.root.style.transform);"
        " done([moved.e - v.drawn.x * app.camera.scale, -app.camera.x * app.camera.scale]); }))"
    )
    assert drawn == pytest.approx(camera, abs=0.5), "what is drawn is not where the camera is"


def test_the_page_opens_on_the_verdict_and_fitted(page: Browser, written: Path) -> None:
    page.open(written)
    assert page.texts("#tabs [aria-selected=true]") == ["Verdict"]
    (headline,) = page.texts("#list .headline")
    assert headline.startswith("Each device receives ")
    assert "6 all_reduce along model, in 6 layers" in page.texts("#list .cause small")[0]
    assert page.texts("#panel h2") == page.texts("#list .cause b")[:1]
    left, top, right, bottom = page.run(_MARGINS)
    assert min(left, top, right, bottom) >= 0


def test_a_cause_shows_its_collectives_and_what_its_remedy_removes(page: Browser, written: Path) -> None:
    page.open(written)
    page.click("#list .cause")
    rows = page.run("return app.model.data.verdict.causes[0].rows.length")
    assert rows == 6
    titles = page.texts("#panel h3")
    assert titles[0] == f"collectives ({rows})"
    assert titles.index("remedy") > 0
    assert page.run("return document.querySelector('#panel > details:last-child').open") is False
    change = page.run("return app.remedyOf(app.model.data.verdict.causes[0])")
    marks = page.run("return Object.fromEntries(Object.entries(app.marks).map(([k, v]) => [k, v.size]))")
    assert marks["cause"] > 0
    if change is not None:
        assert len(page.texts("#panel .remedy")) == 1
        assert (marks["gone"] > 0) == bool(change["removed"])


def test_edges_are_behind_boxes(page: Browser, written: Path) -> None:
    page.open(written)
    order = page.run(
        "const drawn = [...app.views[0].layer.children];"
        "const at = (what) => drawn.flatMap((e, i) => (e.matches(what) ? [i] : []));"
        "return [at('.edge, .stub'), at('.item:not(.open)')]"
    )
    edges, boxes = order
    assert 0 < max(edges) < min(boxes)


def test_the_arrows_go_to_operands_and_users_in_the_graph(page: Browser, written: Path) -> None:
    page.open(written)
    _select(page, "%1")
    for key, name in (("ArrowUp", "dot_general"), ("ArrowDown", "tanh")):
        event = f"new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}})"
        page.run(f"app.views[0].root.dispatchEvent({event})")
        assert page.texts("#panel h2") == [name]


def test_tabs_by_arrow_keys(page: Browser, written: Path) -> None:
    page.open(written)
    step = page.run("return app.time.at")
    page.run("document.querySelector('[role=tab]').focus()")
    for key, name in (("ArrowRight", "Collectives"), ("End", "Results"), ("ArrowRight", "Verdict")):
        event = f"new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}})"
        page.run(f"document.activeElement.dispatchEvent({event})")
        assert page.texts("[role=tab][aria-selected=true]") == [name]
        assert page.run("return document.activeElement.textContent") == name
    assert page.run("return app.time.at") == step, "the keys of tabs are not those of steps"
    assert len(page.texts("[role=tab][tabindex='0']")) == 1


def test_a_phone_shows_one_part_at_a_time(written: Path) -> None:
    with browser((390, 844)) as phone:
        phone.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True},
        )
        phone.open(written)
        assert phone.run("return document.documentElement.scrollWidth") <= 390
        shown = (
            "return ['side', 'views', 'panel'].filter((id) => document.getElementById(id).clientWidth > 0)"
        )
        assert phone.run(shown) == ["side"]
        phone.click("#list .cause")
        assert phone.run(shown) == ["panel"]
        phone.click("#pages [data-page=graph]")
        assert phone.run(shown) == ["views"]
        assert min(phone.run(_MARGINS)) >= 0
        assert phone.problems() == []


def test_fingers_zoom(page: Browser, written: Path) -> None:
    page.open(written)
    before = page.run("return app.camera.scale")
    page.run(
        "const root = document.querySelector('#views svg'), box = root.parentNode.getBoundingClientRect();"
        "root.setPointerCapture = () => {};"
        "const more = {buttons: 1, bubbles: true, clientY: box.top + 100};"
        "const at = (type, pointerId, x) =>"
        "  root.dispatchEvent(new PointerEvent(type, {...more, pointerId, clientX: box.left + x}));"
        "at('pointerdown', 1, 100); at('pointerdown', 2, 200); at('pointermove', 2, 300);"
        "at('pointerup', 1, 100); at('pointerup', 2, 300)"
    )
    assert page.run("return app.camera.scale") == pytest.approx(2 * before)


def test_a_click_selects_and_opens(page: Browser, written: Path) -> None:
    page.open(written)
    before = len(page.texts("svg .item"))
    page.run("app.select(app.model.kind.findIndex((k, i) => k === 'scope' && app.model.label(i) === 'mlp'))")
    page.click(".item.scope:not(.open)")
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
    assert min(page.run(_MARGINS)) > 0


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
    folded = page.texts("#panel details:not([open]) summary")
    assert "why %0 dim 0 along data" in folded
    assert "why %0 dim 1 along model" in folded
    assert page.texts("#panel h3")[-1] == "reasons"
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


def test_hits_are_counted_and_patterns_understood(page: Browser, written: Path) -> None:
    page.open(written)
    _put(page, "search", "%1", "input")
    names = page.run(
        "return app.lists.hits.map((i) => app.model.valuesOf[i].map((v) => app.model.name(v))[0])"
    )
    assert names[0] == "%1"
    assert "%10" in names[1:]
    assert page.texts("#tabs [role=tab]")[-1] == f"Found {len(names)}"
    assert page.texts("#list p")[0].startswith(f"{len(names)} hits for")
    _put(page, "search", "/layer_[02]$/", "input")
    assert page.texts("#list .entry b") == ["layer_0", "layer_2"]
    _put(page, "search", "nowhere", "input")
    assert page.texts("#list p") == [
        "Nothing is named \u201cnowhere\u201d: no value, op, scope, line or axis."
    ]
    _put(page, "search", "/(/", "input")
    assert page.texts("#list p")[0].startswith("/(/ is not a regular expression: ")
    page.run("app.lists.search('tanh'); app.lists.next(1); app.lists.next(1)")
    assert page.run("return app.selected === app.lists.hits[1]")
    assert page.problems() == []


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
    assert page.texts("#tabs [aria-selected=true]") == ["Differences"]
    assert page.texts("#list .entry b")[0] == "all_reduce \u00d73"
    _put(page, "filter", "differs", "change")
    assert page.run("return app.differing().size") == 3
    _put(page, "filter", "all", "change")
    _put(page, "state", "2", "change")
    assert page.texts("#views figcaption") == ["before", "after"]
    _select(page, "%0")
    assert '[{}, {"model"}]' in " ".join(page.texts("#panel td"))
    assert page.problems() == []


def test_a_compiled_program_is_shown_beside_the_forecast(page: Browser, tmp_path: Path) -> None:
    path = tmp_path / "compiled.html"
    propagate(Program.parse(PROGRAM, "model.mlir")).explorer(compiled=COMPILED).save(path)
    page.open(path)
    _open_list(page, "Compiled")
    assert page.texts("#list h3") == ["As forecast (2)"]
    assert page.texts("#list .entry b") == ["all_reduce", "all_gather"]
    assert "bf16 widened to f32; forecast 192 B in 1 run" in page.texts("#list .entry small")
    _open_list(page, "Collectives")
    became = [text for text in page.texts("#list .entry small") if text.startswith("compiled: ")]
    assert became == ["compiled: sum.1 (bf16 widened to f32)", "compiled: gather"]
    _open_list(page, "Compiled")
    page.click("#list .entry")
    assert page.texts("#panel h2") == ["dot_general"]
    assert "compiled" in page.texts("#panel h3")
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
