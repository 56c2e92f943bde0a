"""Broadcasts of values that were resharded before, in a layer of a large model on 1,024 devices."""

from __future__ import annotations

from functools import partial
from runpy import run_path

import pytest

from shardy_py import Program, propagate
from tests.conftest import ROOT
from tests.xla.spmd.compiled import partitioned
from tests.xla.spmd.hlo_programs import comparison_with, reported

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")


def test_a_dimension_of_one_is_dropped_from_what_a_value_was_before() -> None:
    lowered = run_path(str(ROOT / "benchmarks" / "big_program.py"))["lowered"]
    report = propagate(Program.from_jax(lowered(1))).communication()
    assert report.partitioner == "xla"
    assert {"all_gather", "all_reduce"} <= {use.kind for use in report.sending}


TWICE = """
sdy.mesh @mesh = <["x"=8]>
func.func @main(%x: tensor<64x50x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
                %y: tensor<64x50x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>})
    -> tensor<64x50x128xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1, 2] : (tensor<64x50x1xf32>) -> tensor<64x50x128xf32>
  %1 = stablehlo.multiply %y, %0 : tensor<64x50x128xf32>
  %2 = stablehlo.broadcast_in_dim %x, dims = [0, 1, 2] : (tensor<64x50x1xf32>) -> tensor<64x50x128xf32>
  %3 = stablehlo.add %1, %2 : tensor<64x50x128xf32>
  return %3 : tensor<64x50x128xf32>
}
"""


def test_each_broadcast_of_a_dimension_of_one_gathers_its_operand() -> None:
    """HLO drops the dimension by an op of each broadcast, so reshards are not shared."""
    text = propagate(Program.parse(TWICE)).text()
    (xla,) = partitioned([text])
    assert comparison_with(xla, partial(reported, text)) == "equal"
    assert reported(text) == {"all_gather": 2 * 7 * 8 * 50 * 4}
