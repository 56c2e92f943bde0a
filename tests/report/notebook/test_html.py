"""What notebooks show: short texts, small HTML that is well formed, nothing unescaped."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from shardy_py import Mesh, P, Program, Result, Sharding, propagate
from shardy_py.check import Limits, check
from shardy_py.indexing.layout.picture import picture
from shardy_py.indexing.layout.text import parse_array
from shardy_py.report.notebook import MOST_ROWS, PALETTE, Html, block, colours_of, preformatted, table_html
from shardy_py.report.notebook.palette import ink_and_fill
from shardy_py.sharding import MeshAxis

LAYERS = 2 * MOST_ROWS
"""So many that no table has a row for each value or collective."""
MOST_REPR, MOST_HTML = 2_000, 20_000
VOID = {"br", "img"}


class WellFormed(HTMLParser):
    """Fails for tags that are not closed, and for scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "iframe")
        for name, value in attrs:
            assert not name.startswith("on")
            assert name not in ("src", "href") or (value or "").startswith("data:image/svg+xml;base64,")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "link", "img", "iframe")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def layered() -> str:
    """Products one after the other, each summed over devices."""
    row, weight = "tensor<64x64xf32>", "tensor<64x64xf32>"
    weights = (
        f'%w{n}: {weight} {{sdy.sharding = #sdy.sharding<@mesh, [{{"tensor"}}, {{}}]>}}'
        for n in range(LAYERS)
    )
    lines = "\n".join(
        f"  %{n + 1} = stablehlo.dot_general %{n}, %w{n}, contracting_dims = [1] x [0]"
        f' : ({row}, {weight}) -> {row} loc("layer {n}")'
        for n in range(LAYERS)
    )
    return f"""
sdy.mesh @mesh = <["data"=4, "tensor"=2]>
func.func @main(%x: {row} {{sdy.sharding = #sdy.sharding<@mesh, [{{"data"}}, {{}}]>}}, {", ".join(weights)})
    -> {row} {{
  %0 = stablehlo.tanh %x : {row}
{lines}
  return %{LAYERS} : {row}
}}"""


@pytest.fixture(scope="module")
def result() -> Result:
    return propagate(Program.parse(layered()), progress=False)


@pytest.fixture(scope="module")
def shown(result: Result) -> Mapping[str, Any]:
    """The public values that could be large."""
    bill, value = (
        result.communication(partitioner="xla"),
        next(each for each in result.values if each.sharding),
    )
    use = bill.sending[0]
    explanations = result.explain("op=dot_general")
    return {
        "program": result.source,
        "result": result,
        "values": result.values,
        "value": value,
        "sharding": value.sharding,
        "bill": bill,
        "bill of shardy": result.communication(partitioner="shardy"),
        "use": use,
        "memory": result.memory("tpu"),
        "memory of a chip": result.memory("tpu-v5p"),
        "entry": result.memory().entries[0],
        "estimate": result.memory().estimate,
        "explanations": explanations,
        "explanation": explanations[0],
        "reasons": result.why_not(value.name, 1, "data"),
        "reason": result.why_not(value.name, 1, "data")[0],
        "comparison": result.what_if({"%arg0": P(None, None)}),
        "figures": result.what_if({"%arg0": None}).figures,
        "sides": result.sides(use),
        "advice": result.advice(use),
        "record": result.record,
        "local": result.partition(),
        "findings": check(result, limits=Limits(replicated_bytes=1, reshard_bytes=1)),
        "picture": picture(parse_array("f32[300,500]{1,0:T(8,128)}")),
    }


def test_reprs_are_short(shown: Mapping[str, Any]) -> None:
    lengths = {name: len(repr(value)) for name, value in shown.items()}
    assert {name: length for name, length in lengths.items() if length > MOST_REPR} == {}


WITH_HTML = (
    *("program", "result", "value", "sharding", "bill", "bill of shardy", "memory", "memory of a chip"),
    *("explanations", "explanation", "reasons", "comparison", "findings"),
)


@pytest.mark.parametrize("name", WITH_HTML)
def test_html_is_small_and_well_formed(shown: Mapping[str, Any], name: str) -> None:
    text = shown[name]._repr_html_()
    assert text
    assert len(text) < MOST_HTML
    assert WellFormed(text).words
    assert text.count("<tr>") <= 5 * (MOST_ROWS + 1)


def words(shown: object) -> str:
    return " ".join(WellFormed(shown._repr_html_()).words)  # type: ignore[attr-defined]


def test_html_has_the_figures_of_the_text(shown: Mapping[str, Any]) -> None:
    bill = shown["bill"]
    total = next(line for line in str(bill).split("\n") if "; each device receives" in line)
    assert total.split(" receives ")[1].split(" on ")[0] in words(bill)
    assert f"{len(bill.sending)} collectives" in words(bill)
    assert "it fits in the" in words(shown["memory of a chip"])
    assert str(len(shown["findings"])) in words(shown["findings"]).replace(",", "")
    assert "argument sharding of %arg" in words(shown["explanations"])
    assert '"' not in words(shown["sharding"])
    assert "0 changed shardings" not in words(shown["comparison"])


def test_shardings_are_pictures() -> None:
    sharding = Sharding(Mesh.of(x=2, y=2), P("x", "y"))
    root = ElementTree.fromstring(sharding._repr_svg_() or "")
    assert root.tag.endswith("svg")
    assert len([each for each in root.iter() if each.tag.endswith("rect")]) == 5
    assert Sharding(Mesh.of(x=1, device=1), P())._repr_svg_()
    assert ElementTree.fromstring(picture(parse_array("f32[3,5]{1,0:T(2,2)}"))._repr_svg_()) is not None


def test_names_are_escaped() -> None:
    text = """
    sdy.mesh @m = <["<b>x"=2]>
    func.func @"<script>"(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"<b>x"}]>} loc("<i>&\\22"))
        -> (tensor<8xf32> {jax.result_info = "<img src=x onerror=y>"}) {
      return %a : tensor<8xf32>
    }"""
    result = propagate(Program.parse(text), progress=False)
    values = (result.source, result, *result.values, result.communication(), result.memory())
    for value in (*values, result.explain("result 0"), result.why_not("result 0", 0, "<b>x")):
        shown = WellFormed(value._repr_html_())
        assert "script" in repr(value) or shown.words
    assert "<b>x=2" in "".join(WellFormed(result._repr_html_()).words)


def test_tables_are_cut_off() -> None:
    text = table_html(("a", "b"), [(f"{n}", "x" * 500) for n in range(1000)])
    assert text.count("<tr>") == MOST_ROWS + 1
    assert "and 980 more" in text
    assert table_html(("a",), []) == ""
    assert "and 5 more" in table_html(("a",), [("1",)] * MOST_ROWS, count=MOST_ROWS + 5)
    assert len(preformatted("line\n" * 10_000)) < 3_500
    assert "more characters" in preformatted("line\n" * 10_000)
    assert block("<t>", "", "<p>", Html("<hr>")).count("&lt;") == 2


def test_colours_are_those_of_the_explorer(result: Result) -> None:
    page = result.explorer().html
    assert all(fill in page for fill, _ in PALETTE)
    assert colours_of([Mesh.of(a=2, b=2), Mesh((MeshAxis("b", 2), MeshAxis("c", 2)))]) == {
        "a": 0,
        "b": 1,
        "c": 2,
    }
    assert ink_and_fill(11) == ink_and_fill(1)
