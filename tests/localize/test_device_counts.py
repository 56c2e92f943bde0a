"""Counts of replicas and partitions that do not fit the mesh are errors."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes

PROGRAM = """sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return %a : tensor<8xf32>
}
"""


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"partition_count": 3}, "partition-count: expected the devices of the mesh, 8, or 1 for any, got 3"),
        ({"partition_count": 0}, "partition-count: expected 1 or more, got 0"),
        ({"replica_count": -2}, "replica-count: expected 1 or more, got -2"),
        ({"replica_count": 2, "partition_count": 2}, "replica-count times partition-count: expected the"),
    ],
)
def test_counts_that_do_not_fit(counts: dict[str, int], message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        run_passes(parse_module(PROGRAM), [pass_call("sdy-convert-global-to-local", **counts)])


@pytest.mark.parametrize("counts", [{"partition_count": 8}, {"replica_count": 2, "partition_count": 4}, {}])
def test_counts_that_fit(counts: dict[str, int]) -> None:
    run_passes(parse_module(PROGRAM), [pass_call("sdy-convert-global-to-local", **counts)])
