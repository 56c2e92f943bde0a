"""Rules of what the host stores, as figures that XLA has for the same programs (jaxlib 0.10 and 0.12)."""

from __future__ import annotations

import itertools

import pytest

from shardy_py.api import Program, propagate
from shardy_py.base import releases
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.host_fusion import HostFusion
from shardy_py.xla.buffers.host_program import HostOp

LINE = 'sdy.mesh @mesh = <["x"=8]>\n'
GRID = 'sdy.mesh @mesh = <["x"=4, "y"=2]>\n'


def temporaries(body: str, arguments: str, result: str, mesh: str = "") -> int:
    text = (
        f"{mesh}func.func @main({arguments}) -> {result} {{\n{body}\nreturn %r : {result.split(' {')[0]}\n}}"
    )
    text = text.replace(f"-> {result} {{", f"-> ({result}) {{")
    return propagate(Program.parse(text, as_compiled=True)).memory().estimate.temporaries


def sharded(type_: str, *dimensions: str) -> str:
    spec = ", ".join(f'{{"{axis}"}}' if axis else "{}" for axis in dimensions)
    return f"tensor<{type_}> {{sdy.sharding = #sdy.sharding<@mesh, [{spec}]>}}"


def by_hand(given: str, made: str, body: str) -> str:
    """A manual computation of %a over x; given, made: types inside and outside, and shardings, of each."""
    (local, whole, spec), (inner, outer, target) = (each.split(" | ") for each in (given, made))
    return f"""
      %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, {spec}>] out_shardings=[<@mesh, {target}>]
          manual_axes={{"x"}} (%p: tensor<{local}>) {{
        {body}
        sdy.return %1 : tensor<{inner}>
      }} : (tensor<{whole}>) -> tensor<{outer}>"""


GROUPS = "replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>"


def test_what_is_done_to_a_gathered_value_is_in_its_memory() -> None:
    gather = f"""%1 = "stablehlo.all_gather"(%p) <{{all_gather_dim = 0 : i64, {GROUPS}}}>
      : (tensor<128x64xf32>) -> tensor<1024x64xf32>"""
    body = by_hand('128x64xf32 | 1024x64xf32 | [{"x"}, {}]', "1024x64xf32 | 1024x64xf32 | [{}, {}]", gather)
    body += "\n%r = stablehlo.tanh %0 : tensor<1024x64xf32>"
    arguments = f"%a: {sharded('1024x64xf32', 'x', '')}"
    assert temporaries(body, arguments, "tensor<1024x64xf32>", LINE) == 0


@pytest.mark.parametrize("op", ["next_after", "polygamma", "zeta"])
def test_what_xla_makes_elementwise_is_fused(op: str) -> None:
    body = f"""
      %0 = stablehlo.multiply %a, %a : tensor<512xf32>
      %1 = chlo.{op} %0, %a : tensor<512xf32>, tensor<512xf32> -> tensor<512xf32>
      %r = stablehlo.tanh %1 : tensor<512xf32>"""
    assert temporaries(body, "%a: tensor<512xf32>", "tensor<512xf32>") == 0


@pytest.mark.parametrize(("element", "piece"), [("f32", 8192), ("bf16", 8192)])
def test_an_exchange_has_pieces_before_and_after_it(element: str, piece: int) -> None:
    """One of the 16 pieces is in the memory of the result, which holds one value; bf16 is sent as f32."""
    exchange = f"""%1 = "stablehlo.all_to_all"(%p) <{{split_dimension = 2 : i64, concat_dimension = 1 : i64,
      split_count = 8 : i64, {GROUPS}}}> : (tensor<4x32x8x16x{element}>) -> tensor<4x256x1x16x{element}>"""
    body = by_hand(
        f'4x32x8x16x{element} | 4x256x8x16x{element} | [{{}}, {{"x"}}, {{}}, {{}}]',
        f'4x256x1x16x{element} | 4x256x8x16x{element} | [{{}}, {{}}, {{"x"}}, {{}}]',
        exchange,
    ).replace("%0 =", "%r =")
    type_ = f"4x256x8x16x{element}"
    arguments, result = f"%a: {sharded(type_, '', 'x', '', '')}", sharded(type_, "", "", "x", "")
    assert temporaries(body, arguments, result, LINE) == 15 * piece


