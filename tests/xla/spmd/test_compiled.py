"""The harness: collectives of HLO text, and of what XLA compiles."""

from __future__ import annotations

import re

import pytest

from shardy_py.xla.spmd.model import PlannedCollective
from tests.xla.spmd.compiled import Case, Hlo, collectives_of, groups_of, partitioned, sent_by_kind

MESH = 'sdy.mesh @mesh = <["x"=4, "y"=2]>'
LOOP = """HloModule loop

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %x = f32[8]{0} get-tuple-element(%p), index=1
  %moved = f32[8]{0} collective-permute(%x), channel_id=1, source_target_pairs={{0,1},{1,0}}
  %same = f32[8]{0} collective-permute(%moved), channel_id=2, source_target_pairs={{0,0},{1,1}}
  ROOT %t = (s32[], f32[8]{0}) tuple(%next, %same)
}

%condition (q: (s32[], f32[8])) -> pred[] {
  %q = (s32[], f32[8]{0}) parameter(0)
  %j = s32[] get-tuple-element(%q), index=0
  %five = s32[] constant(5)
  ROOT %less = pred[] compare(%j, %five), direction=LT
}

ENTRY %main (a: f32[8]) -> (f32[8], f32[16]) {
  %a = f32[8]{0} parameter(0)
  %zero = s32[] constant(2)
  %start = (s32[], f32[8]{0}) tuple(%zero, %a)
  %loop = (s32[], f32[8]{0}) while(%start), condition=%condition, body=%body
  %end = f32[8]{0} get-tuple-element(%loop), index=1
  %whole = f32[16]{0} all-gather(%a), replica_groups={{0,1}}, dimensions={0}, metadata={op_name="dot"}
  ROOT %both = (f32[8]{0}, f32[16]{0}) tuple(%end, %whole)
}
"""


WITHOUT_ELEMENTS = re.sub(
    r"%(\w+)(?=[,)])",
    lambda found: {"i": "%p#0", "x": "%p#1", "j": "%q#0", "end": "%loop#1"}.get(found[1], found[0]),
    "\n".join(line for line in LOOP.splitlines() if "get-tuple-element" not in line),
)
"""The same as XLA writes it since JAX 0.12."""


@pytest.mark.parametrize("text", [LOOP, WITHOUT_ELEMENTS], ids=["0.10", "0.12"])
def test_collectives_of_a_loop_count_by_its_trips(text: str) -> None:
    hlo = Hlo(text)
    first, second = hlo.results
    assert [*hlo.collectives(first)] == [PlannedCollective("collective_permute", 2, "f32", (8,), times=3)]
    assert [*hlo.collectives(second)] == [PlannedCollective("all_gather", 2, "f32", (8,), "dot")]
    assert sent_by_kind(hlo.collectives()) == {"collective_permute": 96, "all_gather": 32}


def _tensor(shape: str, sharding: str) -> str:
    return f"tensor<{shape}> {{sdy.sharding = #sdy.sharding<@mesh, {sharding}>}}"


def test_collectives_are_those_of_each_case() -> None:
    dot = "%result = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : "
    dot += "(tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>"
    summed = (_tensor("64x128xf32", '[{}, {"x"}]'), _tensor("128x32xf32", '[{"x"}, {}]'))
    parallel = (_tensor("64x128xf32", '[{"x"}, {}]'), _tensor("128x32xf32", '[{}, {"y"}]'))
    cases = [
        Case(summed, dot, _tensor("64x32xf32", "[{}, {}]")),
        Case(parallel, dot, _tensor("64x32xf32", '[{"x"}, {"y"}]')),
        Case(parallel, dot, _tensor("64x32xf32", '[{"x"}, {}]')),
    ]
    found = [sent_by_kind(each or ()) for each in collectives_of(MESH, cases, per_module=2)]
    assert found == [{"all_reduce": 2 * 64 * 32 * 4 * 3 // 4}, {}, {"all_gather": 16 * 16 * 4}]


def test_what_xla_says_is_kept() -> None:
    (found,) = partitioned(["func.func @main() -> tensor<f32> { not MLIR }"])
    assert found.before == found.after == ""
    assert "not" in found.log


@pytest.mark.parametrize(
    ("attributes", "groups"),
    [
        ("replica_groups=[2,2]<=[2,2]T(1,0)", ((0, 2), (1, 3))),
        ("replica_groups={{0,1},{2,3}}, x=1", ((0, 1), (2, 3))),
        ("replica_groups=mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)) {'a'}", ((0, 1), (2, 3))),
        ("replica_groups=mesh['x'=2,'y'=2] {'x'}, x=1", ((0, 2), (1, 3))),
        (
            "replica_groups=mesh['x'=2,'y'=4] {'y':(2)2}, frontend_attributes={a=\"b\"}",
            ((0, 1), (2, 3), (4, 5), (6, 7)),
        ),
        ("source_target_pairs={{0,1},{1,0}}", ((0, 1), (1, 0))),
    ],
)
def test_groups_are_read_in_each_notation(attributes: str, groups: tuple[tuple[int, ...], ...]) -> None:
    assert groups_of(attributes) == groups
