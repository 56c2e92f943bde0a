"""HLO without a counterpart in StableHLO: tuples, fusions, asynchronous ops, layouts, tables of lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shardy_py import Program, ShardyError, propagate
from shardy_py.hlo.text import Shape
from shardy_py.hlo.to_stablehlo import limits
from shardy_py.hlo.to_stablehlo.literals import literal_bytes, parts
from shardy_py.mlir.programs import parse_program

KINDS = Path(__file__).parent / "kinds.hlo"
SCAN = Path(__file__).parent / "scan.hlo"


@pytest.fixture(scope="module")
def program() -> Program:
    return Program.load(KINDS, imported=False, as_compiled=False)


def test_each_kind_computes_what_hlo_says(program: Program) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(4).astype("f4"), rng.standard_normal((2, 3, 4)).astype("f4")
    squared = x * x
    looped = (squared**2) ** 2
    looped = looped**2  # three iterations
    for index, predicate in ((0, True), (1, True), (5, False)):
        found = program.run([x, w, np.int32(index), np.bool_(predicate)])
        called, multiplied, exponential, flat, order, total, placed = found.values()
        chosen = looped if index == 0 else x  # an index out of range is the last branch
        expected = -(-chosen if predicate else x)
        np.testing.assert_allclose(called, expected, rtol=1e-5)
        np.testing.assert_allclose(placed, expected, rtol=1e-5)
        np.testing.assert_allclose(multiplied, squared, rtol=1e-5)
        np.testing.assert_allclose(exponential, np.exp(squared), rtol=1e-5)
        np.testing.assert_array_equal(flat, w.transpose().reshape(-1))  # in the order of its layout
        np.testing.assert_array_equal(order, np.argsort(x))
        np.testing.assert_allclose(total, x.sum() + 0.5, rtol=1e-5)


def test_values_are_flat_and_shardings_those_of_leaves(program: Program) -> None:
    text = str(program)
    assert "tuple" not in text
    result = (
        'tensor<f32> {mhlo.sharding = "{replicated}"}, tensor<4xf32> {mhlo.sharding = "{devices=[4]<=[4]}"})'
    )
    assert result in text
    constraint = '@Sharding(%6) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"}'
    assert constraint in text  # a copy with a sharding
    nested = 'nested = "{mesh = #sdy.mesh<[\\22x\\22=4]>}"'
    frontend = f'mhlo.frontend_attributes = {{{nested}, note = "a \\22b\\22"}}'
    assert f"module @kinds attributes {{{frontend}, mhlo.num_partitions = 4 : i32" in text


def test_metadata_are_locations(program: Program) -> None:
    values = {value.label: value for value in program.values}
    assert "x" in values
    located = {v.location for v in program.values if v.op_name == "stablehlo.reduce"}
    assert located == {"model.py:7:8 jit(f)/sum"}
    debug = program.text(debuginfo=True)
    assert "callsite(#loc" in debug or 'callsite("layer"' in debug


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ROOT n = f32[4] dot(p, p), algorithm=fast", "'dot': unknown algorithm 'fast': expected one of"),
        ("ROOT n = f32[4] constant({1, 2})", "'constant': literal: expected 4 elements, got 2"),
        ("ROOT n = s8[1] constant({300})", "'constant': literal: expected integers of s8, got 300"),
        ("ROOT n = f32[1] constant({x})", "'constant': literal: expected a number, got 'x'"),
        ("ROOT n = f32[4,4] broadcast(p), dimensions={7}", "broadcast_dimensions contains invalid"),
        ("ROOT n = f32[3] negate(p)", "'stablehlo.negate' op "),
        ("ROOT n = f32[4] all-reduce-start(p)", "'all-reduce-start': expected 'all-reduce-done' of it"),
        ("ROOT n = f32[4] get-tuple-element(p), index=0", "'get-tuple-element': index: expected an index"),
        ("ROOT n = (f32[4], f32[4]) opt-barrier(p)", "'opt-barrier': shape: expected one for each value"),
        ("ROOT n = opaque[] custom-call(), custom_call_target=\"f\"", "'custom-call': value of shape opaque"),
    ],
)  # fmt: skip
def test_errors_are_at_the_instruction(text: str, message: str) -> None:
    with pytest.raises(ShardyError) as caught:
        parse_program(f"HloModule m\nENTRY e {{\n  p = f32[4] parameter(0)\n  {text}\n}}", "m.hlo")
    assert str(caught.value.first.where) == "m.hlo:4:8"
    assert caught.value.first.message.startswith(message)


def test_top_k_of_the_smallest() -> None:
    for given, expected in (("true", [3.0, 2.0]), ("false", [-1.0, 0.5])):
        text = f"ROOT n = (f32[2], s32[2]) topk(p), k=2, largest={given}"
        program = Program.parse(f"HloModule m\nENTRY e {{\n  p = f32[4] parameter(0)\n  {text}\n}}")
        values, indices = program.run([np.array([2, -1, 3, 0.5], np.float32)]).values()
        assert values.tolist() == expected
        assert np.array([2, -1, 3, 0.5])[indices].tolist() == expected


def test_scans_and_the_order_of_comparisons() -> None:
    """As newer releases of XLA write them, in text and protocol buffers."""
    x = np.arange(32, dtype="f4").reshape(4, 8)
    start = np.array([0.0, -0.0, 1.0, 500.0], "f4")
    total = x[:, ::-1].cumsum(1)[:, ::-1] + start[:, None]
    for path in (SCAN, SCAN.parents[1] / "proto" / "data" / "scan.hlo.pb"):
        sums, last, powers, before = Program.load(path).run([x, start]).values()
        np.testing.assert_array_equal(sums, total)
        np.testing.assert_array_equal(last, total[:, 0])
        np.testing.assert_array_equal(powers, start[:, None] * [1, 2, 4])
        np.testing.assert_array_equal(before, [True, True, True, True])
    ordered = SCAN.read_text().replace("compare(%start, %last)", "compare(%start, %negative)")
    ordered = ordered.replace("  %before", "  %negative = f32[4]{0} constant({0, 0, 1, 501})\n  %before")
    *_, before = Program.parse(ordered).run([x, start]).values()
    np.testing.assert_array_equal(before, [False, True, False, True])  # -0 is before 0


def test_propagation_extends_the_shardings_that_the_header_opens() -> None:
    """As XLA's pass for Shardy does; JAX 0.10.2 compiles the program with the same shardings."""
    text = """HloModule m, allow_spmd_sharding_propagation_to_parameters={false,true},
      allow_spmd_sharding_propagation_to_output={true}
    ENTRY main {
      x = f32[32,64] parameter(0), sharding={devices=[4,1,2]<=[8] last_tile_dim_replicate}
      w = f32[64,128] parameter(1), sharding={replicated}
      dot = f32[32,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      y = f32[128,64] transpose(w), dimensions={1,0}
      ROOT o = (f32[32,128], f32[128,64]) tuple(dot, y),
        sharding={{replicated}, {devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}}
    }"""
    found = propagate(Program.parse(text)).program.values
    specs = [str(value.sharding) for value in (*found.arguments("main"), *found.results("main"))]
    assert specs == [
        *('<@mesh, [{"_axis_0"}, {}]>', '<@mesh, [{"_axis_1"}, {}]>'),
        *('<@mesh, [{"_axis_0"}, {}]>', '<@mesh, [{}, {"_axis_1"}]>'),
    ]
    with pytest.raises(ShardyError, match=r":8:\d+: .*to_parameters: expected one flag, or 2, got 3"):
        Program.parse(text.replace("{false,true}", "{false,true,true}"))


