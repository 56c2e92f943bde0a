"""The time of kernels of a GPU's target, whose bytes and operations are worked out here."""

from __future__ import annotations

import pickle

import pytest

from shardy_py import Program, propagate
from shardy_py.hardware import HARDWARE
from shardy_py.report.time import TimeReport

H100 = HARDWARE["h100"]
LAUNCH = 1e-6
READ = H100.memory_bytes_per_second


def time_of(body: str, arguments: str, results: str) -> TimeReport:
    text = f"func.func public @main({arguments}) -> ({results}) {{\n{body}\n}}\n"
    return propagate(Program.parse(text)).time("h100", target="h100", partitioner="xla")


def moved(report: TimeReport) -> list[float]:
    """The bytes of each kernel."""
    return [node.bytes for node, _ in report.nodes()]


SOFTMAX = """
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
      : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<4096xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<4096xf32>) -> tensor<4096x1024xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<4096x1024xf32>
  %3 = stablehlo.exponential %2 : tensor<4096x1024xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<4096xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4096xf32>) -> tensor<4096x1024xf32>
  %6 = stablehlo.divide %3, %5 : tensor<4096x1024xf32>
  return %6 : tensor<4096x1024xf32>"""


def test_a_softmax_is_one_kernel() -> None:
    report = time_of(SOFTMAX, "%x: tensor<4096x1024xf32>", "tensor<4096x1024xf32>")
    assert moved(report) == [2 * 4096 * 1024 * 4]
    assert report.serial == pytest.approx(LAUNCH + 2 * 4096 * 1024 * 4 / READ)
    assert report.expected == (report.overlapped, pytest.approx(2 * report.serial))
    assert "most kernels reach 50% of the rates or more" in str(report)
    assert pickle.loads(pickle.dumps(report)).expected == report.expected


def test_without_a_target_the_rates_that_are_reached_are_not_known() -> None:
    text = f"func.func public @main(%x: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {{{SOFTMAX}\n}}\n"
    report = propagate(Program.parse(text)).time("h100")
    assert report.expected == report.seconds
    assert len(moved(report)) > 1


def test_a_short_product_uses_some_multiprocessors() -> None:
    body = """
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
      : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
  return %0 : tensor<1024x1024xbf16>"""
    report = time_of(body, "%x: tensor<1024x1024xbf16>", "tensor<1024x1024xbf16>")
    tiles = 8 * 8
    assert report.serial == pytest.approx(LAUNCH + 2 * 1024**3 / (989.5e12 * tiles / 132))


def test_kernels_that_read_one_value_are_one() -> None:
    body = """
  %0 = stablehlo.add %x, %y : tensor<8192x1024xf32>
  %1 = stablehlo.multiply %0, %y : tensor<8192x1024xf32>
  %2 = stablehlo.subtract %x, %y : tensor<8192x1024xf32>
  return %0, %1, %2 : tensor<8192x1024xf32>, tensor<8192x1024xf32>, tensor<8192x1024xf32>"""
    type_ = "tensor<8192x1024xf32>"
    report = time_of(body, f"%x: {type_}, %y: {type_}", f"{type_}, {type_}, {type_}")
    assert moved(report) == [5 * 8192 * 1024 * 4]


def test_a_gather_reads_what_it_makes() -> None:
    body = """
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 512>}> : (tensor<65536x512xf32>, tensor<16384x1xi32>)
      -> tensor<16384x512xf32>
  return %0 : tensor<16384x512xf32>"""
    report = time_of(body, "%x: tensor<65536x512xf32>, %i: tensor<16384x1xi32>", "tensor<16384x512xf32>")
    assert sum(moved(report)) == pytest.approx(2 * 16384 * 512 * 4, rel=0.01)


WINDOW = """
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{{window_dimensions = array<i64: {n}>,
      padding = dense<[[{before}, 0]]> : tensor<1x2xi64>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }}) : (tensor<{n}xf32>, tensor<f32>) -> tensor<{n}xf32>
  return %0 : tensor<{n}xf32>"""


