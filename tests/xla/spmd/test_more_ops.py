"""Ops as planned, against what XLA partitions: kinds of `more_ops.py`."""

from __future__ import annotations

import pytest

from tests.xla.spmd.more_ops import KINDS, differing, random_cases


@pytest.mark.parametrize("uneven", [False, True])
def test_the_bytes_are_those_of_xla(uneven: bool) -> None:
    cases = [random_cases(5, 4, kind, uneven=uneven) for kind in KINDS]
    by_mesh = {mesh: [case for each in cases for case in each[mesh]] for mesh in cases[0]}
    count, wrong = differing(by_mesh)
    assert count == 4 * len(KINDS)
    assert wrong == []
