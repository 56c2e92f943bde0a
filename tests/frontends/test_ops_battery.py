"""A part of the battery of single ops; all of it: `python -m tests.frontends.ops_battery`."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

from tests.frontends.ops_battery import outcomes, row, rows

NAMES = (
    *("einsum bsnd,btnd->bnst", "einsum bsnd,nde->bse", "tensordot", "attention, grouped heads", "stack"),
    *("roll two", "unbind", "instance_norm", "cross entropy", "max_pool2d, indices", "embedding bag", "topk"),
    *("roll along sharded", "cumsum along sharded", "gather along sharded"),
)


def test_ops_send_what_xla_sends_and_nothing_that_they_do_not_need() -> None:
    chosen = [each for each in rows() if each.name in NAMES]
    assert len(chosen) == len(NAMES)
    wrong = [found for found in outcomes(chosen) if not (found.equals_xla and found.is_whole)]
    assert not wrong


def test_the_battery_sees_communication_that_a_whole_op_does_not_need() -> None:
    merged = row("merged heads", lambda x, y: x.flatten(0, 1) @ y, "8 4:tp 32", "32 16")
    (found,) = outcomes([merged])
    assert found.equals_xla
    assert not found.is_whole
    assert found.ours
