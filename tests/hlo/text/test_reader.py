"""HLO text becomes values; mistakes have a place."""

from __future__ import annotations

import random
import re
import tracemalloc

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.text import Shape, read_module
from shardy_py.hlo.text.attributes import read_attribute
from shardy_py.indexing.layout import HloCursor, Layout, Tile

MODULE = """\
HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[4,8]{1,0})->f32[8]{0}}, num_partitions=2

FileNames
1 "step.py"

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(f32[] %x, f32[] %y)
}

// the step itself
ENTRY %main (p: f32[4,8]) -> f32[8] {
  %p = f32[4,8]{1,0:T(8,128)S(1)} parameter(0), sharding={devices=[2,1]<=[2]}, metadata={op_name="p{"}
  %zero = f32[] constant(0), frontend_attributes={a="b,c"}
  %table = s32[2,2]{1,0} constant({ { 1, 2 }, /*row=1*/{ 3, 4 } })
  %pair = (f32[4,8]{1,0}, /*index=1*/s32[]) custom-call(%p), custom_call_target="pair", \
backend_config={"k":["1"]}
  ROOT %folded = f32[<=8]{0} reduce(%p, %zero), dimensions={0}, to_apply=%add, control-predecessors={%table}
}, execution_thread="main"
"""


def test_everything_is_kept() -> None:
    module = read_module(MODULE)
    assert (module.name, module.entry, [c.name for c in module.computations]) == (
        "jit_step",
        "main",
        ["add", "main"],
    )
    assert module.attributes["num_partitions"] == "2"
    assert module.tables == {
        "FileNames": '1 "step.py"',
        "StackFrames": "1 {file_location_id=1 parent_frame_id=1}",
    }
    main = module.entry_computation
    assert main.attributes == {"execution_thread": '"main"'}
    p, _, table, pair, folded = main.instructions
    assert p.shape == Shape("f32", (4, 8), layout=Layout((1, 0), (Tile((8, 128)),), memory_space=1))
    assert p.attributes == {"sharding": "{devices=[2,1]<=[2]}", "metadata": '{op_name="p{"}'}
    assert table.literal == "{ { 1, 2 }, /*row=1*/{ 3, 4 } }"
    assert [str(leaf) for leaf in pair.shape.leaves()] == ["f32[4,8]{1,0}", "s32[]"]
    assert pair.attributes["backend_config"] == '{"k":["1"]}'
    assert folded.shape.dynamic == frozenset({0})
    assert folded.operands == ("p", "zero")
    assert folded.attributes == {
        "dimensions": (0,),
        "to_apply": "add",
        "control-predecessors": ("table",),
    }
    assert folded.position
    assert (folded.position.line, folded.position.column) == (21, 8)


def test_elements_of_tuples_are_operands() -> None:
    """As XLA writes them since JAX 0.12 where it keeps no instruction for them."""
    text = """HloModule m
ENTRY %e (p: (s32[], (f32[2], f32[4]))) -> f32[2] {
  %p = (s32[], (f32[2], f32[4])) parameter(0)
  %twice = f32[2] add(%p#1#0, f32[2] %p#1#0)
  ROOT %sum = f32[2] add(%twice, p#1#0)
}"""
    main = read_module(text).entry_computation
    assert [(i.name, i.opcode, i.operands) for i in main.instructions[1:]] == [
        ("p#1", "get-tuple-element", ("p",)),
        ("p#1#0", "get-tuple-element", ("p#1",)),
        ("twice", "add", ("p#1#0", "p#1#0")),
        ("sum", "add", ("twice", "p#1#0")),
    ]
    assert str(main.by_name["p#1#0"].shape) == "f32[2]"
    assert main.by_name["p#1#0"].attributes == {"index": 0}


@pytest.mark.parametrize(
    ("operand", "message"),
    [
        ("%p#2", "'p' has no element 2: it is a tuple of 2"),
        ("%p#0#0", "'p#0' has no element 0: it is an array"),
    ],
)
def test_elements_that_a_value_has_not(operand: str, message: str) -> None:
    text = (
        f"HloModule m\nENTRY e {{\n  %p = (s32[], f32[]) parameter(0)\n  ROOT n = s32[] negate({operand})\n}}"
    )
    with pytest.raises(ShardyError, match=re.escape(message)):
        read_module(text)


