"""Tensors of more dimensions than numpy has: an error that says so, or a report without them."""

from __future__ import annotations

import pytest

from shardy_py import Program, Result, ShardyError, propagate
from shardy_py.base.deferred import MOST_DIMENSIONS


def _result(rank: int) -> Result:
    type_ = f"tensor<2x{'1x' * (rank - 1)}f32>"
    dimensions = ", ".join(['{"x"}', *["{}"] * (rank - 1)])
    sharding = f"#sdy.sharding<@mesh, [{dimensions}]>"
    return propagate(
        Program.parse(f"""
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: {type_} {{sdy.sharding = {sharding}}}) -> {type_} {{
  %0 = stablehlo.add %a, %a : {type_}
  return %0 : {type_}
}}
""")
    )


def test_as_many_dimensions_as_numpy_can_split() -> None:
    result = _result(MOST_DIMENSIONS)
    assert result.partition().prove()
    assert not result.communication(partitioner="xla").sending


def test_more_dimensions() -> None:
    result = _result(MOST_DIMENSIONS + 1)
    assert result.memory().entries
    with pytest.raises(ShardyError, match="has 49 dimensions in one tensor, more than 48"):
        result.partition().prove()
    with pytest.raises(ShardyError, match="expected tensors of at most 48 dimensions, got 49"):
        result.communication(partitioner="xla")
