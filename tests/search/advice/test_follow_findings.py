"""The advice of each rule, followed: the finding is gone, and neither bytes nor memory get worse.

Remedies of collectives in functions of JAX are followed by `follow_remedies.py`. Not followed: advice that
changes what is computed (SDY002, SDY005, SDY008).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from shardy_py import Mesh, P, Program, Result, propagate
from shardy_py.check import Choice, Finding, Limits, check
from shardy_py.hardware.cost import cost_model
from tests.check.test_rules import BAD

SMALL = Limits(1, 1, padding_bytes=1)
XLA = Limits(1, 1, partitioner="xla", padding_bytes=1)
SLOW = Limits(1, 1, cost_model("tpu-v5p,slow=tpu-dcn"))
_HEAD = 'sdy.mesh @mesh = <["x"=2, "y"=2, "slow"=2]>\n'


def argument(name: str, type_: str, *axes: str) -> str:
    sharding = ", ".join(f'{{"{axis}"}}' if axis else "{}" for axis in axes)
    given = f" {{sdy.sharding = #sdy.sharding<@mesh, [{sharding}]>}}" if axes else ""
    return f"%{name}: tensor<{type_}>{given}"


def product(x: str, w: str, result: str = "") -> str:
    return f"""{_HEAD}func.func @main({x}, {w}) -> (tensor<64x64xf32>{result}) {{
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}}"""


X, W = "64x128xf32", "128x64xf32"
DATA = product(argument("x", X, "x", ""), argument("w", W))
OPEN = product(argument("x", X, "x", ""), argument("w", W, "", "y"))
SUMMED = product(argument("x", X, "", "slow"), argument("w", W, "slow", ""))
STRADDLING = BAD["SDY010"].replace(
    '-> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})', "-> tensor<8x8xf32>"
)
Follow = Callable[[Program, Finding], Program]


def annotated(program: Program, finding: Finding) -> Program:
    """With the value of a finding sharded as its remedy says in the syntax of sdy."""
    match = re.search(r"<@mesh, \[.*\]>", finding.remedy)
    assert match is not None
    return program.annotate({finding.subject: match[0]})


def constrained(program: Program, finding: Finding) -> Program:
    """With the axis that a remedy names on the dimension that it names."""
    dimension = re.search(r"dimension (\d+)", finding.remedy)
    axis = re.search(r'add a sharding_constraint with "(\w+)"', finding.remedy)
    assert dimension is not None
    assert axis is not None
    value = program[finding.subject]
    spec: list[tuple[str, ...]] = [() for _ in value.shape or ()]
    spec[int(dimension[1])] = (axis[1],)
    return program.annotate({value: P(*spec)})


def without_axis(program: Program, finding: Finding) -> Program:
    axis = re.search(r'axis "(\w+)"', finding.message)
    (mesh,) = program.meshes.values()
    assert axis is not None
    text = program.text().replace(
        str(mesh), str(Mesh.of({a.name: a.size for a in mesh.axes if a.name != axis[1]}))
    )
    return Program.parse(text)


def along(program: Program, finding: Finding) -> Program:
    """With the contracted dimensions along the axis of the remedy."""
    axis = re.search(r'shard the contracted dimension along "(\w+)"', finding.remedy)
    assert axis is not None
    return program.annotate({"%arg0": P(None, axis[1]), "%arg1": P(axis[1])})


def before_the_loop(program: Program, finding: Finding) -> Program:
    """With a constraint on the operand of the finding, whole, before the loop that reads it."""
    constraint = "  %w = sdy.sharding_constraint %arg1 <@mesh, [{}, {}]> : tensor<8x8xf32>\n  %0:2 ="
    text = BAD["SDY009"].replace("  %0:2 =", constraint).replace("%x, %arg1,", "%x, %w,")
    assert program.text() == Program.parse(BAD["SDY009"]).text()
    return Program.parse(text)


def as_the_rule_says(program: Program, finding: Finding) -> Program:
    return program.annotate({"%arg1": P("x")})


def other_dimension(program: Program, finding: Finding) -> Program:
    assert finding.remedy.startswith("shard dimension 0 instead (the program sends 256 B -> 0 B), or ")
    return program.annotate({"%arg0": P("x")})


@dataclass(frozen=True)
class Case:
    """A program with a finding of a rule on a value, and how its advice is followed."""

    code: str
    text: str
    follow: Follow
    subject: str = ""
    limits: Limits = SMALL


CASES = {
    "replicated argument": Case("SDY001", BAD["SDY001"], constrained, "%arg1"),
    "unused axis": Case("SDY004", BAD["SDY004"], without_axis),
    "open result": Case("SDY006", OPEN, annotated, "result 0"),
    "open result of data": Case("SDY006", DATA, annotated, "result 0"),
    "half open argument": Case("SDY006", BAD["SDY006"], annotated, "%arg0"),
    "slow sum": Case("SDY007", SUMMED, along, "", SLOW),
    "in each iteration": Case("SDY009", BAD["SDY009"], before_the_loop),
    "straddling": Case("SDY010", STRADDLING, other_dimension, "", XLA),
    "custom rule": Case("SDY011", BAD["SDY011"], as_the_rule_says),
}


def costs(result: Result, limits: Limits) -> tuple[int, float, int]:
    """The bytes and seconds of collectives, and the memory of a device."""
    report = result.communication(limits.model or "tpu-v5p", partitioner="xla")
    return report.total.bytes, report.total.seconds, result.memory("tpu-v5p").estimate.total_bytes


@pytest.mark.parametrize("name", CASES)
def test_advice_helps_or_changes_nothing(name: str) -> None:
    case = CASES[name]
    program = Program.parse(case.text, "m.mlir")
    before = propagate(program)
    chosen = Choice(selected=(case.code,))
    found = check(before, chosen, case.limits)
    finding = next(each for each in found if case.subject in ("", each.subject))
    after = propagate(case.follow(program, finding))
    left = check(after, chosen, case.limits)
    assert len(left) < len(found)
    assert finding.subject not in {each.subject for each in left if case.subject}
    (bytes_, seconds, memory), (new_bytes, new_seconds, new_memory) = (
        costs(result, case.limits) for result in (before, after)
    )
    assert new_bytes <= bytes_
    assert new_seconds <= seconds
    assert new_memory <= memory


def test_replicated_weights_get_no_annotation_that_sends_more_than_it_saves() -> None:
    found = check(propagate(Program.parse(DATA)), Choice(selected=("SDY001",)), SMALL)
    weight = next(each for each in found if each.subject == "%arg1")
    assert weight.message == "32.77 kB are replicated on every device"
    assert "constraint" not in weight.remedy or _pays(DATA, weight)


def _pays(text: str, finding: Finding) -> bool:
    program = Program.parse(text)
    before, after = (propagate(each) for each in (program, constrained(program, finding)))
    sent = [result.communication().total.bytes for result in (before, after)]
    held = [result.memory().memory_bytes for result in (before, after)]
    return sent[1] - sent[0] <= finding.bytes // 2 and held[1] <= held[0]


def test_no_axis_with_fast_links_is_free() -> None:
    mesh = 'sdy.mesh @mesh = <["x"=2, "slow"=2]>\n'
    text = product(argument("x", X, "x", "slow"), argument("w", W, "slow", "")).replace(_HEAD, mesh)
    (finding,) = check(propagate(Program.parse(text)), Choice(selected=("SDY007",)), SLOW)
    assert finding.remedy.startswith('no free axis has fast links: exchange "slow" with one that has')


def test_another_dimension_is_not_proposed_where_that_sends_more() -> None:
    (finding,) = check(propagate(Program.parse(BAD["SDY010"])), Choice(selected=("SDY010",)), XLA)
    assert finding.remedy.startswith("give the parts that are sliced a dimension of their own")


def test_a_vector_has_no_other_dimension_to_shard() -> None:
    text = BAD["SDY010"].replace("8x24", "24").replace("8x8", "8").replace("[0:8, 8:16]", "[8:16]")
    text = text.replace('[{}, {"x"}]', '[{"x"}]')
    (finding,) = check(propagate(Program.parse(text)), Choice(selected=("SDY010",)), SMALL)
    assert finding.remedy.startswith("give the parts that are sliced a dimension of their own")
