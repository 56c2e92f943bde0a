"""Remedies name what the user wrote, and help; programs that nothing helps say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py import Program, ShardyError, propagate
from shardy_py.base.errors import Position
from shardy_py.search.advice import ExpressionSite, Sites

MLP = """
sdy.mesh @mesh = <["model"=8]>
func.func public @main(
    %arg0: tensor<2048x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>} loc("x"),
    %arg1: tensor<128x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("params['up']"),
    %arg2: tensor<512x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("params['down']"))
    -> (tensor<2048x128xf32> {jax.result_info = "result"}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<2048x128xf32>, tensor<128x512xf32>) -> tensor<2048x512xf32> loc("dot"("model.py":3:8 to :13))
  %1 = stablehlo.tanh %0 : tensor<2048x512xf32> loc("tanh"("model.py":4:8 to :15))
  %2 = stablehlo.dot_general %1, %arg2, contracting_dims = [1] x [0]
      : (tensor<2048x512xf32>, tensor<512x128xf32>) -> tensor<2048x128xf32> loc("dot"("model.py":5:8 to :13))
  return %2 : tensor<2048x128xf32>
}
"""
JAX = f"module @jit_f attributes {{mhlo.num_partitions = 8 : i32}} {{{MLP}}}"


def test_remedies_of_jax_are_partition_specs() -> None:
    result = propagate(Program.parse(JAX))
    report = result.communication(partitioner="xla")
    found = [remedy for use in report.sending for remedy in result.remedies(use)]
    assert found
    for remedy in found:
        assert "P(" in remedy.words
        assert "%" not in remedy.words
        assert remedy.after.total.bytes < remedy.before.total.bytes
        assert remedy.after.own_bytes < remedy.before.own_bytes
    words = {remedy.words for remedy in found}
    assert any("params['down']" in each or "model.py:" in each for each in words), words


def test_remedies_are_in_the_printed_report() -> None:
    text = str(propagate(Program.parse(JAX)).communication(partitioner="xla"))
    assert "What to change" in text
    assert " -> " in text


def test_remedies_of_other_programs_are_in_mlir() -> None:
    result = propagate(Program.parse(MLP))
    report = result.communication(partitioner="xla")
    words = [remedy.words for use in report.sending for remedy in result.remedies(use)]
    assert words
    assert not any("P(" in each for each in words)


def test_the_remedy_has_its_effect() -> None:
    result = propagate(Program.parse(JAX))
    (remedy, *_) = result.remedies(result.communication(partitioner="xla").sending[0])
    edits = {
        entry.name: str(edit.sharding) if edit.sharding else None
        for edit in remedy.edits
        for entry in edit.values
    }
    after = propagate(result.source.annotate(edits)).communication(partitioner="xla")
    assert after.total == remedy.after.total


def test_collectives_of_another_result() -> None:
    one, other = (propagate(Program.parse(JAX)) for _ in range(2))
    use = one.communication(partitioner="xla").sending[0]
    with pytest.raises(ShardyError, match="is not of a report by XLA on this result"):
        other.advice(use)


def test_no_tries() -> None:
    result = propagate(Program.parse(JAX))
    use = result.communication(partitioner="xla").sending[0]
    assert result.advice(use, tries=0).lines == ()


def test_placements_are_tried() -> None:
    result = propagate(Program.parse(JAX))
    found = result.placements("%arg0", "model", (0,))
    assert found.tried >= 1
    assert found.remedies[0].words == 'in_shardings= of x: P("model", None)'
    assert found.remedies[0].after.held_bytes * 8 == found.remedies[0].before.held_bytes
    after = propagate(result.source.annotate({"%arg0": '<@mesh, [{"model"}, {}]>'})).communication()
    assert found.remedies[0].after.sent_bytes == after.total.bytes


def test_why_not_of_jax_has_tried_remedies() -> None:
    text = str(propagate(Program.parse(JAX)).why_not("%arg0", 0, "model"))
    assert (
        'to change that: in_shardings= of x: P("model", None)  (1.05 MB -> 131.07 kB on each device' in text
    )
    assert "{?}" not in text


def test_placements_of_programs_without_mesh() -> None:
    text = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }"
    assert propagate(Program.parse(text)).placements("%arg0", "model").lines == ()


def test_long_expressions_are_named_by_their_ends() -> None:
    def words(text: str) -> str:
        return ExpressionSite(Position("model.py", 3, 8), text, "", "stablehlo.multiply", ()).words

    assert words("x @ w") == "x @ w"
    assert words("") == "result of stablehlo.multiply"
    text = "(x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)).astype(x.dtype) * scale"
    assert words(text) == "(x * jax.lax.rsqrt(jnp.mean ... 6)).astype(x.dtype) * scale"
    assert len(words(text)) == 59


def test_the_remedy_quotes_an_expression_of_any_length(tmp_path: Path) -> None:
    long = f"x @ ({'w' * 40} * one_scale_of_the_weights)"
    (tmp_path / "model.py").write_text(f"# a model\ndef f(x):\n    h = {long}.T\n")
    line = tmp_path / "model.py"
    text = JAX.replace('"model.py":3:8 to :13', f'"{line}":3:8 to :{8 + len(long)}')
    result = propagate(Program.parse(text).with_source_roots(tmp_path))
    sites = Sites(result.program.values.table, result.program.sources)
    (site,) = (site for site in sites.products() if site.place.line == 3)
    assert (site.text, site.words) == (long, f"x @ ({'w' * 22} ... * one_scale_of_the_weights)")
