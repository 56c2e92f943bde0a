"""Windowed ops on simulated devices: each exchanged program computes what the whole one does.

The oracle is the interpreter on the program before the pass. Sizes, parts and windows are random, uneven ones
included; values are small integers, so that sums are exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py import Options, Program, propagate
from tests.conftest import examples
from tests.localize.windowed import Array, compare, numbers, tensor

Case = tuple[str, list[Array]]
PARTS = st.sampled_from((2, 3, 4, 8))
MAXIMUM = """({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
  })"""


def sharding(dimensions: str) -> str:
    """The sharding of a tensor with an axis a dimension: `"bx-"`, the last one whole."""
    axes = ", ".join("{}" if axis == "-" else f'{{"{axis}"}}' for axis in dimensions)
    return f"#sdy.sharding<@mesh, [{axes}]>"


def program(parts: int, arguments: list[tuple[str, str]], op: str, dimensions: str, result: str) -> str:
    """One op on arguments (type and dimensions); `$sharding` in it is that of its result."""
    listed = ", ".join(
        f"%arg{i}: {type_}" + (f" {{sdy.sharding = {sharding(axes)}}}" if axes else "")
        for i, (type_, axes) in enumerate(arguments)
    )
    body = op.replace("$sharding", f"sdy.sharding = #sdy.sharding_per_value<[{sharding(dimensions)}]>")
    mesh = f'sdy.mesh @mesh = <["b"=2, "x"={parts}]>'
    return f"{mesh}\nfunc.func @main({listed}) -> {result} {{\n  %0 = {body}\n  return %0 : {result}\n}}\n"


@st.composite
def slices(draw: st.DrawFn) -> Case:
    size = draw(st.integers(1, 30))
    start = draw(st.integers(0, size - 1))
    limit, stride = draw(st.integers(start + 1, size)), draw(st.integers(1, 4))
    given, made = tensor((size, 4)), tensor((-(-(limit - start) // stride), 2))
    op = f"stablehlo.slice %arg0 [{start}:{limit}:{stride}, 1:3] {{$sharding}} : ({given}) -> {made}"
    return program(draw(PARTS), [(given, "x-")], op, "x-", made), [numbers((size, 4))]


@st.composite
def pads(draw: st.DrawFn) -> Case:
    size, interior = draw(st.integers(1, 20)), draw(st.integers(0, 3))
    low = draw(st.integers(-3, 9))
    rest = 1 - low - size - (size - 1) * interior
    high = draw(st.integers(max(-3, rest), max(9, rest)))
    given = tensor((size, 4))
    made = tensor((low + high + size + (size - 1) * interior, 4))
    op = (
        f"stablehlo.pad %arg0, %arg1, low = [{low}, -1], high = [{high}, 1], interior = [{interior}, 0] "
        f"{{$sharding}} : ({given}, tensor<f32>) -> {made}"
    )
    arguments = [(given, "x-"), ("tensor<f32>", "")]
    return program(draw(PARTS), arguments, op, "x-", made), [numbers((size, 4)), np.array(7.5, np.float32)]


@st.composite
def reversals(draw: st.DrawFn) -> Case:
    shape = (draw(st.integers(1, 20)), 5)
    op = f"stablehlo.reverse %arg0, dims = [0, 1] {{$sharding}} : {tensor(shape)}"
    return program(draw(PARTS), [(tensor(shape), "xb")], op, "xb", tensor(shape)), [numbers(shape)]


Windows = tuple[int, int, int, int, int, int, int, int]


@st.composite
def windows(draw: st.DrawFn, largest: int) -> Windows:
    """Size, window, stride, padding below and above, dilation of the operand, of the window, windows."""
    size, window, stride = draw(st.integers(1, 24)), draw(st.integers(1, largest)), draw(st.integers(1, 3))
    base, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    low, high = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    spread, padded = (window - 1) * dilation + 1, low + high + (size - 1) * base + 1
    high += max(0, spread - padded)
    count = (max(padded, spread) - spread) // stride + 1
    return size, window, stride, low, high, base, dilation, count


@st.composite
def reductions(draw: st.DrawFn) -> Case:
    size, window, stride, low, high, base, dilation, count = draw(windows(5))
    given, made = tensor((size, 4)), tensor((count, 4))
    region = MAXIMUM.replace("maximum", draw(st.sampled_from(("maximum", "add"))))
    op = f"""\"stablehlo.reduce_window"(%arg0, %arg1) {region} {{
      window_dimensions = array<i64: {window}, 1>, window_strides = array<i64: {stride}, 1>,
      base_dilations = array<i64: {base}, 1>, window_dilations = array<i64: {dilation}, 1>,
      padding = dense<[[{low}, {high}], [0, 0]]> : tensor<2x2xi64>, $sharding
    }} : ({given}, tensor<f32>) -> {made}"""
    arguments = [(given, "xb"), ("tensor<f32>", "")]
    return program(draw(PARTS), arguments, op, "xb", made), [numbers((size, 4)), np.array(-5, np.float32)]


@st.composite
def selections(draw: st.DrawFn) -> Case:
    """The source is sharded as the operand, along another axis, or whole; explicit reshards gather it."""
    size, window = draw(st.integers(1, 24)), draw(st.integers(1, 6))
    stride, low, high = draw(st.integers(1, 6)), draw(st.integers(0, 3)), draw(st.integers(0, 3))
    high += max(0, window - size - low - high)
    stride += window == stride == 1
    count = (low + size + high - window) // stride + 1
    given, made = tensor((size, 4)), tensor((count, 4))
    compare_by, combine = draw(st.sampled_from(("GE", "GT", "LE"))), draw(st.sampled_from(("add", "maximum")))
    axes = draw(st.sampled_from(("xb", "yb", "-b")))
    source = "%arg1"
    lines = ""
    if axes != "-b":
        source, lines = "%r", f'%r = sdy.reshard %arg1 <@mesh, [{{}}, {{"b"}}]> : {made}\n  '
    op = f"""{lines}%0 = \"stablehlo.select_and_scatter\"(%arg0, {source}, %arg2) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.compare {compare_by}, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
  }}, {{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.{combine} %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
  }}) {{
      window_dimensions = array<i64: {window}, 1>, window_strides = array<i64: {stride}, 1>,
      padding = dense<[[{low}, {high}], [0, 0]]> : tensor<2x2xi64>, $sharding
    }} : ({given}, {made}, tensor<f32>) -> {given}""".removeprefix("%0 = ")
    arguments = [(given, "xb"), (made, axes), ("tensor<f32>", "")]
    text = program(draw(PARTS), arguments, op, "xb", given).replace("%0 = %r = ", "%r = ", 1)
    values = draw(st.permutations(range(size * 4)))
    inputs = [np.array(values, np.float32).reshape(size, 4), numbers((count, 4)), np.array(2, np.float32)]
    return text.replace('"b"=2', '"b"=2, "y"=2'), inputs


@st.composite
def convolutions(draw: st.DrawFn) -> Case:
    size, window, stride, low, high, base, dilation, count = draw(windows(5))
    groups, is_reversed = draw(st.sampled_from((1, 2))), draw(st.sampled_from(("false", "true")))
    shapes = (2, size, 4), (window, 4 // groups, 6), (2, count, 6)
    image, kernel, made = map(tensor, shapes)
    op = f"""stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{
      stride = [{stride}], pad = [[{low}, {high}]], lhs_dilate = [{base}], rhs_dilate = [{dilation}],
      reverse = [{is_reversed}]
    }} {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64, $sharding}}
      : ({image}, {kernel}) -> {made}"""
    arguments = [(image, "bx-"), (kernel, "")]
    return program(draw(PARTS), arguments, op, "bx-", made), [numbers(shapes[0]), numbers(shapes[1])]


@st.composite
def concatenations(draw: st.DrawFn) -> Case:
    """Operands sharded along the dimension, or whole; explicit reshards gather them and shard the result."""
    sizes = draw(st.lists(st.integers(1, 14), min_size=2, max_size=4))
    given, made = [tensor((size, 4)) for size in sizes], tensor((sum(sizes), 4))
    whole = [False, *(draw(st.booleans()) for _ in sizes[1:])]
    lines = [
        f'%r{i} = sdy.reshard %arg{i} <@mesh, [{{}}, {{"b"}}]> : {type_}'
        for i, type_ in enumerate(given)
        if not whole[i]
    ]
    operands = ", ".join(f"%{'arg' if is_whole else 'r'}{i}" for i, is_whole in enumerate(whole))
    attribute = f"sdy.sharding = #sdy.sharding_per_value<[{sharding('-b')}]>"
    lines.append(
        f"%c = stablehlo.concatenate {operands}, dim = 0 {{{attribute}}} : ({', '.join(given)}) -> {made}"
    )
    lines.append(f'%0 = sdy.reshard %c <@mesh, [{{"x"}}, {{"b"}}]> : {made}')
    arguments = [(type_, "-b" if is_whole else "xb") for type_, is_whole in zip(given, whole, strict=True)]
    op = "\n  ".join(lines).removeprefix("%0 = ")
    text = program(draw(PARTS), arguments, op, "xb", made).replace("%0 = %r0", "%r0", 1)
    return text, [numbers((size, 4)) + np.float32(100 * i) for i, size in enumerate(sizes)]


def test_concatenations() -> None:
    """Parts of the result take what they hold of each operand; at most small operands are gathered."""

    @settings(max_examples=examples(40), deadline=None, derandomize=True)
    @given(concatenations())
    def check(case: Case) -> None:
        ops, warnings = compare(*case)
        assert "sdy.manual_computation" in ops or "stablehlo.collective_permute" not in ops
        assert not warnings

    check()


@st.composite
def joined_slices(draw: st.DrawFn) -> Case:
    """Slices of two tensors, one after the other; of one tensor, its end and its start, they rotate it."""
    sizes = draw(st.lists(st.integers(1, 14), min_size=2, max_size=2))
    pieces = [(0, *sorted((draw(st.integers(0, sizes[0])), sizes[0])))]
    if draw(st.booleans()):
        middle = draw(st.integers(0, sizes[0]))
        pieces = [(0, middle, sizes[0]), (0, 0, middle)]
    for _ in range(draw(st.integers(0, 2))):
        source = draw(st.integers(0, 1))
        first, last = sorted(draw(st.tuples(*[st.integers(0, sizes[source])] * 2)))
        pieces.append((source, first, last))
    lines = [
        f"%s{i} = stablehlo.slice %arg{source} [{first}:{last}, 0:4]"
        f" {{sdy.sharding = #sdy.sharding_per_value<[{sharding('xb')}]>}}"
        f" : ({tensor((sizes[source], 4))}) -> {tensor((last - first, 4))}"
        for i, (source, first, last) in enumerate(pieces)
    ]
    total = sum(last - first for _, first, last in pieces)
    names, types = (
        ", ".join(found)
        for found in (
            [f"%s{i}" for i in range(len(pieces))],
            [tensor((last - first, 4)) for _, first, last in pieces],
        )
    )
    made = tensor((total, 4))
    lines.append(
        f"%0 = stablehlo.concatenate {names}, dim = 0"
        f" {{sdy.sharding = #sdy.sharding_per_value<[{sharding('xb')}]>}} : ({types}) -> {made}"
    )
    arguments = [(tensor((size, 4)), "xb") for size in sizes]
    text = program(draw(PARTS), arguments, "\n  ".join(lines), "xb", made).replace("%0 = %s0", "%s0", 1)
    return text, [numbers((size, 4)) + np.float32(100 * i) for i, size in enumerate(sizes)]


def test_joined_slices() -> None:
    """Elements of slices go where the concatenation has them."""

    @settings(max_examples=examples(60), deadline=None, derandomize=True)
    @given(joined_slices())
    def check(case: Case) -> None:
        compare(*case)

    check()


def test_a_rotation_sends_what_leaves_each_part() -> None:
    """One permute of three elements from each part to the next, and from the last to the first."""
    row = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'
    text = f"""sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64xf32> {row}) -> tensor<64xf32> {{
  %0 = stablehlo.slice %a [61:64] : (tensor<64xf32>) -> tensor<3xf32>
  %1 = stablehlo.slice %a [0:61] : (tensor<64xf32>) -> tensor<61xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3xf32>, tensor<61xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}}
