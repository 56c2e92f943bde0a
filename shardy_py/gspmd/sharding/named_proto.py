"""Shardings by mesh and axes to and from XLA's `NamedShardingProto` (xla/xla_data.proto).

Not here: the message around it (`proto.py`), the wire format (`wire.py`).

>>> from shardy_py.sharding import DimensionSharding
>>> x = DimensionSharding((AxisRef("x"),), is_closed=True)
>>> encode(named_fields(NamedHloSharding(TensorSharding(Mesh.of(x=4), (x,))))).hex()
'12070a050a017810041a040a001001'
"""

from __future__ import annotations

from shardy_py.errors import ShardyError
from shardy_py.gspmd.sharding.named import REDUCTIONS, NamedHloSharding, checked_mesh
from shardy_py.gspmd.sharding.tile_assignment import TileAssignment
from shardy_py.gspmd.sharding.wire import Message, Value, decode, encode
from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding

MESH, DIM_SHARDINGS, REPLICATED_AXES, UNREDUCED_AXES, NAMED_METADATA, MANUAL_AXES = 2, 3, 4, 5, 6, 7
REDUCTION_OP = 8
MESH_AXES, MESH_DEVICE_IDS, MESH_IOTA = 1, 2, 3
IOTA_RESHAPE_DIMS, IOTA_TRANSPOSE_PERM = 1, 2
AXIS_NAME, AXIS_SIZE = 1, 2
DIMENSION_AXES, DIMENSION_IS_CLOSED = 1, 2
MESH_AXIS_INDEX, SUB_AXIS_INFO = 1, 2
PRE_SIZE, SUB_AXIS_SIZE = 1, 2


def named_fields(named: NamedHloSharding) -> list[tuple[int, Value]]:
    """The fields of the message."""
    mesh, sharding = named.mesh, named.sharding
    groups = (
        (REPLICATED_AXES, sharding.replicated_axes),
        (UNREDUCED_AXES, sharding.unreduced_axes),
        (MANUAL_AXES, named.manual_axes),
    )
    return [
        (MESH, _encode_mesh(mesh)),
        *((DIM_SHARDINGS, _encode_dimension(dimension, mesh)) for dimension in sharding.dimensions),
        *((number, _encode_axis(axis, mesh)) for number, axes in groups for axis in axes),
        (REDUCTION_OP, REDUCTIONS.index(sharding.reduction)),
    ]


def decode_named(message: Message) -> NamedHloSharding:
    """The sharding of the message.

    Raises:
        ShardyError: the message is inconsistent.
    """
    reduction = message.integer(REDUCTION_OP)
    if reduction not in range(len(REDUCTIONS)):
        raise ShardyError.unexpected(
            "reduction_op", expected=f"0 to {len(REDUCTIONS) - 1}", got=str(reduction)
        )
    meshes = message.messages(MESH)
    mesh = _decode_mesh(decode(meshes[-1])) if meshes else Mesh()
    dimensions = tuple(_decode_dimension(decode(data), mesh) for data in message.messages(DIM_SHARDINGS))
    replicated, unreduced, manual = (
        tuple(_decode_axis(decode(data), mesh) for data in message.messages(group))
        for group in (REPLICATED_AXES, UNREDUCED_AXES, MANUAL_AXES)
    )
    sharding = TensorSharding(mesh, dimensions, replicated, unreduced, REDUCTIONS[reduction])
    return NamedHloSharding(sharding, manual).checked()


def _encode_mesh(mesh: Mesh) -> bytes:
    listed: Value = mesh.device_ids
    order: list[tuple[int, Value]] = []
    if listed and not mesh.is_maximal:
        iota = TileAssignment((mesh.device_count,), listed).as_iota()
        if iota is not None:
            order = [(IOTA_RESHAPE_DIMS, iota.reshape_dims), (IOTA_TRANSPOSE_PERM, iota.transpose_perm)]
            listed = ()
    axes = (encode([(AXIS_NAME, axis.name), (AXIS_SIZE, axis.size)]) for axis in mesh.axes)
    iotas = [(MESH_IOTA, encode(order))] if order else []
    return encode([*((MESH_AXES, axis) for axis in axes), (MESH_DEVICE_IDS, listed), *iotas])


def _decode_mesh(message: Message) -> Mesh:
    axes: list[tuple[str, int]] = []
    for axis in map(decode, message.messages(MESH_AXES)):
        names = axis.messages(AXIS_NAME)
        axes.append((names[-1].decode() if names else "", axis.integer(AXIS_SIZE)))
    iotas = message.messages(MESH_IOTA)
    order = decode(iotas[-1]) if iotas else None
    if order is None:
        return checked_mesh(axes, message.integers(MESH_DEVICE_IDS))
    return checked_mesh(axes, (), order.integers(IOTA_RESHAPE_DIMS), order.integers(IOTA_TRANSPOSE_PERM))


def _encode_dimension(dimension: DimensionSharding, mesh: Mesh) -> bytes:
    axes = ((DIMENSION_AXES, _encode_axis(axis, mesh)) for axis in dimension.axes)
    return encode([*axes, (DIMENSION_IS_CLOSED, int(dimension.is_closed))])


def _decode_dimension(message: Message, mesh: Mesh) -> DimensionSharding:
    axes = tuple(_decode_axis(decode(data), mesh) for data in message.messages(DIMENSION_AXES))
    return DimensionSharding(axes, is_closed=bool(message.integer(DIMENSION_IS_CLOSED)))


def _encode_axis(axis: AxisRef, mesh: Mesh) -> bytes:
    fields: list[tuple[int, Value]] = [(MESH_AXIS_INDEX, mesh.order[axis.name])]
    if axis.sub_axis:
        part = encode([(PRE_SIZE, axis.sub_axis.pre_size), (SUB_AXIS_SIZE, axis.sub_axis.size)])
        fields.append((SUB_AXIS_INFO, part))
    return encode(fields)


def _decode_axis(message: Message, mesh: Mesh) -> AxisRef:
    index = message.integer(MESH_AXIS_INDEX)
    if index not in range(len(mesh.axes)):
        raise ShardyError.unexpected(
            "mesh_axis_index", expected=f"an index below {len(mesh.axes)}", got=str(index)
        )
    name = mesh.axes[index].name
    parts = [decode(part) for part in message.messages(SUB_AXIS_INFO)]
    if not parts:
        return AxisRef(name)
    return AxisRef(name, SubAxis(parts[-1].integer(PRE_SIZE), parts[-1].integer(SUB_AXIS_SIZE)))