def test_a_reshard_of_a_transposed_value_has_two_pieces_each() -> None:
    arguments = f"%a: {sharded('32x32x32xf32', 'x', 'y', '')}"
    result = sharded("32x32x32xf32", "x", "", "y")
    assert temporaries("%r = stablehlo.sine %a : tensor<32x32x32xf32>", arguments, result, GRID) == 3 * 8192


def test_a_transform_of_other_tiles_is_computed_whole() -> None:
    """All that all devices have, and the transform of it, of which each device takes its part."""
    body = """%r = stablehlo.fft %a, type = FFT, length = [32]
      : (tensor<32x32x32xcomplex<f32>>) -> tensor<32x32x32xcomplex<f32>>"""
    arguments = f"%a: {sharded('32x32x32xcomplex<f32>', 'x', 'y', '')}"
    result = sharded("32x32x32xcomplex<f32>", "x", "", "y")
    assert temporaries(body, arguments, result, GRID) == 2 * 32 * 32 * 32 * 8


SORT = """%s = "stablehlo.sort"(%t) <{{dimension = 1 : i64}}> ({{
  ^bb0(%x: tensor<{0}>, %y: tensor<{0}>):
    %c = stablehlo.compare LT, %x, %y : (tensor<{0}>, tensor<{0}>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
}}) : (tensor<128x48x{0}>) -> tensor<128x48x{0}>"""


@pytest.mark.parametrize(
    ("release", "element", "size"),
    [
        (releases.JAX_0_10, "f32", 0),
        (releases.JAX_0_10, "bf16", 128 * 48 * 4),
        (releases.JAX_0_11, "bf16", 0),
    ],
)
def test_a_sort_is_in_place_and_was_of_f32(release: releases.Release, element: str, size: int) -> None:
    body = f"%t = stablehlo.negate %a : tensor<128x48x{element}>\n{SORT.format(element)}"
    body += f"\n%r = stablehlo.negate %s : tensor<128x48x{element}>"
    with releases.of(release):
        assert temporaries(body, f"%a: tensor<128x48x{element}>", f"tensor<128x48x{element}>") == size


def put_together(rows: int, columns: int, reads: int) -> str:
    """A concatenation of two values with `columns` in all, which is read at one or two places."""
    half = columns // 2
    types = (
        f"(tensor<{rows}x{half}xf32>, tensor<{rows}x{columns - half}xf32>) -> tensor<{rows}x{columns}xf32>"
    )
    slices = [
        f"%{n} = stablehlo.dynamic_slice %c, %i, %{start}, sizes = [2, {columns}]"
        f" : (tensor<{rows}x{columns}xf32>, tensor<i32>, tensor<i32>) -> tensor<2x{columns}xf32>"
        for n, start in (("0", "i"), ("1", "j"))[:reads]
    ]
    return f"""
      %c = stablehlo.concatenate %a, %b, dim = 1 : {types}
      {slices[0]}
      {slices[1] if reads > 1 else f"%1 = stablehlo.negate %0 : tensor<2x{columns}xf32>"}
      %r = stablehlo.subtract %0, %1 : tensor<2x{columns}xf32>"""


@pytest.mark.parametrize(
    ("release", "rows", "columns", "reads", "is_stored"),
    [
        ("0.10", 32, 64, 1, False),
        ("0.10", 32, 64, 2, True),
        ("0.10", 32, 127, 1, False),
        ("0.10", 4, 128, 1, True),
        ("0.12", 32, 15, 1, False),
        ("0.12", 32, 16, 1, True),
        ("0.12", 31, 16, 1, False),
        ("0.12", 4, 127, 1, False),
        ("0.12", 4, 128, 1, True),
        ("0.12", 32, 8, 2, True),
    ],
)
def test_what_is_put_together_is_fused_once_and_in_short_rows(
    release: str, rows: int, columns: int, reads: int, is_stored: bool
) -> None:
    half, other = columns // 2, columns - columns // 2
    inputs = (
        f"%a: tensor<{rows}x{half}xf32>, %b: tensor<{rows}x{other}xf32>, %i: tensor<i32>, %j: tensor<i32>"
    )
    with releases.of(release):
        found = temporaries(put_together(rows, columns, reads), inputs, f"tensor<2x{columns}xf32>")
    assert found == (rows * columns * 4 if is_stored else 0)


