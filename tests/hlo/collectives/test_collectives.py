"""The collectives of compiled programs: each form in which compilers issue them, runs, what is around."""

from __future__ import annotations

import pytest

from shardy_py.hlo.collectives import HloCollective, collectives_of, platform_of
from shardy_py.hlo.text import read_module

ADD = """
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}
"""


def found_in(text: str) -> tuple[HloCollective, ...]:
    return collectives_of(read_module(text))


def module(body: str, *, before: str = "") -> str:
    return f"HloModule m, is_scheduled=true, num_partitions=4\n{ADD}{before}\nENTRY %main {{\n{body}\n}}\n"


def test_values_of_combined_collectives_have_the_lines_around_them() -> None:
    (sent,) = found_in(
        module(
            """
  %p = f32[8]{0} parameter(0)
  %q = f32[4]{0} parameter(1)
  %s = f32[8]{0} sine(%p), metadata={op_name="jit(f)/sin" source_file="m.py" source_line=3}
  %c = f32[4]{0} cosine(%q), metadata={op_name="jit(f)/cos" source_file="m.py" source_line=4}
  %ar = (f32[8]{0}, f32[4]{0}) all-reduce(%s, %c), replica_groups={{0,1},{2,3}}, to_apply=%add
  %x = f32[8]{0} get-tuple-element(%ar), index=0
  %y = f32[4]{0} get-tuple-element(%ar), index=1
  %e = f32[8]{0} exponential(%x), metadata={op_name="jit(f)/exp" source_file="m.py" source_line=5}
  ROOT %t = (f32[8]{0}, f32[4]{0}) tuple(%e, %y)"""
        )
    )
    assert (sent.kind, sent.devices, sent.held_bytes) == ("all_reduce", ((0, 1), (2, 3)), 48)
    first, second = sent.values
    assert [origin.name for origin in (*first.makers, *first.readers)] == ["jit(f)/sin", "jit(f)/exp"]
    assert [origin.name for origin in (*second.makers, *second.readers)] == ["jit(f)/cos"]
    assert sent.overlap.is_exposed


def test_a_sum_on_one_flat_buffer_is_of_several_values() -> None:
    """XLA:GPU puts operands of one type together, and takes them apart by slices."""
    (sent,) = found_in(
        module(
            """
  %p = f32[2,2]{1,0} parameter(0)
  %q = f32[8]{0} parameter(1)
  %s = f32[2,2]{1,0} sine(%p), metadata={op_name="sin"}
  %c = f32[8]{0} cosine(%q), metadata={op_name="cos"}
  %flat = f32[4]{0} bitcast(%s)
  %all = f32[12]{0} fusion(%flat, %c), kind=kLoop, calls=%wrapped
  %start = f32[12]{0} all-reduce-start(%all), replica_groups={{0,1,2,3}}, to_apply=%add
  %end = f32[12]{0} all-reduce-done(%start)
  %x = f32[4]{0} slice(%end), slice={[0:4]}
  %y = f32[8]{0} slice(%end), slice={[4:12]}
  %ex = f32[4]{0} exponential(%x), metadata={op_name="exp"}
  ROOT %t = (f32[4]{0}, f32[8]{0}) tuple(%ex, %y)""",
            before="""
%wrapped (a: f32[4], b: f32[8]) -> f32[12] {
  %a = f32[4]{0} parameter(0)
  %b = f32[8]{0} parameter(1)
  ROOT %c = f32[12]{0} concatenate(%a, %b), dimensions={0}
}""",
        )
    )
    assert [value.held.sizes for value in sent.values] == [(2, 2), (8,)]
    assert [[o.name for o in value.makers] for value in sent.values] == [["sin"], ["cos"]]
    assert [[o.name for o in value.readers] for value in sent.values] == [["exp"], []]