def test_sums_up_to_each_element_are_added_in_blocks() -> None:
    n = 1 << 20
    report = time_of(WINDOW.format(n=n, before=n - 1), f"%x: tensor<{n}xf32>", f"tensor<{n}xf32>")
    assert report.bound == "compute"  # a thread makes one element
    assert sum(moved(report)) == pytest.approx(3 * 4 * n, rel=0.3)  # read twice, written once


def test_a_ragged_product_has_all_groups() -> None:
    body = """
  %0 = "chlo.ragged_dot"(%x, %w, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0],
      rhs_group_dimensions = [0]>}> : (tensor<4096x512xbf16>, tensor<8x512x1024xbf16>, tensor<8xi32>)
      -> tensor<4096x1024xbf16>
  return %0 : tensor<4096x1024xbf16>"""
    given = "%x: tensor<4096x512xbf16>, %w: tensor<8x512x1024xbf16>, %sizes: tensor<8xi32>"
    report = time_of(body, given, "tensor<4096x1024xbf16>")
    assert sum(node.work.product_flops for node, _ in report.nodes()) == 8 * 2 * 4096 * 512 * 1024


def elementwise(op: str, elements: int, element: str = "f32") -> TimeReport:
    type_ = f"tensor<{elements}x{element}>"
    return time_of(f"  %0 = stablehlo.{op} %x : {type_}\n  return %0 : {type_}", f"%x: {type_}", type_)


def test_a_clock_starts_one_block_of_threads() -> None:
    """128 threads of four elements each, of 8 bits: memory would be twice as fast."""
    n = 1 << 26
    clock = H100.vector_flops / (132 * 128 * 2)
    report = elementwise("negate", n, "i8")
    assert report.bound == "compute"
    assert report.serial == pytest.approx(LAUNCH + n / 512 / clock)
    assert elementwise("negate", n).bound == "memory"
    assert elementwise("negate", 1 << 17).serial == pytest.approx(LAUNCH + (1 << 10) / clock)  # not unrolled


def test_functions_take_their_instructions() -> None:
    type_ = "tensor<16777216xf32>"
    body = (
        "".join(f"  %{n + 1} = stablehlo.power %{n}, %{n} : {type_}\n" for n in range(4))
        .replace("%0,", "%x,")
        .replace("%0 ", "%x ")
    )
    report = time_of(f"{body}  return %4 : {type_}", f"%x: {type_}", type_)
    assert report.bound == "compute"
    assert report.serial == pytest.approx(LAUNCH + 4 * 89 * 16777216 * 2 / H100.vector_flops, rel=0.01)


SORT = """
  %0 = "stablehlo.sort"(%x) <{{dimension = {d} : i64}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}) : ({type}) -> {type}
  return %0 : {type}"""


def test_sorts_exchange_pairs_in_stages_or_move_digits() -> None:
    def report(rows: int, size: int, dimension: int = 1) -> TimeReport:
        type_ = f"tensor<{rows}x{size}xf32>"
        return time_of(SORT.format(d=dimension, type=type_), f"%x: {type_}", type_)

    for size, stages in {512: 45, 4096: 78}.items():
        pairs = 4096 * size / 2 * stages
        expected = LAUNCH + pairs * 34 * 2 / H100.vector_flops
        assert report(4096, size).serial == pytest.approx(expected)
    assert report(1, 4096).serial > 100 * report(4096, 4096).serial / 4096  # one multiprocessor of 132
    long = 1 << 24
    assert report(1, long).serial == pytest.approx(4 * LAUNCH + long * (4 * 16 + 4) / READ)
    assert report(long, 1, 0).serial > report(1, long).serial  # not along the last dimension


def test_an_update_of_a_line_writes_what_it_puts_there() -> None:
    report = time_of(
        "%0 = stablehlo.dynamic_update_slice %x, %y, %i\n"
        "  : (tensor<1048576xf32>, tensor<4096xf32>, tensor<i32>) -> tensor<1048576xf32>\n"
        "return %0 : tensor<1048576xf32>",
        "%x: tensor<1048576xf32>, %y: tensor<4096xf32>, %i: tensor<i32>",
        "tensor<1048576xf32>",
    )
    copied, written = 2 * 4 * 1048576, 2 * 4 * 4096
    assert sum(moved(report)) == copied + written + 4
