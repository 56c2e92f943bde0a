"""Collectives of the HLO that compilers made."""

from __future__ import annotations

import pytest

from shardy_py.hlo.text import read_module
from shardy_py.xla.compilers import SentByCompiler, sent_by_compiler
from tests.xla.compilers.fake import HLO


def _sent(text: str) -> tuple[SentByCompiler, ...]:
    return sent_by_compiler(read_module(text))


def test_what_is_started_counts_its_result() -> None:
    (only,) = _sent(HLO)
    assert (only.kind, only.runs, only.result_bytes, only.is_overlapped) == ("all_gather", 1, 4 << 20, False)
    assert only.lines == ("model.py:7:8 jit(f)/dot",)


_LOOP = """HloModule m

add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }

body {
  t = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[8] get-tuple-element(t), index=1
  r = f32[8] all-reduce(x), replica_groups={{0,1}}, to_apply=add
  ROOT n = (s32[], f32[8]) tuple(i, r)
}

cond {
  t = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  c = s32[] constant(5)
  ROOT l = pred[] compare(i, c), direction=LT
}

ENTRY main {
  t = (s32[], f32[8]) parameter(0)
  ROOT w = (s32[], f32[8]) while(t), condition=cond, body=bodyKNOWN
}
"""


@pytest.mark.parametrize(("known", "runs"), [("", 5), (', backend_config={"known_trip_count":{"n":"3"}}', 3)])
def test_loops_count_by_their_trips(known: str, runs: int) -> None:
    text = _LOOP.replace("KNOWN", known).replace("{ a", "{\n  a").replace(" b =", "\n  b =")
    text = text.replace(" ROOT s =", "\n  ROOT s =").replace("add(a, b) }", "add(a, b)\n}")
    assert [(each.kind, each.runs, each.result_bytes) for each in _sent(text)] == [("all_reduce", runs, 32)]


_SCATTER = """HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

all-reduce-scatter.1 {
  x = f32[8] parameter(0)
  i = s32[] parameter(1)
  r = f32[8] all-reduce(x), replica_groups={{0,1}}, to_apply=add
  ROOT d = f32[4] dynamic-slice(r, i), dynamic_slice_sizes={4}
}

ENTRY main {
  x = f32[8] parameter(0)
  i = s32[] parameter(1)
  ROOT f = f32[4] fusion(x, i), kind=kCustom, calls=all-reduce-scatter.1
}
"""


def test_a_fused_scatter_of_a_tpu_is_a_reduce_scatter() -> None:
    assert [(each.kind, each.result_bytes) for each in _sent(_SCATTER)] == [("reduce_scatter", 16)]