def test_what_runs_between_start_and_end() -> None:
    (gather, scatter) = found_in(
        module(
            """
  %p = f32[4]{0} parameter(0)
  %g = (f32[4]{0}, f32[16]{0}) all-gather-start(%p), dimensions={0}, replica_groups={{0,1,2,3}}
  %b = f32[2,2]{1,0} bitcast(%p)
  %s = f32[4]{0} sine(%p)
  %gd = f32[16]{0} all-gather-done(%g)
  %r = ((f32[16]{0}), f32[4]{0}) reduce-scatter-start(%gd), dimensions={0}, to_apply=%add
  %rd = f32[4]{0} reduce-scatter-done(%r)
  ROOT %t = (f32[4]{0}, f32[4]{0}) tuple(%s, %rd)"""
        )
    )
    assert (gather.overlap.is_async, gather.overlap.names) == (True, ("s",))
    assert (gather.held_bytes, gather.made_bytes) == (16, 64)
    assert (scatter.kind, scatter.overlap.is_async, scatter.overlap.is_exposed) == (
        "reduce_scatter",
        True,
        True,
    )
    assert (scatter.held_bytes, scatter.made_bytes) == (64, 16)


def test_order_is_unknown_without_a_schedule() -> None:
    text = module("  %p = f32[4]{0} parameter(0)\n  ROOT %g = f32[4]{0} all-reduce-start(%p), to_apply=%add")
    (sent,) = found_in(text.replace("is_scheduled=true, ", ""))
    assert not sent.overlap.is_known


def test_the_pieces_of_an_exchange_are_one_value() -> None:
    """XLA:CPU exchanges pieces, one for each device."""
    (sent,) = found_in(
        module(
            """
  %p = f32[4]{0} parameter(0)
  %q = f32[4]{0} sine(%p), metadata={op_name="sin"}
  %x = (f32[4]{0}, f32[4]{0}) all-to-all(%q, %p), replica_groups={{0,1},{2,3}}, metadata={op_name="dot"}
  ROOT %y = f32[4]{0} get-tuple-element(%x), index=0"""
        )
    )
    (value,) = sent.values
    assert (value.held.sizes, value.origin.name, value.held_bytes) == ((2, 4), "dot", 32)


def test_asynchronous_computations() -> None:
    (sent,) = found_in(
        module(
            """
  %p = f32[4]{0} parameter(0)
  %start = ((f32[4]{0}), f32[16]{0}, u32[]) async-start(%p), calls=%wrapped
  ROOT %end = f32[16]{0} async-done(%start), calls=%wrapped""",
            before="""
%wrapped (a: f32[4]) -> f32[16] {
  %a = f32[4]{0} parameter(0)
  ROOT %g = f32[16]{0} all-gather(%a), dimensions={0}, replica_groups={{0,1,2,3}}, metadata={op_name="dot"}
}""",
        )
    )
    assert (sent.kind, sent.name, sent.origin.name) == ("all_gather", "start", "dot")
    assert (sent.held_bytes, sent.made_bytes, sent.overlap.is_async) == (16, 64, True)


def test_scattered_sums_in_fusions_of_tpus() -> None:
    """The sum is padded inside; what the fusion is given counts."""
    (sent,) = found_in(
        module(
            """
  %p = f32[30]{0:T(256)} parameter(0)
  ROOT %f = f32[8]{0:T(256)} fusion(%p), kind=kCustom, calls=%all-reduce-scatter, metadata={op_name="dot"}""",
            before="""
%all-reduce-scatter (a: f32[30]) -> f32[8] {
  %a = f32[30]{0} parameter(0)
  %z = f32[] constant(0)
  %pad = f32[32]{0} pad(%a, %z), padding=0_2
  %ar = f32[32]{0} all-reduce(%pad), replica_groups={{0,1,2,3}}, to_apply=%add
  %i = u32[] partition-id()
  ROOT %s = f32[8]{0} dynamic-slice(%ar, %i), dynamic_slice_sizes={8}
}""",
        )
    )
    assert (sent.kind, sent.form, sent.origin.name) == ("reduce_scatter", "in a fusion", "dot")
    assert (sent.held_bytes, sent.made_bytes) == (120, 32)


