"""Axes of listed devices: the memory depends on the devices listed, not on those of the mesh."""

from __future__ import annotations

import tracemalloc

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.ir import find_ops
from shardy_py.sharding import Mesh, MeshAxis
from shardy_py.xla.spmd.device_groups import axes_of_devices

PERMUTE = """func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}
    : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}"""


def test_a_permute_of_few_devices_of_a_huge_mesh() -> None:
    mesh = Mesh((MeshAxis("x", 1 << 26), MeshAxis("y", 2)))
    (permute,) = find_ops(parse_module(PERMUTE), "stablehlo.collective_permute")
    tracemalloc.start()
    assert axes_of_devices(permute, {"mesh": mesh}) == (("y", 2),)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000
