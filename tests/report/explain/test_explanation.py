"""The text of explanations: not more of what agrees than anyone reads."""

from __future__ import annotations

from shardy_py.report.explain import Annotation, AxisExplanation, Chain, Explanation, NamedPlace


def test_few_of_many_annotations_that_agree() -> None:
    place = NamedPlace("%arg0", "func.func", label="x")
    chain = Chain(Annotation("argument sharding", place, '<@mesh, [{"x"}]>', 0), ())
    text = str(Explanation(place, "", "", (AxisExplanation(0, '"x"', (chain,) * 6),)))
    assert text.count("argument sharding of %arg0 (x)") == 4
    assert text.endswith("... and 2 other annotations that agree")
    assert "... and" not in str(Explanation(place, "", "", (AxisExplanation(0, '"x"', (chain,) * 4),)))
