"""Changes of a verdict are tried on top of each other: their figures are those of the edited program."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from shardy_py import Program, Result, ShardyError, propagate
from shardy_py.report.verdict import verdict_json
from shardy_py.search import advising, verdicts
from shardy_py.search.verdicts import ResultVerdicts, verdict_of

TWO = """
module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func public @main(
    %arg0: tensor<512x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("x"),
    %arg1: tensor<128x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("w['a']"),
    %arg2: tensor<256x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("w['b']"),
    %arg3: tensor<2048x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("y"),
    %arg4: tensor<256x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("v['c']"),
    %arg5: tensor<512x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("v['d']"))
    -> (tensor<512x128xf32> {jax.result_info = "result[0]"}, tensor<2048x256xf32> {jax.result_info = "r"}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<512x128xf32>, tensor<128x256xf32>) -> tensor<512x256xf32> loc("dot"("m.py":3:8 to :13))
  %1 = stablehlo.tanh %0 : tensor<512x256xf32> loc("tanh"("m.py":4:8 to :15))
  %2 = stablehlo.dot_general %1, %arg2, contracting_dims = [1] x [0]
      : (tensor<512x256xf32>, tensor<256x128xf32>) -> tensor<512x128xf32> loc("dot"("m.py":5:8 to :13))
  %3 = stablehlo.dot_general %arg3, %arg4, contracting_dims = [1] x [0]
      : (tensor<2048x256xf32>, tensor<256x512xf32>) -> tensor<2048x512xf32> loc("dot"("m.py":6:8 to :13))
  %4 = stablehlo.tanh %3 : tensor<2048x512xf32> loc("tanh"("m.py":7:8 to :15))
  %5 = stablehlo.dot_general %4, %arg5, contracting_dims = [1] x [0]
      : (tensor<2048x512xf32>, tensor<512x256xf32>) -> tensor<2048x256xf32> loc("dot"("m.py":8:8 to :13))
  return %2, %5 : tensor<512x128xf32>, tensor<2048x256xf32>
}}
"""
SOURCE = "\n\nh = x @ a\nt = tanh(h)\no = t @ b\nk = y @ c\nu = tanh(k)\np = u @ d\n"


@cache
def result() -> Result:
    return propagate(Program.parse(TWO), progress=False)


def test_changes_are_made_on_top_of_each_other() -> None:
    verdict = result().verdict()
    assert len(verdict.changes) >= 2
    bytes_ = [verdict.figures.bytes, *(change.after.bytes for change in verdict.changes)]
    assert bytes_ == sorted(bytes_, reverse=True)
    for before, after in zip(verdict.changes, verdict.changes[1:], strict=False):
        assert before.after == after.before
    assert verdict.after == verdict.changes[-1].after
    assert all(c.after.memory_bytes <= 1.05 * verdict.figures.memory_bytes for c in verdict.changes)
    assert verdict.causes[0].step == 1


def test_figures_are_those_of_the_edited_program() -> None:
    first = result().verdict().changes[0]
    remedies = (r for use in result().communication().sending for r in result().remedies(use))
    remedy = next(each for each in remedies if each.words == first.words)
    edits = {
        entry.name: str(edit.sharding) if edit.sharding else None
        for edit in remedy.edits
        for entry in edit.values
    }
    after = propagate(result().source.annotate(edits), progress=False)
    assert after.communication().total.bytes == first.after.bytes
    assert after.memory(partitioner="xla").memory_bytes == first.after.memory_bytes


def test_it_is_computed_once() -> None:
    assert result().verdict() is result().verdict()
    use = result().communication().sending[0]
    change = result().kept(ResultVerdicts).change_for(use)
    assert change is not None
    assert change.after.bytes < change.before.bytes


def test_changes_of_expressions_are_fixes(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(SOURCE)
    program = Program.parse(TWO.replace('"m.py"', f'"{tmp_path / "m.py"}"')).with_source_roots(tmp_path)
    verdict = propagate(program, progress=False).verdict()
    assert verdict.causes[0].code in ("o = t @ b", "p = u @ d")
    data = verdict_json(verdict)
    json.dumps(data)
    fixes = [fix for change in verdict.changes for fix in change.fixes]
    for fix in fixes:
        assert fix.new.startswith("jax.lax.with_sharding_constraint(")
        assert "jax.P(" in fix.new


def test_why_nothing_is_tried() -> None:
    found = result()
    assert found.verdict(partitioner="shardy").not_tried.startswith("they are for collectives of XLA")
    report = found.communication()
    assert verdict_of(found, report, "no time").not_tried == "no time"
    assert found.verdict(tries=0).not_tried == "none were asked for"
    with pytest.raises(ShardyError, match="was not recorded"):
        propagate(Program.parse(TWO), record=False, progress=False).verdict()


def test_tries_of_a_large_program_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found = propagate(Program.parse(TWO), progress=False)
    monkeypatch.setattr(verdicts, "MOST_VALUES", 1)
    monkeypatch.setattr(advising, "MOST_VALUES", 1)
    assert "--tries N" in found.verdict().not_tried
    few, more = found.verdict(tries=1), found.verdict(tries=32)
    assert 0 < few.tried < more.tried
    assert more.changes == result().verdict().changes
    assert found.verdict(tries=1) is few
    with pytest.raises(ShardyError, match="tries"):
        found.verdict(tries=-1)


def test_no_verdict_is_made_for_a_finding_where_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    found = propagate(Program.parse(TWO), progress=False)
    use = found.communication().sending[0]
    monkeypatch.setattr(verdicts, "MOST_VALUES", 1)
    monkeypatch.setattr(verdicts, "verdict_of", lambda *_: pytest.fail("a verdict was made"))
    known = found.kept(ResultVerdicts)
    assert (known.change_for(use), known.is_tried(use)) == (None, False)