"""
    local = propagate(Program.parse(text, as_compiled=False)).partition()
    report = local.communication()
    assert (report.counts, report.total.bytes) == ({"collective_permute": 1}, 12)
    assert local.prove().is_equal


IDENTITIES = {"add": "0", "multiply": "1", "maximum": "-2147483648", "minimum": "2147483647"}


@st.composite
def scans(draw: st.DrawFn) -> Case:
    """Cumulative windows in both directions, along a dimension of any size, of integers."""
    size, name = draw(st.integers(2, 30)), draw(st.sampled_from(sorted(IDENTITIES)))
    padding = f"[{size - 1}, 0]" if draw(st.booleans()) else f"[0, {size - 1}]"
    given = tensor((2, size), "i32")
    op = f"""stablehlo.constant dense<{IDENTITIES[name]}> : tensor<i32>
  %r = "stablehlo.reduce_window"(%arg0, %0) ({{
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %1 = stablehlo.{name} %a, %b : tensor<i32>
      stablehlo.return %1 : tensor<i32>
  }}) {{window_dimensions = array<i64: 1, {size}>, padding = dense<[[0, 0], {padding}]> : tensor<2x2xi64>,
    $sharding}} : ({given}, tensor<i32>) -> {given}"""
    text = program(draw(PARTS), [(given, "bx")], op, "bx", given).replace("return %0", "return %r")
    return text, [numbers((2, size), np.int32)]


def test_scans() -> None:
    """Parts scan their own elements, and combine them with the totals of the others."""

    @settings(max_examples=examples(40), deadline=None, derandomize=True)
    @given(scans())
    def check(case: Case) -> None:
        ops, warnings = compare(*case)
        assert "sdy.reshard" in ops
        assert not warnings

    check()


def test_a_scan_sends_a_total_of_each_part() -> None:
    """Of 16 elements of a part one is sent; parts of another size are padded with what the scan ignores."""
    row = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'
    for size in (64, 61):
        text = f"""sdy.mesh @mesh = <["x"=4]>
