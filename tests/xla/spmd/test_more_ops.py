"""Ops as planned, against what XLA partitions: kinds of `more_ops.py`."""

from __future__ import annotations

import pytest

from shardy_py.base import releases
from tests.xla.spmd.compiled import installed
from tests.xla.spmd.more_ops import KINDS, differing, random_cases


@pytest.mark.parametrize("uneven", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_bytes_are_those_of_xla(uneven: bool) -> None:
    # Before it partitions, XLA of JAX 0.12 stops at a check of an iota's sharding by mesh and axes: Shardy's
    # programs do not come there.
    has_axes = installed().order >= releases.JAX_0_12.order
    kinds = [kind for kind in KINDS if kind != "iota" or not has_axes]
    cases = [random_cases(5, 4, kind, uneven=uneven) for kind in kinds]
    by_mesh = {mesh: [case for each in cases for case in each[mesh]] for mesh in cases[0]}
    count, wrong = differing(by_mesh)
    assert count == 4 * len(kinds)
    assert wrong == []
