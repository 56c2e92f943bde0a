"""Annotations written into text are read as these annotations, wherever they stand in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.ir import BlockArgument

from shardy_py import Program
from shardy_py.check import CheckSettings
from shardy_py.lsp.analysis import analyse
from shardy_py.lsp.documents import OpenDocument, first_analysis, second_analysis
from shardy_py.lsp.edits import edits_of
from shardy_py.report.verdict import SuggestedSharding

GIVEN = "#sdy.sharding<@mesh, [{}, {}]>"
PROGRAM = """sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32>, %b: tensor<8x4xf32> {jax.buffer_donor = true} loc("a, ) {"),
    %c: tensor<8x4xf32> {mhlo.layout_mode = "{", sdy.sharding = GIVEN}) -> RESULTS {
  %0:2 = stablehlo.while(%i = %arg0, %j = %b) : tensor<8x4xf32>, tensor<8x4xf32>
    cond {
      %p = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %k = stablehlo.add %i, %j
          : tensor<8x4xf32> loc("add")
      stablehlo.return %k, %j : tensor<8x4xf32>, tensor<8x4xf32>
    }
  %1 = "stablehlo.dot_general"(%0#0, %c)
      <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
      rhs_contracting_dimensions = [1]>}> : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %2 = sdy.sharding_constraint %c <@mesh, [{}, {}]> : tensor<8x4xf32>
  %3 = stablehlo.tanh %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<8x4xf32>
  return RETURNED
}
""".replace("GIVEN", GIVEN)
TWO = PROGRAM.replace("RETURNED", "%3, %1 : tensor<8x4xf32>, tensor<8x8xf32>").replace(
    "RESULTS", '(tensor<8x4xf32> {jax.result_info = "(,"}, tensor<8x8xf32>)'
)
ONE = PROGRAM.replace("RETURNED", "%3 : tensor<8x4xf32>").replace("RESULTS", "tensor<8x4xf32>")
WANTED = '<@mesh, [{"x"}, {"y"}]>'


@pytest.mark.parametrize("text", [ONE, TWO], ids=["one result", "two results"])
def test_annotations_are_read_as_they_are(text: str) -> None:
    found = analyse(text, "model.mlir", CheckSettings(as_compiled=False))
    assert found.result is not None, found.problems
    seen = 0
    for value in found.result.source.values:
        if value.shape != (8, 4) and value.shape != (8, 8):
            continue
        name = value.file_name or value.name
        wanted = SuggestedSharding(value.function, value.role, name, value.entry.index, WANTED)
        edits = edits_of(text, found.index, found.facts, (wanted,))
        if isinstance(value.entry.value, BlockArgument) and value.role == "intermediate":
            assert edits == ()
            continue
        (edit,) = edits
        after = Program.parse(text[: edit.start] + edit.new + text[edit.end :], as_compiled=False)
        if value.role == "intermediate":
            ops = [
                each for each in after.values.of_op("sdy.sharding_constraint") if str(each.sharding) == WANTED
            ]
            assert len(ops) == 1, edit
        else:
            of_role = after.values.results() if value.role == "result" else after.values.arguments()
            assert str(of_role[value.entry.index].sharding) == WANTED, edit
        seen += 1
    assert seen >= 10


def test_what_cannot_be_placed_is_not_offered() -> None:
    found = analyse(ONE, "model.mlir", CheckSettings(as_compiled=False))
    for wanted in (
        SuggestedSharding("main", "intermediate", "%zzz", 0, WANTED),
        SuggestedSharding("main", "result", "result 7", 7, WANTED),
        SuggestedSharding("f", "result", "result 0", 0, WANTED),
        SuggestedSharding("main", "argument", "main\n%b\n0", 0, None),
    ):
        assert edits_of(ONE, found.index, found.facts, (wanted,)) == ()


def test_remedies_are_of_the_text_that_was_analysed(tmp_path: Path) -> None:
    text = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  return %arg0 : tensor<8x4xf32>
}
"""
    file = str(tmp_path / "model.mlir")
    found, settings = first_analysis(text, file)
    document = OpenDocument(file)
    document.change(text)
    document.keep(second_analysis(found, file, settings))
    offered = [*document.remedies(0, len(text))]
    assert offered
    assert all(remedy.changes for remedy in offered)
    document.change(f"// moved\n{text}")
    assert [*document.remedies(0, len(text))] == []
    assert [*document.hints(0, len(text))]  # by the definitions, which moved along


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('[tool.sdy-check]\nselect = ["SDY9"]', "pyproject.toml:2:12: error: [tool.sdy-check] select"),
        ("", ""),
    ],
)
def test_settings_are_those_of_the_folder(settings: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(settings)
    found, _ = first_analysis(ONE, str(tmp_path / "model.mlir"))
    assert [message in problem.message for problem in found.problems] == [True] * bool(message)
    assert found.result is not None
