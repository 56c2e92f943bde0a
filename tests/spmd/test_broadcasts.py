"""Broadcasts of values that were resharded before, in a layer of a large model on 1,024 devices."""

from __future__ import annotations

from runpy import run_path

import pytest

from shardy_py import Program, propagate
from tests.conftest import ROOT

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")


def test_a_dimension_of_one_is_dropped_from_what_a_value_was_before() -> None:
    lowered = run_path(str(ROOT / "benchmarks" / "big_program.py"))["lowered"]
    report = propagate(Program.from_jax(lowered(1))).communication()
    assert report.partitioner == "xla"
    assert {"all_gather", "all_reduce"} <= {use.kind for use in report.sending}