def attribute(text: str) -> object:
    module = read_module(f"HloModule m\nENTRY e {{\n  ROOT p = f32[2] parameter(0), {text}\n}}")
    (value,) = module.entry_computation.instructions[0].attributes.values()
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("dimensions={}", ()),
        ("source_target_pairs={{0,1},{1,0}}", ((0, 1), (1, 0))),
        ("replica_groups={{0,2},{1,3}}", ((0, 2), (1, 3))),
        ("replica_groups=[2,2]<=[4]", ((0, 1), (2, 3))),
        ("replica_groups=[3,2]<=[2,3]T(1,0)", ((0, 3), (1, 4), (2, 5))),
        ("replica_groups=mesh['x'=2,'y'=2] {'y'}", ((0, 1), (2, 3))),
        ("replica_groups=mesh['x'=2,'y'=2] {'y','x'}", ((0, 2, 1, 3),)),
        ("replica_groups=mesh['x'=4] {'x':(1)2}", ((0, 2), (1, 3))),
        ("replica_groups=mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)) {'x'}", ((0, 1), (2, 3))),
        ("replica_groups=mesh['x'=2,'y'=2], device_ids=(3,2,1,0) {'x'}", ((3, 1), (2, 0))),
        ("replica_groups=mesh['x'=1,'y'=2] {'x'}", ((0,), (1,))),
        ("slice={[0:4], [1:9:2]}", ((0, 4, 1), (1, 9, 2))),
        ("padding=1_4_1x-4_8", ((1, 4, 1), (-4, 8, 0))),
        (
            "window={size=3x1 pad=0_1x-2_0 rhs_reversal=1x0}",
            {"size": (3, 1), "pad": ((0, 1), (-2, 0)), "rhs_reversal": (1, 0)},
        ),
        ("window={size=7}", {"size": (7,)}),
        ("dim_labels=b01f_01io->b01f", "b01f_01io->b01f"),
        ("direction=LT", "LT"),
        ("order=TOTAL", "TOTAL"),
        ("is_stable=true", True),
        ('custom_call_target="a\\"b"', 'a\\"b'),
        ("sharding={{maximal device=1}, {replicated}}", "{{maximal device=1}, {replicated}}"),
    ],
)
def test_attributes(text: str, value: object) -> None:
    assert attribute(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "-:1:1: error: expected 'HloModule', got the end of the text"),
        ("HloModule m", "-:1:12: error: expected a computation, got the end of the text"),
        ("HloModule m e {", "-:1:16: error: expected an instruction, got the end of the text"),
        ("HloModule m\ne {}", "-:2:3: error: computation 'e' has no instructions"),
        ("HloModule m\ne { p = f33[4] parameter(0) }", "-:2:9: error: expected a shape, got 'f33'"),
        ("HloModule m\ne { p = f32[4] perimeter(0) }", "-:2:16: error: expected an opcode, got 'perimeter'"),
        (
            "HloModule m\ne { p = f32[-4] parameter(0) }",
            "-:2:13: error: dimension of negative size -4",
        ),
        (
            "HloModule m\ne { p = f32[4]{1} parameter(0) }",
            "-:2:15: error: the layout must list the dimensions 0 to 0, got {1}",
        ),
        (
            "HloModule m\ne { p = f32[4] negate(q) }",
            "-:2:23: error: instruction 'q' is not defined before its use",
        ),
        ("HloModule m\ne { p = f32[4] parameter(0), x=1 }", "-:2:30: error: unknown attribute 'x'"),
        (
            "HloModule m\ne { p = f32[4] parameter(1) }",
            "-:2:3: error: the parameters of 'e' must be numbered from 0, each once",
        ),
        (
            "HloModule m\ne { p = f32[4] parameter(0)\n n = f32[4] negate(p, p) }",
            "-:3:2: error: 'negate': expected 1 operands, got 2",
        ),
        (
            "HloModule m\ne { p = f32[4] parameter(0)\n n = f32[4] transpose(p) }",
            "-:3:2: error: 'transpose' requires the attribute 'dimensions'",
        ),
        (
            "HloModule m\ne { p = f32[4] parameter(0)\n n = f32[4] call(p), to_apply=e }",
            "-:3:22: error: computation 'e' is not defined before its use",
        ),
        ("HloModule m\ne { p = f32[4] constant({1, 2) }", "-:2:30: error: unmatched closing bracket"),
        ("HloModule m\ne { p = f32[4] constant({1, 2", "-:2:24: error: unclosed bracket: expected ')'"),
        (
            "HloModule m\ne { p = f32[4] parameter(0)\n p = f32[4] negate(p) }",
            "-:3:2: error: instruction 'p' is defined twice",
        ),
    ],
)
def test_mistakes_have_a_place(text: str, message: str) -> None:
    with pytest.raises(ShardyError) as error:
        read_module(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("(" * 100_000, "2:109: error: nesting exceeds 100 levels"),
        ("f32[" + "9" * 100_000 + "] parameter(0) }", "2:13: error: the integer 9{40} has more than 64 bits"),
        ("f32[4] parameter(0), dimensions=" + "{" * 100_000, "2:141: error: nesting exceeds 100 levels"),
        (
            "f32[4] parameter(0), replica_groups=[4000000000,1]<=[4000000000] }",
            "2:45: error: the shape of the groups does not match the number of devices",
        ),
        (
            "f32[4] parameter(0), replica_groups=[2,1]<=[2]T(" + "1" * 100_000 + ") }",
            r"2:57: error: the integer 1{40}\.\.\. has more than 19 digits",
        ),
        ("f32[4] constant(" + "{" * 100_000, r"2:24: error: unclosed bracket: expected '\)'"),
        (
            "f32[4] parameter(0), padding=" + "1_1x" * 1_000_000 + "1_1 }",
            "2:38: error: dimensions: expected at most 200, got 1000001",
        ),
        (
            "f32[4] parameter(0), window={size=" + "1x" * 1_000_000 + "1} }",
            "2:43: error: dimensions: expected at most 200, got 1000001",
        ),
        (
            "f32[4] parameter(0), channel_id=" + "9" * 1_000_000 + " }",
            r"2:41: error: the integer 9{40}\.\.\. has more than 19 digits",
        ),
        (
            "f32[4] parameter(0), " + "a" * 1_000_000 + "=1 }",
            r"2:30: error: unknown attribute 'a{1,2000}\.\.\.",
        ),
    ],
)
def test_hostile_instructions_are_refused_fast(instruction: str, message: str) -> None:
    with pytest.raises(ShardyError, match=f"^-:{message}$"):
        read_module(f"HloModule m\ne {{ p = {instruction}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'HloModule m, a="' + "\\" * 100_001,
            "1:100018: error: expected a computation, got the end .*",
        ),
        ("HloModule m /*" * 10_000, "1:13: error: expected a computation, got '/\\*HloModule m .*'"),
        (
            'HloModule m, a="' + '\\"' * 100_000,
            "1:200017: error: expected a computation, got the end .*",
        ),
    ],
)
def test_hostile_text_is_refused_fast(text: str, message: str) -> None:
    with pytest.raises(ShardyError, match=f"^-:{message}$"):
        read_module(text)


