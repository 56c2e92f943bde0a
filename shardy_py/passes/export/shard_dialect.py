"""Converts programs of sdy to MLIR's dialect shard, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects import builtin
from xdsl.dialects.shard import GridOp, ShardAxesArrayAttr, ShardingOp, ShardingType, ShardOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.mlir import ir
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.dialects.traits import ShardingProperty, sharding_property
from shardy_py.mlir.holders import RULE, SHARDING, attribute_list_shardings
from shardy_py.mlir.movements import replace_by_values, replace_op
from shardy_py.mlir.op_errors import error_at
from shardy_py.mlir.plain import plain
from shardy_py.mlir.symbols import functions_of, meshes_of
from shardy_py.mlir.value_shardings import rank_of
from shardy_py.passes.export.communication_ops import identity_op
from shardy_py.passes.export.removal import remove_attributes
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, TensorSharding

AXIS_NAMES = "sdy.axis_names"
"""The attribute of a grid that holds the axis names of the original mesh."""

_AXIS_PREFIX = "axis_"


def convert_shard_to_sdy(module: builtin.ModuleOp) -> None:
    """`convert-shard-to-sdy`: converts annotations of MLIR's `shard` dialect to meshes and constraints.

    Grid axes have numbers, mesh axes names: those in `sdy.axis_names` on the grid, else `axis_0`, `axis_1`,
    ... All dimensions are closed, since shardings of `shard` are complete.

    before  shard.grid @grid(shape = 2x4)
        %s = shard.sharding @grid split_axes = [[0], [1]] : !shard.sharding
        %1 = shard.shard %0 to %s : tensor<8x16xf32>
    after   sdy.mesh @grid = <["axis_0"=2, "axis_1"=4]>
        %1 = sdy.sharding_constraint %0 <@grid, [{"axis_0"}, {"axis_1"}]> : tensor<8x16xf32>

    Halos, uneven shards and grids of unknown size are not representable in sdy and rejected, as are the
    collectives of `shard`, which work on local tensors. The inverse: `convert-sdy-to-shard`.
    """
    meshes: dict[str, Mesh] = {}
    for grid in ir.find_ops(module, GridOp.name):
        name = _name_of(grid.properties["sym_name"])
        meshes[name] = mesh_of_grid(grid)
        mesh = sdy.MeshOp(name, meshes[name])
        mesh.location = grid.location
        ir.place_before(mesh, grid)
        ir.erase(grid)
    for shard in ir.find_ops(module, ShardOp.name):
        _convert(shard, meshes)
    for sharding in ir.find_ops(module, ShardingOp.name):
        if sharding.results[0].first_use is None:
            ir.erase(sharding)
    for left in ir.walk_pre_order(module):
        if left.name.startswith("shard."):
            fact = "is not representable in sdy: expected grids, shardings and annotations of global tensors"
            raise _error(left, fact)


def mesh_of_grid(grid: Operation) -> Mesh:
    """The mesh with the axes of a grid."""
    sizes = _integers(grid.properties["shape"])
    if any(size < 1 for size in sizes):
        raise _error(grid, "has a dimension of unknown size: expected positive sizes")
    given = grid.attributes.get(AXIS_NAMES)
    names = [f"{_AXIS_PREFIX}{index}" for index in range(len(sizes))]
    if isinstance(given, builtin.ArrayAttr):
        listed = cast("builtin.ArrayAttr[builtin.StringAttr]", given).data
        names = [name.data for name in listed]
    if len(names) != len(sizes) or len(set(names)) != len(names):
        fact = f"has {len(sizes)} dimensions and {AXIS_NAMES} = {names}: expected distinct names for all"
        raise _error(grid, fact)
    return Mesh(tuple(MeshAxis(name, size) for name, size in zip(names, sizes, strict=True)))


def _convert(shard: Operation, meshes: dict[str, Mesh]) -> None:
    value, sharding = shard.operands
    if not isinstance(sharding, OpResult) or sharding.op.name != ShardingOp.name:
        fact = "expected a sharding defined by shard.sharding; others are not representable in sdy"
        raise _error(shard, fact)
    found = _sharding_of(sharding.op, rank_of(value.type), meshes)
    replace_op(shard, identity_op(sdy.ShardingConstraintOp, value, found, shard.location))


def _sharding_of(op: Operation, rank: int, meshes: dict[str, Mesh]) -> TensorSharding:
    properties = op.properties
    uneven = [
        name
        for name in ("static_halo_sizes", "static_sharded_dims_offsets")
        if name in properties and _integers(properties[name])
    ]
    if uneven or op.operands:
        fact = "has halos or shard offsets, which are not representable in sdy: expected shards of equal size"
        raise _error(op, fact)
    name = _name_of(properties["grid"])
    mesh = meshes.get(name)
    if mesh is None:
        raise _error(op, f"refers to an unknown grid @{name}")
    split = [_integers(axes) for axes in cast(Any, properties["split_axes"]).axes.data]
    if len(split) > rank:
        raise _error(op, f"splits {len(split)} dimensions of a tensor of {rank}")
    numbers = [number for axes in split for number in axes]
    if len(set(numbers)) < len(numbers) or any(not 0 <= n < len(mesh.axes) for n in numbers):
        fact = f"splits along grid axes {numbers}: expected each of 0 to {len(mesh.axes) - 1} at most once"
        raise _error(op, fact)
    axes = [tuple(AxisRef(mesh.axes[number].name) for number in axes) for axes in split]
    axes += [()] * (rank - len(split))
    return TensorSharding(name, tuple(DimensionSharding(part, is_closed=True) for part in axes))


def _error(op: Operation, fact: str) -> ShardyError:
    return error_at(op, ShardyError(fact))


def _integers(attribute: Attribute) -> tuple[int, ...]:
    return tuple(plain(attribute))


def _name_of(attribute: Attribute) -> str:
    given: Any = attribute
    return given.data if isinstance(attribute, builtin.StringAttr) else given.root_reference.data


IDENTITIES = (sdy.AllReduceOp.name, sdy.PropagationBarrierOp.name)
"""Ops whose result is their operand, with the same sharding."""

RESHARDS = tuple(
    op.name
    for op in sdy.Sdy.operations
    if op.has_trait(ShardingProperty) and op not in (sdy.AllReduceOp, sdy.DataFlowEdgeOp)
)
"""Ops whose result is their operand with another sharding, held in a property."""


def replace_constant(op: sdy.ConstantOp) -> Operation:
    """Replaces an `sdy.constant` by the equal `stablehlo.constant`."""
    types = [result.type for result in op.results]
    properties, attributes = dict(op.properties), dict(op.attributes)
    constant = ir.build_operation(op_class("constant"), (), types, properties, attributes, op.location)
    replace_op(op, constant)
    return constant


def convert_sdy_to_shard(module: builtin.ModuleOp) -> None:
    """`convert-sdy-to-shard`: converts meshes and shardings of sdy to annotations of MLIR's `shard` dialect.

    For propagated programs: `shard` has no open dimensions, so all dimensions are converted as closed ones. A
    value is annotated where it is defined; constraints, reshards, collectives and results of functions
    annotate uses.

    before  sdy.mesh @mesh = <["x"=2, "y"=4]>
        %1 = sdy.reshard %0 <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
    after   shard.grid @mesh(shape = 2x4) {sdy.axis_names = ["x", "y"]}
        %s = shard.sharding @mesh split_axes = [[0], []] : !shard.sharding
        %1 = shard.shard %0 to %s annotate_for_users : tensor<8x16xf32>

    Sub-axes, unreduced axes, single-device shardings and meshes with an order of devices are not
    representable and rejected, as are manual computations and groups. The inverse: `convert-shard-to-sdy`.
    """
    meshes = meshes_of(module)
    for function in functions_of(module):
        for inner in list(ir.walk_pre_order(function, include_root=False)):
            _convert_op(inner, meshes)
        _convert_border(function, meshes)
    remove_attributes(module, {SHARDING, RULE})
    for mesh in ir.find_ops(module, sdy.MeshOp.name):
        if isinstance(mesh, sdy.MeshOp) and mesh.mesh.data.axes and not mesh.mesh.data.device_ids:
            replace_op(mesh, _grid(mesh))
        else:
            ir.erase(mesh)


def _convert_op(op: Operation, meshes: Mapping[str, Mesh]) -> None:
    given = op.properties.get(sharding_property(op) or "")
    if op.name in RESHARDS and isinstance(given, sdy.TensorShardingAttr):
        sharding = _sharding_op(op, given.data, meshes)
        if sharding is None:
            replace_by_values(op, op.operands)
        else:
            ir.place_before(sharding, op)
            replace_op(op, _shard_op(op.operands[0], sharding, is_for_users=True))
        return
    if op.name in IDENTITIES:
        replace_by_values(op, op.operands)
        return
    if isinstance(op, sdy.ConstantOp):
        op = replace_constant(op)
    if op.name.startswith("sdy."):
        raise _error(op, "is not representable in the dialect shard")
    shardings = op.attributes.get(SHARDING)
    if isinstance(shardings, sdy.TensorShardingPerValueAttr):
        if not op.results:
            # There is no value to annotate, but unsupported shardings are rejected.
            _sharding_op(op, shardings.data[0], meshes)
        for result, sharding in zip(op.results, shardings.data, strict=False):
            _annotate(op, result, sharding, meshes)


def _annotate(op: Operation, value: SSAValue, sharding: TensorSharding, meshes: Mapping[str, Mesh]) -> None:
    """Inserts an annotation after `op`, which defines `value`; open shardings without axes need none."""
    if sharding.has_no_axes and not any(dimension.is_closed for dimension in sharding.dimensions):
        return
    made = _sharding_op(op, sharding, meshes)
    if made is None:
        return
    shard = _shard_op(value, made, is_for_users=False)
    ir.place_after(made, op)
    ir.place_after(shard, made)
    ir.replace_uses(value, shard.results[0], but_not_in=shard)


def _convert_border(function: Operation, meshes: Mapping[str, Mesh]) -> None:
    """Annotates the arguments at the start of the body and the returned values at its end."""
    block = function.regions[0].first_block
    last = ir.terminator_of(function.regions[0])
    if block is None or last is None:
        return
    results = attribute_list_shardings(function.properties.get("res_attrs"))
    for index, sharding in enumerate(results):
        made = _sharding_op(function, sharding, meshes) if sharding is not None else None
        if made is not None:
            shard = _shard_op(last.operands[index], made, is_for_users=True)
            ir.place_before(made, last)
            ir.place_before(shard, last)
            ir.replace_operand(last, index, shard.results[0])
    arguments = attribute_list_shardings(function.properties.get("arg_attrs"))
    for argument, sharding in reversed(list(zip(block.args, arguments, strict=False))):
        made = _sharding_op(function, sharding, meshes) if sharding is not None else None
        if made is not None:
            shard = _shard_op(argument, made, is_for_users=False)
            ir.place_at_start(shard, block)
            ir.place_at_start(made, block)
            ir.replace_uses(argument, shard.results[0], but_not_in=shard)


def _sharding_op(op: Operation, sharding: TensorSharding, meshes: Mapping[str, Mesh]) -> Operation | None:
    """The op that defines a sharding; None for a sharding on a mesh without axes."""
    if not isinstance(sharding.mesh, str):
        raise _error(op, f"has an inlined mesh in {sharding}; run sdy-lift-inlined-meshes first")
    if sharding.mesh not in meshes:
        raise _error(op, f"unknown mesh: @{sharding.mesh}")
    mesh = meshes[sharding.mesh]
    if mesh.device_ids:
        fact = f"has a sharding on {mesh}: expected a mesh with axes and without an order of devices"
        raise _error(op, fact)
    if not mesh.axes:
        return None
    axes = [axis for dimension in sharding.dimensions for axis in dimension.axes]
    if sharding.unreduced_axes or any(axis.sub_axis for axis in axes):
        fact = f"has {sharding}; sub-axes and unreduced axes are not representable in the dialect shard"
        raise _error(op, fact)
    split = [_array(builtin.i16, [mesh.order[axis.name] for axis in d.axes]) for d in sharding.dimensions]
    properties: dict[str, Attribute] = {
        "grid": builtin.SymbolRefAttr(sharding.mesh),
        "split_axes": ShardAxesArrayAttr(builtin.ArrayAttr(split)),
        "static_sharded_dims_offsets": _array(builtin.i64, []),
        "static_halo_sizes": _array(builtin.i64, []),
        "operandSegmentSizes": _array(builtin.i32, [0, 0]),
    }
    return ir.build_operation(ShardingOp, (), (ShardingType(),), properties, {}, op.location)


def _shard_op(value: SSAValue, sharding: Operation, *, is_for_users: bool) -> Operation:
    properties: dict[str, Attribute] = {"annotate_for_users": builtin.UnitAttr()} if is_for_users else {}
    operands = (value, sharding.results[0])
    return ir.build_operation(ShardOp, operands, (value.type,), properties, {}, sharding.location)


def _grid(op: sdy.MeshOp) -> Operation:
    mesh = op.mesh.data
    properties: dict[str, Attribute] = {
        "sym_name": op.sym_name,
        "shape": _array(builtin.i64, [axis.size for axis in mesh.axes]),
    }
    names: dict[str, Attribute] = {
        AXIS_NAMES: builtin.ArrayAttr([builtin.StringAttr(axis.name) for axis in mesh.axes])
    }
    return ir.build_operation(GridOp, (), (), properties, names, op.location)


def _array(type_: Any, values: list[int]) -> builtin.DenseArrayBase[Any]:
    return builtin.DenseArrayBase(type_, builtin.BytesAttr(type_.pack(values)))