def test_steps_of_one_gather_in_several_fusions() -> None:
    step = """
%{name} (a: f32[4]) -> {shape} {{
  %a = f32[4]{{0}} parameter(0)
  {root}%g{name} = f32[16]{{0}} all-gather(%a), channel_id=1, dimensions={{0}}, \
frontend_attributes={{chain_id="7"}}{started}
}}"""
    started = """
  ROOT %c = (f32[4]{0}, f32[16]{0}, u32[]) custom-call(%gone), custom_call_target="AsyncCollectiveStart\""""
    (sent,) = found_in(
        module(
            """
  %p = f32[4]{0} parameter(0)
  %f = (f32[4]{0}, f32[16]{0}, u32[]) fusion(%p), kind=kCustom, calls=%one
  %s = f32[4]{0} sine(%p)
  %h = f32[16]{0} fusion(%p), kind=kCustom, calls=%two
  ROOT %t = (f32[16]{0}, f32[4]{0}) tuple(%h, %s)""",
            before=step.format(name="one", shape="(f32[4], f32[16], u32[])", root="", started=started)
            + step.format(name="two", shape="f32[16]", root="ROOT ", started=""),
        )
    )
    assert (sent.form, sent.channel, sent.overlap.names) == ("in 2 steps", 1, ("s",))
    assert (sent.held_bytes, sent.made_bytes) == (16, 64)


LOOP = """
%body (t: (s32[], f32[4])) -> (s32[], f32[4]) {{
  %t = (s32[], f32[4]{{0}}) parameter(0)
  %i = s32[] get-tuple-element(%t), index=0
  %x = f32[4]{{0}} get-tuple-element(%t), index=1
  %two = s32[] constant(2)
  %n = s32[] add(%i, %two)
  %ar = f32[4]{{0}} all-reduce(%x), replica_groups={{{{0,1}}}}, to_apply=%add
  ROOT %r = (s32[], f32[4]{{0}}) tuple(%n, %ar)
}}
%less (a: s32[], b: s32[]) -> pred[] {{
  %a2 = s32[] parameter(0)
  %b2 = s32[] parameter(1)
  ROOT %c = pred[] compare(%a2, %b2), direction={direction}
}}
%cond (t: (s32[], f32[4])) -> pred[] {{
  %t = (s32[], f32[4]{{0}}) parameter(0)
  %i = s32[] get-tuple-element(%t), index=0
  %most = s32[] constant({limit})
  ROOT %l = pred[] fusion(%i, %most), kind=kLoop, calls=%less
}}"""
ENTRY = """
  %p = f32[4]{{0}} parameter(0)
  {first}
  %s = (s32[], f32[4]{{0}}) tuple(%z, %p)
  ROOT %w = (s32[], f32[4]{{0}}) while(%s), condition=%cond, body=%body{config}"""


@pytest.mark.parametrize(
    ("first", "limit", "direction", "config", "runs", "is_estimate"),
    [
        ("%z = s32[] constant(1)", 8, "LT", "", 4, False),
        ("%z = s32[] constant(0)", 8, "LE", "", 5, False),
        ("%z = s32[] constant(9)", 8, "LT", "", 0, False),
        ("%z = s32[] parameter(1)", 8, "LT", "", 1, True),
        ("%z = s32[] constant(0)", -1, "NE", "", 1, True),
        ("%z = s32[] parameter(1)", 8, "LT", ', backend_config={"known_trip_count":{"n":"6"}}', 6, False),
    ],
)
def test_trip_counts(
    first: str, limit: int, direction: str, config: str, runs: int, is_estimate: bool
) -> None:
    before = LOOP.format(limit=limit, direction=direction)
    (sent,) = found_in(module(ENTRY.format(first=first, config=config), before=before))
    assert (sent.runs, sent.is_estimate) == (runs, is_estimate)


@pytest.mark.parametrize(
    ("line", "platform"),
    [
        ("ROOT %p = f32[8,128]{1,0:T(8,128)} parameter(0)", "tpu"),
        ('ROOT %p = f32[8]{0} parameter(0), backend_config={"operation_queue_id":"0"}', "gpu"),
        ("ROOT %p = f32[8]{0} parameter(0)", "cpu"),
    ],
)
def test_platforms(line: str, platform: str) -> None:
    assert platform_of(read_module(module(line))) == platform
