"""Causes are collectives of one source line in all layers and passes, or alike ops without lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shardy_py import Program, Result, propagate
from shardy_py.report.verdict import CostCause, TriedChange, family_name, layer_count, phase, verdict_text
from shardy_py.report.verdict.repeats import module_of

LAYER = """
  %u{n} = stablehlo.dot_general %x{n}, %up, contracting_dims = [1] x [0]
      : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32> {up}
  %d{n} = stablehlo.dot_general %u{n}, %down, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32> {down}
  %x{next} = stablehlo.tanh %d{n} : tensor<64x32xf32>"""


def program(layers: int = 3, *, has_lines: bool) -> Result:
    """A chain of layers in which the second product sums along `model`."""
    bodies: list[str] = []
    for n in range(layers):
        scope = f"jit(f)/jvp(layer_{n})/dot_general" if n else "jit(f)/transpose(jvp(layer_0))/dot_general"
        up, down = (f'loc("{scope}"("model.py":{line}:4))' if has_lines else "" for line in (5, 6))
        bodies.append(LAYER.format(n=n, next=n + 1, up=up, down=down))
    text = f"""
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func public @main(
    %x0: tensor<64x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"data"}}, {{}}]>}} loc("x"),
    %up: tensor<32x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"model"}}]>}} loc("w[0]['up']"),
    %down: tensor<64x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"model"}}, {{}}]>}} loc("w['down']"))
    -> tensor<64x32xf32> {{{"".join(bodies)}
  return %x{layers} : tensor<64x32xf32>
}}"""
    return propagate(Program.parse(text))


def causes(result: Result) -> tuple[CostCause, ...]:
    return result.verdict(partitioner="xla").causes


def test_a_line_in_all_layers_is_one_cause() -> None:
    (cause,) = causes(program(has_lines=True))
    assert (cause.location.split()[0], cause.count, cause.layers) == ("model.py:6:4", 3, 3)
    assert cause.phases == {"backward": 1, "forward": 2}
    assert cause.kinds == {"all_reduce along model": 3}
    assert cause.share == pytest.approx(1)
    assert cause.origins == (
        "\"model\" is from the argument sharding of w[*]['up']",
        "\"model\" is from the argument sharding of w['down']",
    )


def test_without_lines_alike_ops_are_one_cause() -> None:
    (cause,) = causes(program(has_lines=False))
    assert (cause.count, cause.code) == (3, "dot_general(64x64xf32, 64x32xf32)")


def test_the_text_is_a_screen() -> None:
    verdict = program(has_lines=True).verdict(partitioner="xla")
    text = str(verdict)
    assert text.startswith(f"Verdict: each device receives {3 * 6144 / 1000:.2f} kB in ")
    assert "3 all_reduce along model, in 3 layers, 1 backward, 2 forward: " in text
    assert len(text.splitlines()) <= 24
    assert verdict_text(verdict, most=0).splitlines()[-1] == "  and 1 smaller cause"
    assert "<b>" in verdict._repr_html_()
    assert repr(verdict).startswith("<Verdict: each device receives")


def test_why_there_are_no_changes() -> None:
    found = program(has_lines=True).verdict(partitioner="xla")
    less, more = (replace(found.figures, memory=size) for size in (10, 11))

    def without(*best: TriedChange | None) -> str:
        own = tuple(replace(found.causes[0], best=each) for each in best)
        return verdict_text(replace(found, changes=(), causes=own, tried=7)).splitlines()[1]

    grown, small = TriedChange("shard", less, more, (0, 0)), TriedChange("shard", less, less, (0, 0))
    assert without(None) == "No change that was tried helps (7 tried)."
    assert without(None, small) == "No change that was tried saves much (7 tried)."
    assert without(small, grown) == "No change helps without more memory (7 tried)."


def test_nothing_is_sent() -> None:
    text = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }"
    assert str(propagate(Program.parse(text)).verdict()) == "Verdict: the program needs no communication."


def test_names_of_layers_and_passes() -> None:
    assert module_of("jit(f)/transpose(jvp(Model))/layer_3/mlp/dot_general") == "Model/layer_#/mlp"
    assert module_of("jit(f)/checkpoint/rematted_computation/layer_3/dot") == "layer_#"
    assert layer_count(["a/layer_0/x", "a/layer_1/x", "a/layer_1/x"]) == 2
    assert layer_count(["a/x", "a/y"]) == 0
    assert phase("jit(f)/rematted_computation/dot") == "rematerialized"
    assert family_name("w[3]['up']") == "w[*]['up']"
