"""Shardings by mesh and axes to and from XLA's `NamedShardingProto` (xla/xla_data.proto).

Not here: the message around it (`proto.py`), the wire format (`wire.py`).

>>> from shardy_py.gspmd.sharding.text_cursor import TextCursor
>>> from shardy_py.gspmd.sharding.named_text import read_named
>>> encode(named_to_fields(read_named(TextCursor("mesh['x'=4], [{'x'}]", "sharding")))).hex()
'12070a050a017810041a040a001001'
"""

from __future__ import annotations

from math import prod

from shardy_py.errors import ShardyError
from shardy_py.gspmd.sharding.named import NamedHloSharding, check_named
from shardy_py.gspmd.sharding.tile_assignment import TileAssignment
from shardy_py.gspmd.sharding.wire import Field, decode, encode, packed, unpack
from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.mesh import Mesh, MeshAxis
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding

MESH, DIM_SHARDINGS, REPLICATED_AXES, UNREDUCED_AXES, NAMED_METADATA, MANUAL_AXES = 2, 3, 4, 5, 6, 7
REDUCTION_OP = 8
REDUCTIONS = ("sum", "max", "min")
"""The reductions, by their numbers in the proto."""
MESH_AXES, MESH_DEVICE_IDS, MESH_IOTA = 1, 2, 3
IOTA_RESHAPE_DIMS, IOTA_TRANSPOSE_PERM = 1, 2
AXIS_NAME, AXIS_SIZE = 1, 2
DIMENSION_AXES, DIMENSION_IS_CLOSED = 1, 2
MESH_AXIS_INDEX, SUB_AXIS_INFO = 1, 2
PRE_SIZE, SUB_AXIS_SIZE = 1, 2


def named_to_fields(named: NamedHloSharding) -> list[Field]:
    """The fields of the message, in the order of their numbers."""
    mesh, sharding = named.mesh, named.sharding
    fields: list[Field] = [(MESH, _mesh_to_proto(mesh))]
    for dimension in sharding.dimensions:
        inner: list[Field] = [(DIMENSION_AXES, _axis_to_proto(axis, mesh)) for axis in dimension.axes]
        fields.append((DIM_SHARDINGS, encode([*inner, *([(DIMENSION_IS_CLOSED, 1)] * dimension.is_closed)])))
    groups = (
        (REPLICATED_AXES, sharding.replicated_axes),
        (UNREDUCED_AXES, sharding.unreduced_axes),
        (MANUAL_AXES, named.manual_axes),
    )
    fields += [(number, _axis_to_proto(axis, mesh)) for number, axes in groups for axis in axes]
    if reduction := REDUCTIONS.index(sharding.reduction):
        fields.append((REDUCTION_OP, reduction))
    return fields


def named_from_proto(data: bytes) -> tuple[NamedHloSharding, tuple[bytes, ...]]:
    """The sharding, and the messages of its metadata."""
    fields = decode(data)
    messages = [(number, value) for number, value in fields if isinstance(value, bytes)]
    reduction = dict(fields).get(REDUCTION_OP, 0)
    if reduction not in range(len(REDUCTIONS)):
        raise ShardyError(f"the sharding has reduction {reduction}; expected 0 to {len(REDUCTIONS) - 1}")
    mesh = Mesh()
    for number, value in messages:
        if number == MESH:
            mesh = _mesh_from_proto(value)
    dimensions = tuple(_dimension(value, mesh) for number, value in messages if number == DIM_SHARDINGS)
    replicated, unreduced, manual = (
        tuple(_axis_from_proto(value, mesh) for number, value in messages if number == group)
        for group in (REPLICATED_AXES, UNREDUCED_AXES, MANUAL_AXES)
    )
    sharding = TensorSharding(mesh, dimensions, replicated, unreduced, REDUCTIONS[int(reduction)])
    named = NamedHloSharding(sharding, manual)
    check_named(named)
    return named, tuple(value for number, value in messages if number == NAMED_METADATA)


