"""`convert-shard-to-sdy`: converts annotations of MLIR's `shard` dialect to meshes and constraints of sdy.

Grid axes have numbers, mesh axes names: those in `sdy.axis_names` on the grid, else `axis_0`, `axis_1`, ...
All dimensions are closed, since shardings of `shard` are complete.

    before  shard.grid @grid(shape = 2x4)
            %s = shard.sharding @grid split_axes = [[0], [1]] : !shard.sharding
            %1 = shard.shard %0 to %s : tensor<8x16xf32>
    after   sdy.mesh @grid = <["axis_0"=2, "axis_1"=4]>
            %1 = sdy.sharding_constraint %0 <@grid, [{"axis_0"}, {"axis_1"}]> : tensor<8x16xf32>

Halos, uneven shards and grids of unknown size are not representable in sdy and rejected, as are the
collectives of `shard`, which work on local tensors. The inverse: `convert-sdy-to-shard`.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.shard import GridOp, ShardingOp, ShardOp
from xdsl.ir import Attribute, Operation, OpResult

from shardy_py.dialects.sdy import MeshOp, ShardingConstraintOp, TensorShardingAttr
from shardy_py.errors import ShardyError
from shardy_py.graph.movements import replace_op
from shardy_py.graph.op_errors import error_at
from shardy_py.graph.value_shardings import rank_of
from shardy_py.ir import build_operation, erase, find_ops, place_before, walk_pre_order
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, TensorSharding

AXIS_NAMES = "sdy.axis_names"
"""The attribute of a grid that holds the axis names of the original mesh."""

_AXIS_PREFIX = "axis_"


def convert_shard_to_sdy(module: ModuleOp) -> None:
    """Converts grids and shardings of `shard` to meshes and constraints."""
    meshes: dict[str, Mesh] = {}
    for grid in find_ops(module, GridOp.name):
        name = _name_of(grid.properties["sym_name"])
        meshes[name] = mesh_of_grid(grid)
        mesh = MeshOp(name, meshes[name])
        mesh.location = grid.location
        place_before(mesh, grid)
        erase(grid)
    for shard in find_ops(module, ShardOp.name):
        _convert(shard, meshes)
    for sharding in find_ops(module, ShardingOp.name):
        if sharding.results[0].first_use is None:
            erase(sharding)
    for left in walk_pre_order(module):
        if left.name.startswith("shard."):
            fact = "is not representable in sdy: expected grids, shardings and annotations of global tensors"
            raise error_at(left, ShardyError(fact))


def mesh_of_grid(grid: Operation) -> Mesh:
    """The mesh with the axes of a grid."""
    sizes = _integers(grid.properties["shape"])
    if any(size < 1 for size in sizes):
        raise error_at(grid, ShardyError("has a dimension of unknown size: expected positive sizes"))
    given = grid.attributes.get(AXIS_NAMES)
    names = [f"{_AXIS_PREFIX}{index}" for index in range(len(sizes))]
    if isinstance(given, ArrayAttr):
        listed = cast("ArrayAttr[StringAttr]", given).data
        names = [name.data for name in listed]
    if len(names) != len(sizes) or len(set(names)) != len(names):
        fact = f"has {len(sizes)} dimensions and {AXIS_NAMES} = {names}: expected distinct names for all"
        raise error_at(grid, ShardyError(fact))
    return Mesh(tuple(MeshAxis(name, size) for name, size in zip(names, sizes, strict=True)))


def _convert(shard: Operation, meshes: dict[str, Mesh]) -> None:
    value, sharding = shard.operands
    if not isinstance(sharding, OpResult) or sharding.op.name != ShardingOp.name:
        fact = "expected a sharding defined by shard.sharding; others are not representable in sdy"
        raise error_at(shard, ShardyError(fact))
    found = TensorShardingAttr(_sharding_of(sharding.op, rank_of(value.type), meshes))
    types = [shard.results[0].type]
    properties: dict[str, Attribute] = {"sharding": found}
    replace_op(shard, build_operation(ShardingConstraintOp, [value], types, properties, {}, shard.location))


def _sharding_of(op: Operation, rank: int, meshes: dict[str, Mesh]) -> TensorSharding:
    properties = op.properties
    uneven = [
        name for name in ("static_halo_sizes", "static_sharded_dims_offsets") if _given(properties, name)
    ]
    if uneven or op.operands:
        fact = "has halos or shard offsets, which are not representable in sdy: expected shards of equal size"
        raise error_at(op, ShardyError(fact))
    name = _name_of(properties["grid"])
    mesh = meshes.get(name)
    if mesh is None:
        raise error_at(op, ShardyError(f"refers to an unknown grid @{name}"))
    split = [_integers(axes) for axes in cast(Any, properties["split_axes"]).axes.data]
    if len(split) > rank:
        raise error_at(op, ShardyError(f"splits {len(split)} dimensions of a tensor of {rank}"))
    numbers = [number for axes in split for number in axes]
    if len(set(numbers)) < len(numbers) or any(not 0 <= n < len(mesh.axes) for n in numbers):
        fact = f"splits along grid axes {numbers}: expected each of 0 to {len(mesh.axes) - 1} at most once"
        raise error_at(op, ShardyError(fact))
    axes = [tuple(AxisRef(mesh.axes[number].name) for number in axes) for axes in split]
    axes += [()] * (rank - len(split))
    return TensorSharding(name, tuple(DimensionSharding(part, is_closed=True) for part in axes))


def _given(properties: dict[str, Attribute], name: str) -> bool:
    return name in properties and bool(_integers(properties[name]))


def _integers(attribute: Attribute) -> tuple[int, ...]:
    return tuple(cast(Any, attribute).get_values())


def _name_of(attribute: Attribute) -> str:
    given: Any = attribute
    return given.data if isinstance(attribute, StringAttr) else given.root_reference.data
