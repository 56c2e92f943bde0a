"""The partitioner's passes against C++; more: `python -m tests.differential.partitioning`."""

from __future__ import annotations

import pytest

from shardy_py.base import releases
from tests.differential.modes import DIFFERENT, REFUSED, SAME, Mode, Outcome, Step, compare
from tests.differential.partitioning import LOCAL, PAD, PASSES, RESOLVE, explained, outcome_of, random_cases
from tests.differential.reference_process import ReferenceProcess

CALL = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @f(%x) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>}
    : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
"""


def test_random_programs_are_the_same_or_differ_for_a_cause(process: ReferenceProcess) -> None:
    if releases.current() is not releases.JAX_0_10:
        pytest.skip("the causes are those of JAX 0.10")
    outcomes = [(name, step, outcome_of(step, text, process)) for name, step, text in random_cases(6)]
    assert {step[0] for _, step, _ in outcomes} == {*PASSES}
    assert sum(outcome.kind == SAME for _, _, outcome in outcomes) > 5
    for name, step, outcome in outcomes:
        assert outcome.kind != DIFFERENT or outcome.cause, f"{name}, {step}\n{outcome.detail}"


def test_calls_lose_their_shardings(process: ReferenceProcess) -> None:
    step: Step = (LOCAL, "")
    assert compare(Mode(LOCAL, lambda rng: "", (step,)), CALL, process) == Outcome(SAME)


def test_causes() -> None:
    def outcome(ours: str, theirs: str, program: str = "") -> Outcome:
        return Outcome(DIFFERENT, "", program, f"ours: {ours}\ntheirs: {theirs}")

    assert explained(PAD, outcome("module {}", "module { }")).cause == ""
    assert "casts" in explained(PAD, outcome("module {}", "module {unrealized_conversion_cast}")).cause
    assert explained(RESOLVE, outcome("module {}", "module { }", "stablehlo.pad %0")).cause == ""
    assert explained(LOCAL, outcome("-:1:1: error: a", "error: b")).kind == REFUSED