def test_sizes_are_known_before_anything_is_made() -> None:
    text = ["HloModule m", "c0 { ROOT p = f32[] parameter(0) }"]
    for n in range(1, 40):
        body = f"p = f32[] parameter(0) a = f32[] fusion(p), calls=c{n - 1}, kind=kLoop"
        text.append(f"c{n} {{ {body} ROOT b = f32[] fusion(a), calls=c{n - 1}, kind=kLoop }}")
    with pytest.raises(ShardyError, match=f"expected at most {limits.MOST_COPIES:,} copied ops"):
        parse_program("\n".join(text))


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("-1.5", Shape("f32"), np.float32(-1.5)),
        ("{ {1, 2}, /*i0=1*/ {3, -inf} }", Shape("f64", (2, 2)), np.array([[1, 2], [3, -np.inf]])),
        ("f32[2] {1, 2}", Shape("f32", (2,)), np.array([1, 2], "f4")),
        ("{true, false, 1}", Shape("pred", (3,)), np.array([1, 0, 1], "i1")),
        ("(1, -2)", Shape("c128"), np.complex128(1 - 2j)),
        ("18446744073709551615", Shape("u64"), np.uint64(2**64 - 1)),
        ("{nan(0x7fc00001), -nan}", Shape("f32", (2,)), None),
        ("{ { } }", Shape("f32", (1, 0)), np.zeros((1, 0), "f4")),
    ],
)
def test_literals(text: str, shape: Shape, expected: np.ndarray | None) -> None:
    data = literal_bytes(text, shape)
    assert data is not None
    if expected is None:
        assert np.isnan(np.frombuffer(data, "f4")).all()
    else:
        assert data == np.asarray(expected).tobytes()


def test_literals_of_tuples() -> None:
    assert parts("( 1, {2, (3, 4)}, (5, 6) )") == [" 1", " {2, (3, 4)}", " (5, 6) "]
    assert parts("()") == []


@pytest.mark.parametrize("count", ["-0.0", "1e400", "9" * 400, "1"])
def test_frontend_attributes_of_anybody_are_no_numbers_of_dimensions(count: str) -> None:
    text = f"""HloModule m
ENTRY e {{
  p = f32[8,4,4] parameter(0), sharding={{devices=[2,1,1]<=[2]}}
  ROOT c = f32[8,4,4] custom-call(p), custom_call_target="f", frontend_attributes={{num_batch_dims="{count}"}}
}}"""
    assert propagate(Program.parse(text)).communication(partitioner="xla") is not None
