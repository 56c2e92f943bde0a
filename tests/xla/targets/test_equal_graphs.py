"""Equal computations are fused once, and what is kept for them is what fusion finds."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.base.session import SESSION
from shardy_py.xla.targets.combined_sets import ReadOps
from shardy_py.xla.targets.gpu.computation import GpuKernels

TEXT = """
module @jit_step attributes {mhlo.num_partitions = 4 : i32} {
sdy.mesh @mesh = <["x"=4]>
func.func public @main(%arg0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %arg1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.tanh %arg1 : tensor<64x64xf32>
  %2 = stablehlo.OP %1, %arg1 : tensor<64x64xf32>
  %3 = stablehlo.dot_general %arg0, %2, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %3 : tensor<64x64xf32>, tensor<64x64xf32>
}}
"""


def test_equal_computations_are_fused_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found, fuse = list[ReadOps](), GpuKernels._read_ops  # pyright: ignore[reportPrivateUsage]

    def noted(self: GpuKernels) -> ReadOps:
        found.append(fuse(self))
        return found[-1]

    monkeypatch.setattr(GpuKernels, "_read_ops", noted)
    SESSION.clear()

    def text_of(op: str) -> str:
        result = propagate(Program.parse(TEXT.replace("OP", op)), record=False)
        return str(result.communication(target="h100"))

    first, again = text_of("add"), text_of("add")
    assert len(found) == 1
    assert first == again
    SESSION.clear()
    assert first == text_of("add")
    assert len(found) == 2
    text_of("multiply")
    assert len(found) == 3