def test_long_text_is_read_in_little_memory() -> None:
    """Neither the nesting of a regular expression nor a token for each number of a literal."""
    name, literal = "a\\n" * (1 << 20), "{1, " * 2 + "2, " * (1 << 20) + "3}}"
    text = f'HloModule m\ne {{ p = f32[1] constant({literal}), metadata={{op_name="{name}"}} }}'
    tracemalloc.start()
    try:
        read = read_module(text).entry_computation.by_name["p"]
        assert tracemalloc.get_traced_memory()[1] < 5 * len(text)
    finally:
        tracemalloc.stop()
    assert read.literal == literal


def test_groups_of_an_iota_of_many_dimensions() -> None:
    sizes = ",".join(["1"] * 1000 + ["2", "4"])
    order = ",".join(map(str, reversed(range(1002))))
    cursor = HloCursor(f"replica_groups=[4,2]<=[{sizes}]T({order})", "-")
    assert read_attribute(cursor) == ("replica_groups", ((0, 4), (1, 5), (2, 6), (3, 7)))


@pytest.mark.parametrize(
    "text", ["[2,2]<=[4,-1]T(0,1)", "[-2,-2]<=[4]", "[0,0]<=[0]", "[2,2]<=[" + "9," * 99999 + "4]"]
)
def test_groups_of_no_devices(text: str) -> None:
    with pytest.raises(ShardyError, match="the shape of the groups does not match the number of devices"):
        read_attribute(HloCursor(f"replica_groups={text}", "-"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mesh['x'=0] {'x'}", "invalid mesh: axes must have different names, and sizes of at least 1"),
        ("mesh['x'=2,'x'=2] {'x'}", "invalid mesh: axes must have different names, and sizes of at least 1"),
        ("mesh['x'=4] {'y'}", "the mesh has no axis 'y'"),
        ("mesh['x'=4] {'x':(2)4}", "axis 'x' of size 4 has no sub-axis (2)4"),
        ("mesh['x'=4] {'x','x':(2)2}", "the axes of groups must not overlap"),
        ("mesh['x'=12] {'x':(1)2,'x':(3)2}", "the axes of groups must not overlap"),
        ("mesh['x'=2], device_ids=(0,2) {'x'}", "the device ids do not match the number of devices"),
        ("mesh['x'=2], device_ids=([3]T(0)) {'x'}", "the device ids do not match the number of devices"),
    ],
)
def test_invalid_groups_along_axes(text: str, message: str) -> None:
    with pytest.raises(ShardyError, match=re.escape(message)):
        read_attribute(HloCursor(f"replica_groups={text}", "-"))


def fault_position(text: str) -> object:
    """Where the text is wrong; True if it is not."""
    try:
        read_module(text)
    except ShardyError as error:
        return error.diagnostics[0].where
    return True


def test_mutated_text_never_crashes() -> None:
    chance = random.Random(7)
    pieces = [
        "{",
        "}",
        "(",
        ")",
        "%",
        "=",
        ",",
        "[",
        "]",
        "-1",
        "x",
        '"',
        "<=",
        "->",
        "99999999999999999999",
        " ",
    ]
    for _ in range(1500):
        at = chance.randrange(len(MODULE))
        mutated = MODULE[:at] + chance.choice(pieces) + MODULE[at + chance.randrange(6) :]
        assert fault_position(mutated) is not None
