"""What `fits` says of programs near the memory of a device, beside what compilers allocate."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

from tests.xla.buffers.at_limits import SCALED, AtLimits, limits_of, scaled

QUICK = ("attention_1024", "mlp_grad")


def test_verdicts() -> None:
    row = AtLimits("", "h100", compiled=100, least=90, most=105)
    assert [row.verdict(limit) for limit in (80, 95, 110)] == ["does not fit", "may fit", "fits"]
    low, high = (AtLimits("", "h100", 100, least, least) for least in (80, 120))
    assert [low.is_right(limit) for limit in (79, 90, 101)] == [True, False, True]
    assert [high.is_right(limit) for limit in (99, 110, 121)] == [True, False, True]


@pytest.mark.parametrize("name", QUICK)
def test_steps_at_the_memory_of_an_h100(name: str) -> None:
    rows = [*scaled([name])]
    assert all(row.is_right(limit) for row in rows for limit in limits_of(row)), rows
    assert "fits" in {row.verdict(limit) for row in rows for limit in limits_of(row)}


@pytest.mark.slow
def test_nineteen_of_twenty_verdicts_are_right() -> None:
    rows = [*scaled()]
    assert len(rows) == sum(len(each["compiled"]) for each in json.loads(SCALED.read_text()).values())
    right = sum(row.is_right(limit) for row in rows for limit in limits_of(row))
    assert right >= 0.95 * len(rows)