func.func @main(%given: tensor<{size}xf32> {row}) -> (tensor<{size}xf32> {row}) {{
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%given, %c) {MAXIMUM}
    {{window_dimensions = array<i64: {size}>, padding = dense<[[0, {size - 1}]]> : tensor<1x2xi64>}}
    : (tensor<{size}xf32>, tensor<f32>) -> tensor<{size}xf32>
  return %0 : tensor<{size}xf32>
}}
"""
        options = Options(update_non_divisible_input_output_shardings=False)
        local = propagate(Program.parse(text, as_compiled=False), options).partition()
        report = local.communication()
        assert (report.counts, report.total.bytes) == ({"all_gather": 1}, 12)
        assert local.prove().is_equal
        assert not local.warnings


@pytest.mark.parametrize("cases", [slices, pads, reversals, reductions, convolutions])
def test_windowed_ops(cases: Callable[[], st.SearchStrategy[Case]]) -> None:
    """The exchanged program computes the same, without gathering unless that takes as many bytes."""

    @settings(max_examples=examples(40), deadline=None, derandomize=True)
    @given(cases())
    def check(case: Case) -> None:
        ops, warnings = compare(*case)
        assert ("sdy.reshard" in ops) == bool(warnings)

    check()


def test_selections() -> None:
    """Sources move to the parts of the operand where they were sharded; whole ones are sliced."""

    @settings(max_examples=examples(60), deadline=None, derandomize=True)
    @given(selections())
    def check(case: Case) -> None:
        ops, warnings = compare(*case)
        is_moved = '[{"y"}, {"b"}]>}, %arg2' in case[0]
        assert ("sdy.reshard" in ops) == (is_moved or bool(warnings))

    check()


@pytest.mark.parametrize(
    ("select", "scatter", "low", "reason"),
    [
        ("compare TOTALORDER", "add", 1, "its select may choose any value for padding"),
        ("compare GE", "subtract", 0, "its scatter has no identity"),
        ("compare GE", "add", 1, ""),
    ],
)
def test_selections_that_are_gathered(select: str, scatter: str, low: int, reason: str) -> None:
    """Parts need a value that is never selected, and one that changes nothing."""
    given = tensor((8,))
    kind = ", TOTALORDER" if "TOTALORDER" in select else ""
    op = f"""\"stablehlo.select_and_scatter\"(%arg0, %arg1, %arg2) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.compare GE, %a, %b{kind} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
  }}, {{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.{scatter} %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
  }}) {{
      window_dimensions = array<i64: 3>, window_strides = array<i64: 3>,
      padding = dense<[[{low}, 0]]> : tensor<1x2xi64>, $sharding
    }} : ({given}, tensor<{2 + low}xf32>, tensor<f32>) -> {given}"""
    arguments = [(given, "x"), (f"tensor<{2 + low}xf32>", ""), ("tensor<f32>", "")]
    text = program(4, arguments, op, "x", given)
    _, warnings = compare(text, [numbers((8,)), numbers((2 + low,)), np.array(0, np.float32)])
    assert bool(warnings) == bool(reason)
    assert all(reason in warning for warning in warnings)


def test_only_needed_elements_move() -> None:
    """A window of three moves one element each way."""
    given = tensor((1, 8, 1))
    op = f"""stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
      window = {{pad = [[1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64, $sharding}}
      : ({given}, tensor<3x1x1xf32>) -> {given}"""
    text = program(4, [(given, "-x-"), ("tensor<3x1x1xf32>", "")], op, "-x-", given)
    ops, _ = compare(text, [numbers((1, 8, 1)), numbers((3, 1, 1))])
    assert ops.count("stablehlo.collective_permute") == 2
    assert "dynamic_slice" not in ops
