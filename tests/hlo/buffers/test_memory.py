"""The memory of compiled programs: by their schedule, and by what XLA assigned."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.buffers import memory_of, read_assignment
from shardy_py.hlo.text import read_module

ADD = """
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}
"""


SORT = "dimensions={0}, to_apply=%add"


def temporaries(body: str, *, before: str = "") -> int:
    entry = f"ENTRY %main {{\n  %p = f32[4]{{0}} parameter(0)\n{body}\n}}"
    return memory_of(read_module(f"HloModule m, is_scheduled=true\n{ADD}{before}\n{entry}")).temporaries


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # the result has memory of its own, in which what is needed before it may be
        ("ROOT %a = f32[4]{0} sort(%p), SORT", 0),
        ("%a = f32[4]{0} sort(%p), SORT\nROOT %b = f32[4]{0} sort(%a), SORT", 16),
        # an elementwise op that reads its operand last is computed in its memory
        ("%a = f32[4]{0} sort(%p), SORT\n%s = f32[4]{0} sine(%a)\nROOT %b = f32[4]{0} sort(%s), SORT", 16),
        (
            "%a = f32[4]{0} sort(%p), SORT\n%s = f32[1,4]{1,0} bitcast(%a)\n"
            "ROOT %t = (f32[1,4]{1,0}) tuple(%s)",
            0,
        ),
        # a start has the memory of what is received, which its end names
        (
            "%g = (f32[4]{0}, f32[16]{0}) all-gather-start(%p), dimensions={0}\n"
            "%e = f32[16]{0} all-gather-done(%g)\nROOT %b = f32[1]{0} slice(%e), slice={[0:1]}",
            64,
        ),
        ("%v = f32[4]{0:S(1)} sort(%p), SORT\nROOT %b = f32[4]{0} sort(%v), SORT", 0),
    ],
)
def test_temporaries(body: str, expected: int) -> None:
    assert temporaries(body.replace("SORT", SORT)) == expected


def test_loops_carry_values_in_place() -> None:
    before = """
%body (t: (f32[4])) -> (f32[4]) {
  %t = (f32[4]{0}) parameter(0)
  %x = f32[4]{0} get-tuple-element(%t), index=0
  %y = f32[400]{0} broadcast(%x), dimensions={0}
  %z = f32[4]{0} slice(%y), slice={[0:4]}
  ROOT %r = (f32[4]{0}) tuple(%z)
}
%cond (t: (f32[4])) -> pred[] {
  %t = (f32[4]{0}) parameter(0)
  ROOT %c = pred[] constant(false)
}"""
    body = """  %c = f32[4]{0} copy(%p)
  %s = (f32[4]{0}) tuple(%c)
  ROOT %w = (f32[4]{0}) while(%s), condition=%cond, body=%body"""
    assert temporaries(body, before=before) == 1616


def test_results_in_the_memory_of_arguments() -> None:
    text = """HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY %main {
  %p = f32[4]{0} parameter(0)
  ROOT %a = f32[4]{0} sine(%p)
}"""
    found = memory_of(read_module(text))
    assert (found.arguments, found.results, found.aliased) == (16, 16, 16)


ASSIGNMENT = """BufferAssignment:
allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:
 value: <2 p @0> (size=64,offset=0): f32[16]{0}
allocation 1: size 32, parameter 1, shape |f32[8]| at ShapeIndex {}, maybe-live-out:
 value: <3 q @0> (size=32,offset=0): f32[8]{0}
allocation 2: size 16, maybe-live-out:
 value: <4 sum{0} @0> (size=16,offset=0): f32[4]{0}
allocation 3: size 4, thread-local:
 value: <5 a @0> (size=4,offset=0): f32[]
allocation 4: size 4, constant:
 value: <6 c @0> (size=4,offset=0): f32[]
allocation 5: size 128, preallocated-temp:
 value: <7 first @0> (size=128,offset=0): f32[32]{0}
 value: <8 second @0> (size=64,offset=64): f32[16]{0}
allocation 6: size 1024, color 1, preallocated-temp:
 value: <9 vmem @0> (size=1024,offset=0): f32[256]{0}

Total bytes used: 200 (200B)
 value: <10 ignored @0> (size=1,offset=0): f32[]
"""


def test_buffer_assignment() -> None:
    found = read_assignment(ASSIGNMENT)
    assert (found.arguments, found.results, found.aliased, found.temporaries) == (96, 48, 32, 128)
    assert found.total_bytes == 240
    # what shares memory is not held at one time
    assert [(each.name, each.bytes) for each in found.largest] == [("first", 128), ("sum", 16)]


def test_other_texts_are_no_assignment() -> None:
    with pytest.raises(ShardyError, match="expected a buffer assignment of XLA, got no allocations"):
        read_assignment("HloModule m")


def test_time_is_linear_in_the_values_of_one_collective() -> None:
    """A sum of many values: each element of its tuple is read once."""
    count = 3000
    names = [f"%s{i}" for i in range(count)]
    types = ", ".join(["f32[4]{0}"] * count)
    body = [
        *(f"{name} = f32[4]{{0}} sine(%p)" for name in names),
        f"%ar = ({types}) all-reduce({', '.join(names)}), to_apply=%add",
        *(f"%g{i} = f32[4]{{0}} get-tuple-element(%ar), index={i}" for i in range(count)),
        "ROOT %b = f32[4]{0} sort(%g0), dimensions={0}, to_apply=%add",
    ]
    assert temporaries("\n".join(body)) == (2 * count - 1) * 16  # the result has memory of its own
