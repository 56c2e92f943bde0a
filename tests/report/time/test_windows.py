"""Products on TPUs in windows, beside the cycles that XLA:TPU estimates: a sample of `tpu_cycles.py`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from shardy_py import Program, propagate
from shardy_py.hardware import hardware_of
from shardy_py.report.time.windows import MatrixProduct, product_seconds
from tests.report.time.tpu_cycles import CLOCKS, CLOSE, CYCLES, programs, window_rate

V6E = hardware_of("tpu-v6e")
SAMPLE = ("product 4096 4096 4096 bf16", "product 2048 8192 2048 bf16", "convolution 64 28 512 512 3 bf16")


@pytest.mark.parametrize("chip", CLOCKS)
def test_large_products_and_convolutions_take_what_xla_estimates(chip: str) -> None:
    known, texts = json.loads(CYCLES.read_text())[chip], dict(programs())
    for name in SAMPLE:
        result = propagate(Program.parse(texts[name], as_compiled=False), progress=False)
        report = result.time(f"tpu-{chip}", target=f"tpu-{chip}")
        assert report.serial * CLOCKS[chip] == pytest.approx(known[name], rel=CLOSE), name


@pytest.mark.parametrize("chip", CLOCKS)
def test_rates_of_windows_are_those_of_xla(chip: str) -> None:
    assert hardware_of(f"tpu-{chip}").window_bytes_per_second == pytest.approx(window_rate(chip), rel=1e-3)


def test_a_device_with_vector_memory_of_unknown_size_reads_at_its_own_rate() -> None:
    large = MatrixProduct(1, 8192, 8192, 8192, 2, 2)
    unknown = replace(V6E, name="of a user")
    seconds = product_seconds(large, V6E.peak_flops, unknown)
    assert seconds == product_seconds(large, V6E.peak_flops, replace(V6E, window_bytes_per_second=0.0))


def test_first_windows_are_waited_for() -> None:
    square = MatrixProduct(1, 2048, 2048, 2048, 2, 2)
    alone = product_seconds(square, V6E.peak_flops, V6E)
    assert alone > 2 * 2048**3 / V6E.peak_flops
    many = product_seconds(square._replace(batches=64), V6E.peak_flops, V6E)
    assert many < 64 * alone


def test_less_room_takes_no_less_time() -> None:
    large = MatrixProduct(1, 8192, 8192, 8192, 2, 2)
    rooms = [V6E.scoped_bytes >> shift for shift in range(6)]
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
