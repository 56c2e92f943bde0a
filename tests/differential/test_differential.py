"""Random programs against the C++ Shardy, a few a mode; what fails is shrunk to a small program.

`SHARDY_DIFFERENTIAL=2000` runs as many a mode; `python -m tests.differential.releases` prints tables.
"""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from shardy_py.ops import TABLE
from tests.differential.explained import UNKNOWN, crash_cause
from tests.differential.flow_ops import Family
from tests.differential.meshes import Width
from tests.differential.modes import CRASH, MODES, Mode, Outcome, compare, made_small, run_ours, spelled
from tests.differential.op_families import ALWAYS, REASONS, rows
from tests.differential.programs import wide_program
from tests.differential.reference_process import CRASHED, ReferenceProcess
from tests.differential.refusals import refusal_cause
from tests.differential.shrink import shrink
from tests.differential.writer import Kind, Scope, Value, Writer

COUNT = int(os.environ.get("SHARDY_DIFFERENTIAL", "3"))
PIPELINE = "sdy-propagation-pipeline"


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_mode(mode: Mode, process: ReferenceProcess) -> None:
    @settings(
        max_examples=COUNT,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],  # what fails is made small op by op, which is faster
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
        ],
    )
    @given(st.randoms(use_true_random=False))
    def check(rng: random.Random) -> None:
        text = mode.program(rng)
        outcome = compare(mode, text, process)
        if not outcome.is_explained:
            outcome = made_small(mode, text, outcome, process)
        assert outcome.is_explained, f"{outcome}\n{outcome.program}\n{outcome.detail}"

    check()


def test_every_row_of_the_op_table_has_a_family_or_a_reason() -> None:
    generated = {name for names in rows().values() for name in names} | {*ALWAYS}
    table = {name for name in TABLE if not name.startswith(("hlo.", "mine."))}
    assert table == generated | REASONS.keys()
    assert not generated & REASONS.keys()


@pytest.mark.parametrize("family", rows(), ids=lambda family: family.__name__)
def test_a_family_adds_ops_of_all_its_rows(family: Family) -> None:
    missing = set(rows()[family])
    for seed in range(2000):
        w = Writer(random.Random(seed), Width())
        w.functions.append(("f", (Kind((2,)),), (Kind((2,)),)))
        arguments = [Value("%x", w.kind()), Value("%y", w.kind(0, 1))]
        scope = Scope([*arguments], w.mesh, arguments)
        for _ in range(3):
            family(w, scope)
        text = "\n".join(w.lines)
        missing = {name for name in missing if not _stands_in(name, text)}
        if not missing:
            return
    assert not missing


def _stands_in(name: str, text: str) -> bool:
    op, _, target = name.partition("@")
    return f'"{target}"' in text if target else op in text


@pytest.mark.parametrize("family", rows(), ids=lambda family: family.__name__)
def test_a_family_adds_valid_ops(family: Family, process: ReferenceProcess) -> None:
    for seed in range(3):
        w = Writer(random.Random(seed), Width())
        arguments = [Value("%x", w.kind()), Value("%y", w.kind(0, 1))]
        family(w, Scope([*arguments], w.mesh, arguments))
        takes = ", ".join(f"{v.name}: {v.kind}" for v in arguments)
        body = "\n".join(w.lines)
        text = f"{w.shardings.declarations()}\nfunc.func @main({takes}) {{\n{body}\n  return\n}}\n"
        assert process.run(text, "") == ("", run_ours(text, ())), text


def test_programs_have_what_is_promised() -> None:
    texts = [mode.program(random.Random(seed)) for mode in MODES for seed in range(20)]
    for word in (
        *("unreduced=", "replicated=", "func.call", "sharding_group", "manual_computation", "p1", ":(1)2"),
        *("named_computation", "while", "case", "propagation_barrier", "device_ids", "@turned", "?}", '"}'),
        *("sharding_constraint", "sharding_rule", "need_replication", '"a"=1]', '"d"='),
    ):
        assert any(word in text for text in texts), word


def test_a_failing_program_becomes_small() -> None:
    found = [t for t in map(_program, range(40)) if t.count("stablehlo.transpose") > 2]
    text = min(found, key=len)
    small = shrink(text, lambda t: "stablehlo.transpose" in t)
    assert small.count("stablehlo.") == small.count("stablehlo.transpose") == 1
    assert "sdy" not in small


def _program(seed: int) -> str:
    return wide_program(random.Random(seed), Width(calls=False))


DEAD = """sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a", ?}p1]>]>} : tensor<8xf32>
  return %x : tensor<8xf32>
}
"""


DISAGREE = """sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8x6xf32>) {
  %values, %indices = chlo.top_k(%x, k = 5) {sdy.sharding = #sdy.sharding_per_value<[
    <@mesh, [{}, {}], unreduced={"a"}>, <@mesh, [{}, {}]>]>}
    : tensor<8x6xf32> -> (tensor<8x5xf32>, tensor<8x5xi32>)
  return
}
"""


def test_a_crash_has_its_cause(process: ReferenceProcess) -> None:
    mode = next(mode for mode in MODES if mode.name == "reshards, full")
    outcome = compare(mode, DISAGREE, process)
    assert str(outcome) == "C++ crashes (results that disagree in unreduced axes)"
    assert outcome.is_explained
    assert process.run(DISAGREE, spelled(mode.steps))[0] == CRASHED
    assert process.run(DISAGREE, "")[0] == ""  # the next worker has taken over


def test_the_cause_of_a_crash_is_what_it_does_not_survive() -> None:
    assert crash_cause(DEAD, "SIGSEGV", lambda text: "SIGSEGV" * ("p1" in text)) == "dead op with a priority"
    assert crash_cause(DEAD, "SIGSEGV", lambda text: "SIGSEGV") == UNKNOWN
    assert not Outcome(CRASH, UNKNOWN).is_explained


@pytest.mark.parametrize("seed", range(5))
def test_pipeline_of_named_computations(seed: int) -> None:
    """C++ gives them their edges twice and then crashes; here the result verifies, and none is left."""
    text = wide_program(random.Random(seed), Width(named=True, calls=False))
    assert "named_computation" not in run_ours(text, ((PIPELINE, ""),))


DOUBLE = """sdy.mesh @mesh = <["a"=2]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.floor %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced={"a"}>]>}
    : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_a_message_has_a_cause_only_with_what_it_names() -> None:
    message = """error: 'stablehlo.floor' op result - duplicate axis ref: "a"
 note: "-":4:10: see current operation: %0 """
    assert "come to shard it" in refusal_cause(DOUBLE, message, lambda text: message * ("unreduced" in text))
    assert refusal_cause(DOUBLE, message, lambda text: message) == UNKNOWN
    assert refusal_cause("", message, str) == UNKNOWN
    check = "different meshes"
    assert crash_cause(DOUBLE, check, lambda text: check) == UNKNOWN
    turned = DOUBLE.replace("<@mesh, [", "<@turned, [")
    assert "meshes" in crash_cause(turned, check, lambda text: check * ("turned" in text))
    grouped = DOUBLE.replace("  return", "  sdy.sharding_group %0 group_id=0 : tensor<4xf32>\n  return")
    message = "'sdy.manual_computation' op result dimension size 2 is not divisible by the manual axes size 3"
    assert "groups" in refusal_cause(grouped, message, lambda text: message * ("_group" in text))
    assert refusal_cause(grouped, message, lambda text: message) == UNKNOWN