@pytest.mark.parametrize(("op", "is_stored"), [("sine", False), ("exponential", True), ("negate", False)])
def test_cheap_ops_are_computed_in_each_user(op: str, is_stored: bool) -> None:
    body = f"""
      %0 = stablehlo.{op} %a : tensor<64x64xf32>
      %1 = stablehlo.reverse %0, dims = [0] : tensor<64x64xf32>
      %2 = stablehlo.slice %0 [0:32, 0:64] : (tensor<64x64xf32>) -> tensor<32x64xf32>
      %3 = stablehlo.slice %1 [0:32, 0:64] : (tensor<64x64xf32>) -> tensor<32x64xf32>
      %4 = stablehlo.dot_general %2, %3, contracting_dims = [1] x [1]
        : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x32xf32>
      %r = stablehlo.negate %4 : tensor<32x32xf32>"""
    found = temporaries(body, "%a: tensor<64x64xf32>", "tensor<32x32xf32>")
    assert found == 2 * 32 * 64 * 4 + (64 * 64 * 4 if is_stored else 0)


@pytest.mark.parametrize(("rows", "size"), [(64, 0), (32, 32 * 64 * 4 + 32 * 2 * 4)])
def test_large_sums_are_by_a_library_that_computes_the_operand(rows: int, size: int) -> None:
    """Others are of windows of 32 elements first, of an operand that is stored."""
    body = f"""
      %0 = stablehlo.exponential %a : tensor<{rows}x64xf32>
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %r = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1]
        : (tensor<{rows}x64xf32>, tensor<f32>) -> tensor<{rows}xf32>"""
    found = temporaries(body, f"%a: tensor<{rows}x64xf32>", f"tensor<{rows}xf32>")
    assert size <= found <= size + 64  # with a constant


def test_an_operand_of_a_batched_product_is_computed_for_other_users_again() -> None:
    """%0 is reshaped for the product, so that all that reads it can be fused with it: it is stored once."""
    body = """
      %0 = stablehlo.add %a, %b : tensor<1x64x64xf32>
      %1 = stablehlo.dot_general %0, %a, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
      %r = stablehlo.add %0, %1 : tensor<1x64x64xf32>"""
    arguments = "%a: tensor<1x64x64xf32>, %b: tensor<1x64x64xf32>"
    assert temporaries(body, arguments, "tensor<1x64x64xf32>") == 64 * 64 * 4


def test_running_sums_are_of_runs_of_16_elements() -> None:
    """All runs, and the sums of their ends with a zero before them."""
    body = """
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %r = "stablehlo.reduce_window"(%a, %z) <{padding = dense<[[0, 0], [63, 0]]> : tensor<2x2xi64>,
          window_dimensions = array<i64: 1, 64>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
      }) : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>"""
    assert temporaries(body, "%a: tensor<64x64xf32>", "tensor<64x64xf32>") == 64 * 64 * 4 + 64 * 5 * 4


@pytest.mark.parametrize(("between", "stored"), [("negate", [3001]), ("sort", [0, 1500, 1501, 3001])])
def test_a_far_user_is_followed_through_any_number_of_ops(between: str, stored: list[int]) -> None:
    """A sum, what 3,000 ops have made of it, one of them `between`, and the sum of both."""
    names = [f"v{number}" for number in range(3001)]
    ops = [HostOp("negate", (read,), (made,)) for read, made in itertools.pairwise(names)]
    ops[1500] = HostOp(between, (names[1500],), (names[1501],))
    ops = [HostOp("add", ("x", "y"), ("v0",)), *ops, HostOp("add", ("v0", "v3000"), ("r",))]
    types = dict.fromkeys((*names, "x", "y", "r"), TensorType((64, 64)))
    assert [group.root for group in HostFusion(ops, types, ("r",)).groups()] == stored


def test_a_sum_replaces_the_operand_that_it_is_sent_for() -> None:
    """A second operand that is padded and summed, since no other collective leads to the whole of it."""
    body = """
      %0 = stablehlo.tanh %w {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>}
        : tensor<3x12xf32>
      %r = stablehlo.dot_general %a, %0, contracting_dims = [2] x [0]
        {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}, {"y":(2)4}]>]>}
        : (tensor<8x8x3xf32>, tensor<3x12xf32>) -> tensor<8x8x12xf32>"""
    mesh = 'sdy.mesh @mesh = <["x"=3, "y"=8]>\n'
    arguments = "%a: tensor<8x8x3xf32>, %w: tensor<3x12xf32>"
    assert temporaries(body, arguments, "tensor<8x8x12xf32>", mesh) == 4608
