"""Inserts the id of the device that runs the program, and its position along axes of a mesh.

Either by arithmetic on the id, or by a table with an entry for each device, as Shardy prints it. Arrays for
all devices are in `reshard/device_groups.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, i32, i64
from xdsl.ir import Attribute

from shardy_py.base.deferred import np
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir import ir
from shardy_py.mlir.dialects.encoding import table as table_attribute
from shardy_py.mlir.dialects.stablehlo import OPS
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.reshard.device_groups import digits, shard_indices, table_indices
from shardy_py.sharding import Mesh
from shardy_py.sharding.axis_lists import Axes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UI32 = IntegerType(32, Signedness.UNSIGNED)


@dataclass(frozen=True, slots=True)
class DeviceCounts:
    """The grid of processes that are the devices of a mesh: device = replica * partitions + partition.

    is_narrow: positions are `i32`, tables are looked up by the id as it is, and ops among replicas have no
        channel, as in Shardy since JAX 0.12.
    """

    replicas: int = 1
    partitions: int = 1
    is_narrow: bool = False

    @property
    def integer(self) -> IntegerType:
        """The type of positions."""
        return i32 if self.is_narrow else i64

    @property
    def has_channels(self) -> bool:
        """True if ops between devices have channels."""
        return not self.is_narrow or self.replicas == 1

    @property
    def is_grid(self) -> bool:
        """True if there are several of both."""
        return self.replicas > 1 and self.partitions > 1

    def check_any(self, meshes: Iterable[Mesh]) -> None:
        """Raises ShardyError if a count is below 1, or if no mesh has as many devices as are given."""
        for name, number in (("replica-count", self.replicas), ("partition-count", self.partitions)):
            if number < 1:
                raise ShardyError.unexpected(name, expected="1 or more", got=str(number))
        devices = self.replicas * self.partitions
        sizes = sorted({mesh.device_count for mesh in meshes if mesh.axes})
        if devices > 1 and sizes and devices not in sizes:
            name = "partition-count" if self.replicas == 1 else "replica-count"
            what = "replica-count times partition-count" if self.is_grid else name
            expected = f"the devices of the mesh, {' or '.join(map(str, sizes))}, or 1 for any"
            raise ShardyError.unexpected(what, expected=expected, got=str(devices))

    def check(self, mesh: Mesh) -> None:
        """Raises ShardyError if it is a grid of another number of devices than `mesh`."""
        devices = self.replicas * self.partitions
        if self.is_grid and mesh.axes and mesh.device_count != devices:
            raise ShardyError.unexpected(
                "mesh",
                expected=f"{devices} devices: {self.replicas} replicas of {self.partitions} partitions",
                got=f"{mesh.device_count} devices",
                remedy="set replica-count or partition-count to 1",
            )


def device_id(build: StablehloBuilder, counts: DeviceCounts) -> Value:
    """The id of the device that runs the op: a scalar of the type of positions."""
    if not counts.is_grid:
        return build.convert(plain_id(build, counts), counts.integer)
    names = ("replica_id", "partition_id")
    replica, partition = (build.convert(_id(build, name), counts.integer) for name in names)
    first = build.binary("multiply", replica, build.integer(counts.partitions, counts.integer))
    return build.binary("add", first, partition)


def plain_id(build: StablehloBuilder, counts: DeviceCounts) -> Value:
    """The id of the device as StableHLO has it: a scalar of `ui32`, unless several counts are above 1."""
    if counts.is_grid:
        return device_id(build, counts)
    return _id(build, "replica_id" if counts.replicas > 1 else "partition_id")


def is_device(build: StablehloBuilder, counts: DeviceCounts, device: int) -> Value:
    """True if it is this device that runs the op: a scalar of `i1`."""
    if counts.is_narrow and not counts.is_grid:
        return build.compare("EQ", plain_id(build, counts), build.integer(device, _UI32))
    return build.compare("EQ", device_id(build, counts), build.integer(device, counts.integer))


def id_for_tables(build: StablehloBuilder, counts: DeviceCounts) -> Value:
    """The id of the device by which tables are looked up."""
    return plain_id(build, counts) if counts.is_narrow else device_id(build, counts)


def _id(build: StablehloBuilder, name: str) -> Value:
    return build.one(name, (), ranked_tensor((), _UI32))


def shard_index(build: StablehloBuilder, mesh: Mesh, axes: Axes, counts: DeviceCounts, table: bool) -> Value:
    """The position of the device along `axes`, major to minor: a scalar of the type of positions.

    table: look it up by device id. Else it is computed, unless the mesh has an order of devices of its own
    that is not a transposed or reversed one.

    Raises ShardyError as `DeviceCounts.check` and `device_groups.shard_indices`.
    """
    return shard_offset(build, mesh, axes, 1, counts, table=table)


def shard_offset(
    build: StablehloBuilder, mesh: Mesh, axes: Axes, step: int, counts: DeviceCounts, *, table: bool
) -> Value:
    """`shard_index` times `step`."""
    counts.check(mesh)
    parts = None if table else digits(mesh, axes)
    if parts is None:
        indices = table_indices(mesh, axes) if table else shard_indices(mesh, axes)
        return table_entry(build, indices * step, counts)
    integer = partial(build.integer, element=counts.integer)
    if not parts:
        return integer(0)
    device = device_id(build, counts)
    index: Value | None = None
    for part in parts:
        digit = device
        if part.stride > 1:
            digit = build.binary("divide", digit, integer(part.stride))
        if not part.is_leading:
            digit = build.binary("remainder", digit, integer(part.size))
        if part.reversed:
            digit = build.binary("subtract", integer(part.size - 1), digit)
        if index is not None:
            scaled = build.binary("multiply", index, integer(part.size))
            digit = build.binary("add", scaled, digit)
        index = digit
    assert index is not None
    return index if step == 1 else build.binary("multiply", index, integer(step))


def table_entry(
    build: StablehloBuilder, table: NDArray[np.int64], counts: DeviceCounts, device: Value | None = None
) -> Value:
    """The entry of this device in a table by device id; `device`: its id, if inserted."""
    if device is None:
        device = id_for_tables(build, counts)
    return build.reshape(build.dynamic_slice(build.integers(table, counts.integer), [device], [1]), ())


@dataclass(frozen=True, slots=True)
class DeviceTables:
    """Attributes with rows of device ids, `dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>`.

    Equal rows are one attribute, which is verified and printed once: it may have an entry for each device.
    """

    _known: dict[tuple[tuple[int, ...], bytes], Attribute] = field(
        default_factory=dict[tuple[tuple[int, ...], bytes], Attribute]
    )

    def of(self, rows: NDArray[np.int64]) -> Attribute:
        """The attribute of rows, [rows, ids]."""
        key = (rows.shape, rows.tobytes())
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = table_attribute(rows)
        return found


_CHANNELLED = tuple(
    f"stablehlo.{name}"
    for name, row in OPS.rows.items()
    if any(slot.name == "channel_handle" for slot in row.attributes)
)


def next_channel(module: ModuleOp) -> Iterator[int]:
    """Channel numbers that no op of `module` uses, ascending."""
    handles = (op.properties.get("channel_handle") for op in ir.find_ops(module, *_CHANNELLED))
    used = (cast(Any, handle).data.handle for handle in handles if handle is not None)
    return count(max(used, default=0) + 1)
