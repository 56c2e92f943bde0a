"""Forecasts of one H100 beside what was measured on it: how far off each kind of step is, and no further."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

import jax

from tests.hardware.compared_steps import PROGRAMS, Compared, compared, measurements
from tests.hardware.measure_steps import measured
from tests.hardware.steps import STEPS

Bounds = tuple[float, float]

TIME: Mapping[str, Bounds] = {
    "short product": (0.08, 1.0),  # less than a wave of tiles
    "product": (0.64, 1.0),  # 70 to 80 % of the peak rate are reached
    "f8 product": (0.31, 1.42),  # an operand is transposed before; products of scaled operands count as bf16
    "matvec": (0.75, 1.0),
    "elementwise": (0.78, 1.0),
    "reduction": (0.84, 1.0),
    "normalization": (1.0, 2.71),  # one kernel, forecast as several
    "movement": (0.84, 1.0),
    "gather and scatter": (0.36, 1.0),  # rows of 512 B are read one by one
    "cache update": (0.05, 1.0),  # in place it takes as long as the shortest kernel, 1.4 us
    "cumulative sum": (0.22, 11.5),  # forecast as a window for each element; of JAX 0.12 as one pass
    "sort": (0.035, 1.0),  # forecast as one pass
    "random": (0.50, 1.0),
    "convolution": (0.07, 1.0),  # few channels are padded, strided ones transposed
    "attention": (1.0, 1.87),
    "block": (0.72, 1.29),
    "decode": (0.51, 1.0),  # 156 kernels, and the gaps between them
    "training": (0.98, 1.17),
    "remat training": (1.0, 1.27),
    "convnet": (0.44, 1.0),
}
"""The forecast over the measured time, with programs of any release. A better forecast may narrow these."""

MEMORY: Mapping[str, Bounds] = {
    "short product": (0.27, 1.0),  # workspace of 32 MiB, or partial sums of a split contraction
    "product": (0.59, 1.0),
    "f8 product": (0.57, 1.46),
    "matvec": (0.94, 1.0),
    "reduction": (0.99, 1.001),
    "cumulative sum": (0.96, 1.0),
    "sort": (0.33, 1.0),
    "convolution": (0.59, 1.0),
    "attention": (1.0, 1.49),
    "block": (0.76, 1.47),
    "decode": (1.0, 1.17),
    "training": (1.0, 1.36),
    "remat training": (1.0, 1.50),
    "convnet": (0.97, 1.005),
}
"""The forecast over the compiled bytes: arguments, results that alias none, temporaries. Others: equal."""

EQUAL: Bounds = (0.999, 1.002)
TABLES = 2048
"""Bytes of the addresses of several results."""

LARGE = ("gpt_4_remat", "gpt_12_scan", "gpt_12", "gpt_12_remat")


def _within(ratio: float, bounds: Bounds, what: str, step: Compared) -> None:
    low, high = bounds
    assert low <= round(ratio, 3) <= high, f"{what}: {ratio:.3f} is outside {low}..{high}\n{step.line}"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in STEPS]
)
def test_forecast(name: str) -> None:
    step = compared(name)
    _within(step.ratio, TIME[step.kind], "time", step)
    _within(step.bytes_ratio, MEMORY.get(step.kind, EQUAL), "memory", step)
    assert step.forecast_held == pytest.approx(step.measured_held, abs=TABLES), step.line


def test_the_measured_programs_are_those_of_the_table() -> None:
    assert {name: figures["sizes"] for name, figures in measurements().items()} == {
        name: step.described for name, step in PROGRAMS.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["add_f32", "cache_update_donated"])
def test_measuring(name: str) -> None:
    """On any device: what is measured has the fields that are compared, also where operands are donated."""
    figures = measured(STEPS[name], tiny=True)
    assert figures["wall_us"] >= figures["wall_min_us"] > 0
    assert set(figures["memory"]) >= {"argument", "output", "alias", "temp"}


@pytest.mark.slow
@pytest.mark.skipif(jax.default_backend() != "gpu", reason="no GPU")
@pytest.mark.parametrize("name", ["product_bf16_4096", "add_f32", "layer"])
def test_measured_again(name: str) -> None:
    """On the device that was measured, within a fifth."""
    if "H100" not in jax.devices()[0].device_kind:
        pytest.skip("another device than the H100 that was measured")
    assert measured(STEPS[name], tiny=False)["wall_us"] == pytest.approx(
        measurements()[name]["wall_us"], rel=0.2
    )
