"""Axis names in messages are escaped as in shardings."""

from __future__ import annotations

import pytest

from shardy_py.api import Program, propagate
from shardy_py.base.errors import ShardyError

PROGRAM = r"""
sdy.mesh @mesh = <["a\22b"=2, "c"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a\22b"}, {}]>})
    -> tensor<8x8xf32> {
  %0 = stablehlo.abs %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


def test_unknown_axes_and_chains_have_one_spelling() -> None:
    result = propagate(Program.parse(PROGRAM))
    with pytest.raises(ShardyError, match=r"unknown axis 'a\\22c': expected one of 'a\\22b', 'c'"):
        result.why_not("%0", 1, 'a"c')
    assert r"a\22b" in str(result.explain("%0"))
    assert 'a"b' not in str(result.explain("%0"))
