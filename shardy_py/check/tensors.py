"""Properties of values that the lint rules use: size, shards, how the sharding was decided.

Not here: the rules (`rules.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import BlockArgument

from shardy_py.api import Result, Sharding, Value
from shardy_py.base.session import SESSION
from shardy_py.hardware.tensor_bytes import tensor_size
from shardy_py.mlir.dialects.sdy import ReshardOp, ShardingConstraintOp
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.plain import tensor_type
from shardy_py.ops import TensorType
from shardy_py.report.surroundings import is_manual, manual_computations_around
from shardy_py.sharding import AxisRef, MeshAxis


def global_bytes(value: Value) -> int:
    """Returns the bytes of the global tensor; 0 for a dynamic size and for tokens."""
    type_ = tensor_type(value.entry.type)
    return 0 if type_ is None else _global_bytes(type_)


@SESSION.cache(1024)
def _global_bytes(type_: TensorType) -> int:
    return tensor_size(type_, None, {}, "linear").bytes.global_bytes


def used_axes(sharding: Sharding) -> Iterator[AxisRef]:
    """Returns the axes that shard a value, or along which it is unreduced."""
    yield from sharding.unreduced_axes
    for dimension in sharding.dimensions:
        yield from dimension.axes


def is_partitioned(value: Value) -> bool:
    """Returns whether devices hold different shards or terms of the value, or one device only has it."""
    sharding = value.sharding
    if sharding is None or sharding.mesh.is_maximal:
        return sharding is not None
    return any(axis.size(sharding.mesh) > 1 for axis in used_axes(sharding))


def is_intended(result: Result, value: Value) -> bool:
    """Returns whether the program itself states the sharding of the value."""
    if value.role == "intermediate":
        op = value.entry.op
        return isinstance(op, ReshardOp | ShardingConstraintOp) or is_manual(op)
    source = result.source.values.counterpart(value)
    given = None if source is None else source.sharding
    return given is not None and bool(given.replicated_axes or any(d.is_closed for d in given.dimensions))


def best_place(value: Value) -> tuple[int, str] | None:
    """Returns the largest dimension, and the largest axis that may shard it; None if there is none."""
    shape = [size or 0 for size in value.shape or ()]
    axes = _free_axes(value)
    if not shape or not axes:
        return None
    return shape.index(max(shape)), max(axes, key=lambda axis: axis.size).name


def is_forwarded(value: Value) -> bool:
    """Returns whether the value is a block argument: the value it stands for is checked itself."""
    entry = value.entry
    return entry.role == "intermediate" and isinstance(entry.value, BlockArgument)


def relates_dimensions(value: Value) -> bool:
    """Returns whether the op of a value has operands and results with dimensions that could be sharded."""
    op = value.entry.op
    ranks = [
        [type_.rank for v in values if (type_ := tensor_type(v.type))] for values in (op.operands, op.results)
    ]
    return all(map(any, ranks)) and bool(_free_axes(value))


def _free_axes(value: Value) -> list[MeshAxis]:
    """Returns the axes of several devices that are not manual around the value."""
    ssa = value.entry.value
    inside = ssa.owner if isinstance(ssa, BlockArgument) else value.entry.op.parent
    around = manual_computations_around(None if inside is None or ssa is None else inside.parent_op())
    manual = {axis for op in around for axis in manual_axes(op)}
    meshes = [value.sharding.mesh] if value.sharding is not None else list(value.meshes.values())
    return [axis for mesh in meshes for axis in mesh.axes if axis.size > 1 and axis.name not in manual]
