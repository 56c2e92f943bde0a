"""Worked examples of the book "How to Scale Your Model" (jax-ml.github.io/scaling-book)."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.report.time import TimeReport

PRODUCT = """
sdy.mesh @mesh = <["x"={devices}]>
func.func @main(%x: tensor<{batch}x{inner}x{type}>,
                %w: tensor<{inner}x{outer}x{type}> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}})
    -> tensor<{batch}x{outer}x{type}> {{
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<{batch}x{inner}x{type}>, tensor<{inner}x{outer}x{type}>) -> tensor<{batch}x{outer}x{type}>
  return %0 : tensor<{batch}x{outer}x{type}>
}}
"""


def product(hardware: str, batch: int, inner: int, outer: int, element: str, devices: int = 1) -> TimeReport:
    sizes = {"batch": batch, "inner": inner, "outer": outer, "devices": devices, "type": element}
    return propagate(Program.parse(PRODUCT.format(**sizes))).time(hardware)


def test_reading_the_weights_of_a_large_model() -> None:
    """Part 2, question 1: 200e9 parameters in bf16 on 32 chips of v4 take about 10 ms to read."""
    report = product("tpu-v4", 8, 200_000, 1_000_000, "bf16", devices=32)
    (dot,) = [node for node, _ in report.nodes() if node.name == "stablehlo.dot_general"]
    assert dot.bound == "memory"
    assert dot.seconds == pytest.approx(10e-3, rel=0.05)


@pytest.mark.parametrize(("batch", "bound"), [(256, "memory"), (288, "compute")])
def test_the_batch_from_which_a_product_is_bound_by_arithmetic(batch: int, bound: str) -> None:
    """Part 2, question 4: int8[16384, 4096] on v5e from a batch of about 271 on."""
    report = product("tpu-v5e", batch, 4096, 16384, "i8")
    assert report.bound == bound
    math, memory = 1.3e8 * batch / 3.94e14, (6.7e7 + 2e4 * batch) / 8.1e11
    assert report.serial == pytest.approx(max(math, memory), rel=0.05)


GATHER = """
sdy.mesh @mesh = <["X"=4, "Y"=4, "Z"=4]>
func.func @main(%x: tensor<1024x4096xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{{"X"}}, {{"Y"}}]>}})
    -> (tensor<1024x4096xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{{kept}}}]>}}) {{
  %0 = stablehlo.tanh %x {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"X"}}, {{"Y"}}]>]>}}
      : tensor<1024x4096xbf16>
  return %0 : tensor<1024x4096xbf16>
}}
"""


@pytest.mark.parametrize(("kept", "book"), [('"Y"', 23e-6), ("", 46e-6)])
def test_gathers_along_the_axes_of_a_torus(kept: str, book: float) -> None:
    """Part 3, question 2: all-gathers of bf16[1024, 4096] along one and two axes of a v4 torus of 4 x 4 x 4.

    The book counts all bytes, at 90 GB/s an axis; here a device does not receive its own, at 100 GB/s. It
    gathers along both axes at the same time, XLA along one after the other.
    """
    report = propagate(Program.parse(GATHER.format(kept=kept))).time("tpu-v4,topology=4x4x4,X=x,Y=y,Z=z")
    data = 1024 * 4096 * 2
    received = data / 4 * 3 / 4 + (0 if kept else data * 3 / 4)
    hops = 2 * 1e-6 * (1 if kept else 2)  # half of a ring of four
    assert report.communication == pytest.approx(received / 100e9 + hops, rel=0.01)
    assert 0.7 * book < report.communication < 1.8 * book