def _mesh_to_proto(mesh: Mesh) -> bytes:
    fields: list[Field] = []
    for axis in mesh.axes:
        inner: list[Field] = [(AXIS_NAME, axis.name.encode()), (AXIS_SIZE, axis.size)]
        fields.append((MESH_AXES, encode(inner)))
    if mesh.device_ids:
        iota = None if mesh.is_maximal else TileAssignment((mesh.device_count,), mesh.device_ids).as_iota()
        if iota is None:
            fields.append((MESH_DEVICE_IDS, packed(mesh.device_ids)))
        else:
            order = ((IOTA_RESHAPE_DIMS, iota.reshape_dims), (IOTA_TRANSPOSE_PERM, iota.transpose_perm))
            fields.append((MESH_IOTA, encode((number, packed(values)) for number, values in order)))
    return encode(fields)


def _mesh_from_proto(data: bytes) -> Mesh:
    axes: list[MeshAxis] = []
    ids: tuple[int, ...] = ()
    iota: dict[int, tuple[int, ...]] = {}
    for number, value in decode(data):
        if number == MESH_DEVICE_IDS:
            ids += (value,) if isinstance(value, int) else unpack(value)
        elif number == MESH_AXES and isinstance(value, bytes):
            axes.append(_mesh_axis(value))
        elif number == MESH_IOTA and isinstance(value, bytes):
            iota = {n: unpack(v) for n, v in decode(value) if isinstance(v, bytes)}
    count = prod(axis.size for axis in axes)
    if iota:
        sizes, perm = iota.get(IOTA_RESHAPE_DIMS, ()), iota.get(IOTA_TRANSPOSE_PERM, ())
        if sorted(perm) != list(range(len(sizes))) or prod(sizes) != count:
            raise ShardyError(f"the mesh orders {count} devices by {list(perm)} of {list(sizes)}")
        ids = TileAssignment.iota((count,), sizes, perm).devices
    if axes and ids and sorted(ids) != list(range(count)):
        raise ShardyError(f"the mesh lists devices {list(ids)}; expected each of 0 to {count - 1} once")
    return Mesh(tuple(axes), () if axes and ids == tuple(range(count)) else ids)


def _mesh_axis(data: bytes) -> MeshAxis:
    fields = dict(decode(data))
    name, size = fields.get(AXIS_NAME, b""), fields.get(AXIS_SIZE, 1)
    if not isinstance(name, bytes) or not isinstance(size, int) or size < 1:
        raise ShardyError("no xla.MeshProto: an axis has a name and a positive size")
    return MeshAxis(name.decode(), size)


def _dimension(data: bytes, mesh: Mesh) -> DimensionSharding:
    fields = decode(data)
    axes = (value for number, value in fields if number == DIMENSION_AXES and isinstance(value, bytes))
    is_closed = any(number == DIMENSION_IS_CLOSED and value for number, value in fields)
    return DimensionSharding(tuple(_axis_from_proto(axis, mesh) for axis in axes), is_closed)


def _axis_to_proto(axis: AxisRef, mesh: Mesh) -> bytes:
    index = mesh.order[axis.name]
    fields: list[Field] = [(MESH_AXIS_INDEX, index)] if index else []
    if axis.sub_axis:
        inner: list[Field] = [(PRE_SIZE, axis.sub_axis.pre_size), (SUB_AXIS_SIZE, axis.sub_axis.size)]
        fields.append((SUB_AXIS_INFO, encode(inner)))
    return encode(fields)


def _axis_from_proto(data: bytes, mesh: Mesh) -> AxisRef:
    fields = dict(decode(data))
    index = fields.get(MESH_AXIS_INDEX, 0)
    if not isinstance(index, int) or index >= len(mesh.axes):
        raise ShardyError(f"the sharding uses axis {index} of a mesh of {len(mesh.axes)} axes")
    part = fields.get(SUB_AXIS_INFO)
    if not isinstance(part, bytes):
        return AxisRef(mesh.axes[index].name)
    inner = {number: value for number, value in decode(part) if isinstance(value, int)}
    return AxisRef(mesh.axes[index].name, SubAxis(inner.get(PRE_SIZE, 0), inner.get(SUB_AXIS_SIZE, 0)))
