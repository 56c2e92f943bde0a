"""The borders of manual computations whose free axes divide the parts of the manual axes unevenly.

    tensor<6> [{"m", "f"}], m=2, f=2      parts of ceil(6 / 4):               01 23 45 --
    tensor<3> [{"f"}] in the body         parts of ceil(3 / 2), twice:        01 2- 34 5-

The same axes put other elements on a device outside than inside. Such dimensions cross the border sharded
along the manual axes alone; reshards on both sides do the rest. Part of `sdy-gather-whole-tensors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.ir import operands_of
from shardy_py.passes.export.communication_ops import sizes_of
from shardy_py.sharding import DimensionSharding, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.meshes import Meshes, mesh_of


def align_manual_borders(op: sdy.ManualComputationOp, meshes: Meshes) -> None:
    """Removes free axes from the shardings at the border where parts inside and outside differ."""
    manual = frozenset(op.manual_axes.data)
    for name, values in (("in_shardings", operands_of(op)), ("out_shardings", op.results)):
        given: sdy.TensorShardingPerValueAttr = op.properties[name]  # pyright: ignore
        aligned = _aligned(given.data, values, manual, meshes)
        if aligned != given.data:
            op.properties[name] = sdy.TensorShardingPerValueAttr(aligned)


def _aligned(
    shardings: Sequence[TensorSharding], values: Sequence[SSAValue], manual: frozenset[str], meshes: Meshes
) -> tuple[TensorSharding, ...]:
    return tuple(
        aligned_border(sharding, sizes_of(value), manual, mesh_of(sharding, meshes))
        for sharding, value in zip(shardings, values, strict=True)
    )


def aligned_border(
    sharding: TensorSharding, shape: Sequence[int], manual: frozenset[str], mesh: Mesh
) -> TensorSharding:
    """The sharding without the free axes of dimensions whose parts differ inside and outside.

    shape: of the value outside, 0 for dynamic sizes.
    """
    dimensions = tuple(
        dimension if _is_aligned(dimension, size, manual, mesh) else _without_free(dimension, manual)
        for dimension, size in zip(sharding.dimensions, shape, strict=True)
    )
    return sharding if dimensions == sharding.dimensions else replace(sharding, dimensions=dimensions)


def _is_aligned(dimension: DimensionSharding, size: int, manual: frozenset[str], mesh: Mesh) -> bool:
    outer = total_size(_without_free(dimension, manual).axes, mesh)
    inner = total_size(dimension.axes, mesh) // outer
    part = -(-size // outer)
    return outer == 1 or inner == 1 or part % inner == 0


def _without_free(dimension: DimensionSharding, manual: frozenset[str]) -> DimensionSharding:
    return replace(dimension, axes=tuple(axis for axis in dimension.axes if axis.name in manual))
