"""Products on TPUs in windows, beside the cycles that XLA:TPU estimates: a sample of `tpu_cycles.py`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from shardy_py import Program, propagate
from shardy_py.hardware import hardware_of
from shardy_py.report.time.matrix_products import MatrixProduct
from shardy_py.report.time.windows import product_seconds
from tests.report.time.tpu_cycles import CLOCKS, CLOSE, CYCLES, program
from tests.report.time.window_costs import costs_of

V6E = hardware_of("tpu-v6e")
UNKNOWN = replace(V6E, name="of a user")
"""A device of whose memory on the chip the size is not known: no operand is fetched before."""
SAMPLE = ("product 4096 4096 4096 bf16", "product 2048 8192 2048 bf16", "convolution 64 28 512 512 3 bf16")
SMALL = ("product 2048 2048 2048 bf16", "product 12288 4096 12288 bf16", "convolution 16 32 384 384 3 f32")
"""Those that a roofline is furthest from."""


@pytest.mark.parametrize("chip", CLOCKS)
def test_large_products_and_convolutions_take_what_xla_estimates(chip: str) -> None:
    known = json.loads(CYCLES.read_text())[chip]
    for name in (*SAMPLE, *SMALL):
        result = propagate(Program.parse(program(name), as_compiled=False), progress=False)
        report = result.time(f"tpu-{chip}", target=f"tpu-{chip}")
        assert report.serial * CLOCKS[chip] == pytest.approx(known[name], rel=CLOSE), name


@pytest.mark.parametrize("chip", CLOCKS)
def test_costs_of_windows_are_those_of_xla(chip: str) -> None:
    windows = hardware_of(f"tpu-{chip}").windows
    assert windows is not None
    given = windows.bytes_per_second, windows.read_seconds, windows.write_seconds, windows.step_seconds
    assert given == pytest.approx(costs_of(chip), rel=1e-3)


def test_an_operand_that_fits_into_the_memory_on_the_chip_is_fetched_before() -> None:
    one = MatrixProduct(1, 4096, 4096, 4096, 2, 2)
    assert product_seconds(one, V6E.peak_flops, V6E) < product_seconds(one, V6E.peak_flops, UNKNOWN)
    large = one._replace(rows=16384, columns=16384)
    seconds = product_seconds(large, V6E.peak_flops, V6E)
    assert seconds == product_seconds(large, V6E.peak_flops, UNKNOWN)


def test_without_costs_of_windows_there_are_no_seconds() -> None:
    one = MatrixProduct(1, 4096, 4096, 4096, 2, 2)
    assert product_seconds(one, V6E.peak_flops, replace(V6E, windows=None)) == 0


def test_matrix_units_take_whole_tiles() -> None:
    one = MatrixProduct(1, 8192, 512, 4096, 2, 2)
    seconds = [product_seconds(one._replace(columns=n), V6E.peak_flops, V6E) for n in (384, 512)]
    assert seconds[0] == pytest.approx(seconds[1], rel=0.02)


def test_a_narrow_result_is_written_beside_its_sums() -> None:
    one = MatrixProduct(1, 8192, 8192, 256, 2, 2)
    narrow, wide = (product_seconds(one._replace(made_bytes=n), V6E.peak_flops, V6E) for n in (2, 4))
    assert narrow / wide == pytest.approx(6 / 4, rel=0.1)


def test_first_windows_are_waited_for() -> None:
    square = MatrixProduct(1, 2048, 2048, 2048, 2, 2)
    alone = product_seconds(square, V6E.peak_flops, UNKNOWN)
    assert alone > 2 * 2048**3 / V6E.peak_flops
    many = product_seconds(square._replace(batches=64), V6E.peak_flops, UNKNOWN)
    assert many < 64 * alone


def test_less_room_takes_no_less_time() -> None:
    large = MatrixProduct(1, 8192, 8192, 8192, 2, 2)
    rooms = [V6E.scoped_bytes >> shift for shift in range(5)]
    found = [product_seconds(large, V6E.peak_flops, replace(V6E, scoped_bytes=room)) for room in rooms]
    assert found == sorted(found)
    assert product_seconds(large, V6E.peak_flops, replace(V6E, scoped_bytes=1)) == 0


def test_a_sharded_product_has_the_windows_of_its_shard() -> None:
    text = """
sdy.mesh @mesh = <["x"=4]>
func.func public @main(
    %a: tensor<16384x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<2048x4096xbf16>)
    -> (tensor<16384x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<16384x2048xbf16>, tensor<2048x4096xbf16>) -> tensor<16384x4096xbf16>
  return %0 : tensor<16384x4096xbf16>
}
"""
    report = propagate(Program.parse(text, as_compiled=False), progress=False).time(
        "tpu-v6e", target="tpu-v6e"
    )
    own = MatrixProduct(1, 4096, 4096, 2048, 2, 2)
    assert report.serial == pytest.approx(product_seconds(own, V6E.peak_flops, V6E))


def test_a_product_that_is_scattered_has_the_windows_of_what_it_makes() -> None:
    """The gradient of a sharded weight: each device makes a part of the sum for all of it."""
    text = """
sdy.mesh @mesh = <["x"=4]>
func.func public @main(
    %a: tensor<16384x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<16384x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0]
      : (tensor<16384x4096xf32>, tensor<16384x4096xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}
"""
    report = propagate(Program.parse(text, as_compiled=False), progress=False).time(
        "tpu-v6e", target="tpu-v6e"
    )
    seconds = max(node.seconds for node, _ in report.nodes() if node.work.product_flops)
    assert seconds == pytest.approx(
        product_seconds(MatrixProduct(1, 4096, 4096, 4096, 4, 4), V6E.peak_flops, V6E)
    )


def test_windows_of_huge_products_are_few() -> None:
    """So many choices as there are windows would need petabytes."""
    size = 2**40
    found = product_seconds(MatrixProduct(size, size, size, size, 2, 2), V6E.peak_flops, V6E)
    least = 2.0 * size**4 / V6E.peak_flops
    assert least < found < 3 * least
