"""State shared by the conversions of single ops to local ones: sites, offsets, replica groups, channels.

Not here: the pass (`global_to_local.py`), the conversions (`local_collectives.py`, `local_ops.py`,
`local_indexed.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, SymbolRefAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.localize.device_ids import (
    DeviceCounts,
    DeviceTables,
    id_for_tables,
    next_channel,
    shard_offset,
)
from shardy_py.mlir import ir
from shardy_py.mlir.dialects.stablehlo import attributes, structs
from shardy_py.mlir.dialects.stablehlo.structs import ChannelHandle
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.passes.import_.meshes import inlined_mesh
from shardy_py.passes.options import ConvertGlobalToLocalOptions
from shardy_py.reshard.device_groups import replica_groups, table_indices
from shardy_py.sharding import Axes, Mesh, SubAxis, TensorSharding
from shardy_py.sharding.axis_lists import append_axes, total_size

LARGE_MESH = 100
"""Replica groups of larger meshes are axes: MLIR prints longer lists of devices as hexadecimal digits."""


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A value in the whole program: its type there, and the sharding with which it became local, if any."""

    type: Attribute
    sharding: TensorSharding | None = None
    mesh: Mesh = field(default_factory=Mesh)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sizes, None for dynamic ones; () unless it is a tensor."""
        tensor = tensor_type(self.type)
        return () if tensor is None else tensor.shape

    def axes(self, dimension: int) -> Axes:
        """The axes that shard a dimension."""
        return () if self.sharding is None else self.sharding.dimensions[dimension].axes

    def parts(self, dimension: int) -> int:
        """The number of parts of a dimension."""
        return total_size(self.axes(dimension), self.mesh)

    @property
    def sharded(self) -> list[int]:
        """The dimensions of several parts."""
        return [dim for dim in range(len(self.shape)) if self.parts(dim) > 1]


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """An op with its operands and results in the whole program; the types of the op itself are local."""

    op: Operation
    operands: Sequence[Whole]
    results: Sequence[Whole]

    @property
    def values(self) -> tuple[SSAValue, ...]:
        """The local operands."""
        return ir.operands_of(self.op)

    @property
    def is_whole(self) -> bool:
        """True if no operand and no result is sharded."""
        return not any(whole.sharded for whole in (*self.operands, *self.results))


class Localizer:
    """Inserts what local ops need, with the options of the pass."""

    def __init__(self, module: ModuleOp, options: ConvertGlobalToLocalOptions) -> None:
        self.options = options
        self.symbols = Symbols(module)
        self.meshes: Mapping[str, Mesh] = self.symbols.meshes()
        is_narrow = Behaviour.POSITIONS_ARE_NARROW.holds and not options.device_id_arithmetic
        self.counts = DeviceCounts(options.replica_count, options.partition_count, is_narrow)
        self.counts.check_any(self.meshes.values())
        self.tables = DeviceTables()
        self._channels = next_channel(module)

    # ------------------------------------------------------------------ positions

    def offset(self, build: StablehloBuilder, mesh: Mesh, axes: Axes, step: int) -> Value:
        """The position of the device along `axes`, times `step`: a scalar of the type of positions."""
        table = not self.options.device_id_arithmetic
        return shard_offset(build, mesh, axes, step, self.counts, table=table)

    def position(self, build: StablehloBuilder, number: int) -> Value:
        """A constant of the type of positions."""
        return build.integer(number, self.counts.integer)

    def is_first(self, build: StablehloBuilder, mesh: Mesh, axes: Axes) -> Value:
        """True if the device is the first one along `axes`: a scalar of `i1`."""
        if self.counts.is_narrow:
            return build.reshape(self.is_first_by_table(build, mesh, axes), ())
        return build.compare("EQ", self.offset(build, mesh, axes, 1), self.position(build, 0))

    def is_first_by_table(self, build: StablehloBuilder, mesh: Mesh, axes: Axes) -> Value:
        """As `is_first`, looked up by device id: a tensor of one element."""
        table = table_indices(mesh, axes) == 0
        device = id_for_tables(build, self.counts)
        flags = build.dense(ranked_tensor(table.shape, i1), table.tobytes())
        return build.dynamic_slice(flags, [device], [1])

    def slice_along(
        self, build: StablehloBuilder, value: Value, mesh: Mesh, axes: Sequence[Axes], sizes: Sequence[int]
    ) -> Value:
        """The part of `value` on this device; dimensions are sharded along `axes`, into parts of `sizes`."""
        starts = [
            self.offset(build, mesh, along, size) if along else self.position(build, 0)
            for along, size in zip(axes, sizes, strict=True)
        ]
        return build.dynamic_slice(value, starts, sizes)

    # ------------------------------------------------------------------ collectives

    def channel(self) -> ChannelHandle:
        """A new channel between devices."""
        return ChannelHandle(next(self._channels), 1)

    @property
    def partition_channel(self) -> ChannelHandle | None:
        """A new channel between partitions; None if replicas communicate, which do so without one.

        For collectives without global ids, which exchange among partitions if they have a channel.
        """
        return None if self.counts.replicas > 1 else self.channel()

    def groups(self, sharding: TensorSharding, mesh: Mesh, axes: Axes) -> Attribute:
        """Replica groups along `axes`: by devices, or by axes where the options say so."""
        self.counts.check(mesh)
        has_sub_axes = any(axis.sub_axis for axis in axes) and not Behaviour.GROUPS_ARE_AXES.holds
        is_large = self.options.device_id_arithmetic and mesh.device_count > LARGE_MESH
        if is_large or (self.options.enable_rgv3 and not has_sub_axes):
            return groups_by_axes(sharding.mesh, append_axes((), axes, mesh))
        return self.tables.of(replica_groups(mesh, axes))


def groups_by_axes(mesh: str | Mesh, axes: Axes) -> Attribute:
    """Replica groups as axes of a mesh."""
    reference = SymbolRefAttr(mesh) if isinstance(mesh, str) else inlined_mesh(mesh)
    refs = [
        attributes.AxisRefAttr(structs.StablehloAxisRef(axis.name, _sub_axis(axis.sub_axis))) for axis in axes
    ]
    return attributes.ReplicaGroupMeshAxesAttr(structs.ReplicaGroupMeshAxes(reference, ArrayAttr(refs)))


def _sub_axis(part: SubAxis | None) -> structs.SubAxisInfo | None:
    return None if part is None else structs.SubAxisInfo(part.pre_size, part.size)


# ---------------------------------------------------------------------- changing ops


def forget_sharding(op: Operation) -> None:
    """Removes `sdy.sharding`, as Shardy does from ops that it builds anew."""
    op.attributes.pop(SHARDING, None)


def replace_result(op: Operation, value: SSAValue) -> None:
    """Replaces the one result of `op` by `value` and erases the op."""
    replace_by_values(op, (value,))


def renewed(op: Operation) -> Operation:
    """A new op like `op`, before it and with its regions; the results of `op` stay, to be replaced.

    For ops on whose results others compute what stands for them: the new results stand for nothing whole.
    """
    regions = [op.detach_region(0) for _ in op.regions]
    types = [ir.type_of(result) for result in op.results]
    properties, attributes = dict(op.properties), dict(op.attributes)
    made = ir.build_operation(
        type(op), ir.operands_of(op), types, properties, attributes, op.location, None, regions
    )
    ir.place_before(made, op)
    return made


def not_local(fact: str, remedy: str) -> ShardyError:
    """The error about an op that no device can run on its parts alone."""
    return ShardyError.unsupported(fact, remedy=remedy)
