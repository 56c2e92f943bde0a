"""The arithmetic of programs is what XLA's cost analysis counts, before and after its partitioner."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardy_py.ops import TABLE, OpRecord, TensorType
from shardy_py.ops.work import Work
from tests.report.time.flops import analyzed, comparisons
from tests.xla.spmd.compiled import partitioned

pytestmark = pytest.mark.reference

SMALL = ("mlp_train", "signal")
LARGE = ("scan_transformer", "decode_kv_cache", "embedding_scatter", "dropout_rng")


@pytest.mark.parametrize(
    "programs", [SMALL, pytest.param(LARGE, marks=pytest.mark.slow)], ids=["small", "large"]
)
def test_programs_of_the_corpus(programs: tuple[str, ...], corpus: Callable[[str], str]) -> None:
    found = comparisons({name: corpus(name) for name in programs})
    assert [*found] == [*programs]
    for name, each in found.items():
        assert each.is_close(of_device=False), name
        assert each.is_close(of_device=True), name
        for ours, theirs in (each.whole, each.local):
            assert ours.transcendentals == pytest.approx(theirs.transcendentals, rel=0.01), name


FUNCTIONS = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {{
  %0 = {op} %x : tensor<1000xf32> -> tensor<1000xf32>
  return %0 : tensor<1000xf32>
}}
"""


CHLO = ("asin", "erf_inv", "lgamma", "sinh", "atanh", "erfc", "digamma", "bessel_i1e")


def test_what_xla_makes_of_ops_of_chlo() -> None:
    compiled = partitioned([FUNCTIONS.format(op=f"chlo.{name}") for name in CHLO], 2)
    for name, figures in zip(CHLO, analyzed([xla.before for xla in compiled]), strict=True):
        record = OpRecord(f"chlo.{name}", (TensorType((1000,)),), (TensorType((1000,)),))
        assert TABLE[record.name].work(record) == Work(int(figures.flops), int(figures.transcendentals)), name
