"""The count of bytes in HLO that `benchmarks/bytes_sent.py` holds against our local programs."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest

from shardy_py.hlo.text.reader import read_module
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def bytes_sent() -> ModuleType:
    """The benchmark, which is a script beside the package."""
    spec = spec_from_file_location("bytes_sent", ROOT / "benchmarks" / "bytes_sent.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LOOP = """HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

body {
  state = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[8] get-tuple-element(state), index=1
  r = f32[8] all-reduce(x), replica_groups=[2,4]<=[8], to_apply=add
  ROOT out = (s32[], f32[8]) tuple(next, r)
}

condition {
  state = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  limit = s32[] constant(5)
  ROOT less = pred[] compare(i, limit), direction=LT
}

ENTRY main {
  p = f32[8] parameter(0)
  zero = s32[] constant(START)
  first = (s32[], f32[8]) tuple(zero, p)
  ROOT loop = (s32[], f32[8]) while(first), condition=condition, body=body
}
"""


@pytest.mark.parametrize(("start", "times"), [("0", 5), ("2", 1)])
def test_collectives_in_loops_count_once_an_iteration(bytes_sent: ModuleType, start: str, times: int) -> None:
    module = read_module(LOOP.replace("START", start))
    assert bytes_sent.bytes_in(module) == {"all_reduce": times * 2 * 3 * 32 // 4}


@pytest.mark.parametrize(
    ("ops", "found"),
    [
        ("ROOT r = f32[32] all-gather(p), replica_groups=[2,4]<=[8], dimensions={0}", {"all_gather": 96}),
        (
            "s = (f32[4], f32[4]) tuple(p, p)\n"
            "ROOT r = f32[8] collective-permute(p), source_target_pairs={{0,0},{1,1}}",
            {},
        ),
        (
            "ROOT r = f32[8] collective-permute(p), source_target_pairs={{0,1},{1,1}}",
            {"collective_permute": 32},
        ),
        (
            "ROOT r = f32[8] all-to-all(p), replica_groups=mesh['x'=2,'y'=4] {'y'}, dimensions={0}",
            {"all_to_all": 24},
        ),
        (
            "r = f32[8] all-reduce(p), replica_groups=[2,4]<=[8], to_apply=add\n"
            "ROOT s = f32[2] dynamic-slice(r, i), dynamic_slice_sizes={2}",
            {"reduce_scatter": 24},
        ),
        (
            "r = f32[8] all-reduce(p), replica_groups=[2,4]<=[8], to_apply=add\n"
            "s = f32[2] dynamic-slice(r, i), dynamic_slice_sizes={2}\n"
            "ROOT t = (f32[8], f32[2]) tuple(r, s)",
            {"all_reduce": 48},
        ),
    ],
)
def test_bytes_of_each_kind(bytes_sent: ModuleType, ops: str, found: dict[str, int]) -> None:
    add = LOOP[: LOOP.index("body {")]
    text = f"{add}ENTRY main {{\np = f32[8] parameter(0)\ni = s32[] parameter(1)\n{ops}\n}}"
    assert bytes_sent.bytes_in(read_module(text)) == found
