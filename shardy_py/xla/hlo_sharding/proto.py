"""Shardings to and from XLA's `OpSharding` protocol buffers (xla/xla_data.proto), V1, V2 and V3.

The package `protobuf` is not used: it needs classes generated from XLA's `.proto` files, which no light
package ships. Not here: text (`text.py`), the wire format (`shardy_py/base/wire.py`).

>>> data = hlo_sharding_to_proto(HloSharding(tile_assignment=TileAssignment.iota((2, 4))))
>>> data.hex(), str(hlo_sharding_from_proto(data))
('08031a0202044a0108520100', '{devices=[2,4]<=[8]}')
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from shardy_py.base.errors import ShardyError
from shardy_py.base.packed import unpacked
from shardy_py.base.records import dataclass
from shardy_py.base.terminal import utf8
from shardy_py.base.wire import BYTES, VARINT, bytes_field, fields_of, integer_field, packed
from shardy_py.ops import REDUCTIONS
from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding
from shardy_py.xla.hlo_sharding.hlo_sharding import (
    SUBGROUP_TYPES,
    HloSharding,
    HloShardingType,
    Metadata,
    NamedHloSharding,
    ShardGroup,
    checked_mesh,
)
from shardy_py.xla.hlo_sharding.tile_assignment import TileAssignment

Value = int | bytes | str | Sequence[int]

_NAME = "xla.OpSharding"


@dataclass(frozen=True, slots=True)
class Message:
    """The fields of a message, in the order of its bytes; other kinds than asked for are ignored."""

    fields: tuple[tuple[int, int | bytes], ...]

    def integer(self, number: int) -> int:
        """The last integer in a field; 0, the default of protocol buffers, if there is none."""
        return next((v for n, v in reversed(self.fields) if n == number and isinstance(v, int)), 0)

    def messages(self, number: int) -> list[bytes]:
        """The messages or strings of a repeated field."""
        return [value for n, value in self.fields if n == number and isinstance(value, bytes)]

    def last(self, number: int) -> Message:
        """The last message of a field; one without fields if there is none."""
        found = self.messages(number)
        return decode(found[-1]) if found else Message(())

    def integers(self, number: int) -> tuple[int, ...]:
        """The integers of a repeated field, packed or not."""
        result: list[int] = []
        for found, value in self.fields:
            if found == number:
                result += (value,) if isinstance(value, int) else unpacked(value, _NAME)
        return tuple(result)


def encode(fields: Iterable[tuple[int, Value]]) -> bytes:
    """Returns the message of `fields` in the order of their numbers.

    Sequences are packed. Default values (0, "", empty sequences) are left out; empty messages (b"") are not.
    """
    result = bytearray()
    for number, value in sorted(fields, key=lambda field: field[0]):
        if isinstance(value, int):
            result += integer_field(number, value) if value else b""
        elif value or isinstance(value, bytes):
            data = utf8(value) if isinstance(value, str) else value
            data = data if isinstance(data, bytes) else packed(data)
            result += bytes_field(number, data)
    return bytes(result)


def decode(data: bytes) -> Message:
    """Parses a message; fields of fixed size, which shardings have none of, are dropped.

    Raises:
        ShardyError: `data` is malformed.
    """
    found = ((number, value) for number, kind, value in fields_of(data, _NAME) if kind in (VARINT, BYTES))
    return Message(tuple(found))


TYPE, TILE_ASSIGNMENT_DIMENSIONS, TILE_ASSIGNMENT_DEVICES, TUPLE_SHARDINGS = 1, 3, 4, 5
REPLICATE_ON_LAST_TILE_DIM, METADATA, LAST_TILE_DIMS = 6, 7, 8
IOTA_RESHAPE_DIMS, IOTA_TRANSPOSE_PERM = 9, 10
IS_SHARD_GROUP, SHARD_GROUP_ID, SHARD_GROUP_TYPE, NAMED_SHARDING = 11, 12, 13, 14
MESH, DIM_SHARDINGS, REPLICATED_AXES, UNREDUCED_AXES, NAMED_METADATA, MANUAL_AXES = 2, 3, 4, 5, 6, 7
REDUCTION_OP = 8
MESH_AXES, MESH_DEVICE_IDS, MESH_IOTA = 1, 2, 3
MESH_IOTA_RESHAPE_DIMS, MESH_IOTA_TRANSPOSE_PERM = 1, 2
AXIS_NAME, AXIS_SIZE = 1, 2
DIMENSION_AXES, DIMENSION_IS_CLOSED = 1, 2
MESH_AXIS_INDEX, SUB_AXIS_INFO = 1, 2
PRE_SIZE, SUB_AXIS_SIZE = 1, 2
_METADATA_FIELDS = {
    1: "op_type",
    2: "op_name",
    3: "source_file",
    4: "source_line",
    12: "deduplicated_name",
    16: "scheduling_name",
    17: "source_end_line",
    18: "source_column",
    19: "source_end_column",
}
"""The fields of `OpMetadata` that are kept."""
_METADATA_NUMBERS = {name: number for number, name in _METADATA_FIELDS.items()}


def hlo_sharding_to_proto(sharding: HloSharding) -> bytes:
    """The serialized `OpSharding`, its fields in the order of their numbers."""
    metadata = [_encode_metadata(entry) for entry in sharding.encoded_metadata]
    if sharding.named is not None:
        inner = (*_named_fields(sharding.named), *((NAMED_METADATA, entry) for entry in metadata))
        return encode([(NAMED_SHARDING, encode(inner))])
    tiles, group = sharding.tile_assignment or TileAssignment(()), sharding.shard_group
    fields: list[tuple[int, Value]] = [
        (TYPE, int(sharding.type)),
        (TILE_ASSIGNMENT_DIMENSIONS, tiles.dimensions if sharding.is_tiled else ()),
        (TILE_ASSIGNMENT_DEVICES, tiles.device_list),
        (REPLICATE_ON_LAST_TILE_DIM, int(sharding.replicate_on_last_tile_dim)),
        (LAST_TILE_DIMS, sharding.subgroup_types),
        (IOTA_RESHAPE_DIMS, tiles.reshape_dims),
        (IOTA_TRANSPOSE_PERM, tiles.transpose_perm),
        (IS_SHARD_GROUP, int(group is not None)),
        (SHARD_GROUP_ID, group.id if group else 0),
        (SHARD_GROUP_TYPE, int(group is not None and not group.is_shard_as)),
    ]
    fields += [(TUPLE_SHARDINGS, hlo_sharding_to_proto(element)) for element in sharding.tuple_elements]
    fields += [(METADATA, entry) for entry in metadata]
    return encode(fields)


def hlo_sharding_from_proto(data: bytes) -> HloSharding:
    """The sharding of a serialized `OpSharding`.

    Raises:
        ShardyError: the message is malformed or inconsistent.
    """
    try:
        return _decode_sharding(decode(data))
    except UnicodeDecodeError as error:
        raise ShardyError("invalid xla.OpSharding: a string is not UTF-8") from error


def _decode_sharding(message: Message) -> HloSharding:
    for data in message.messages(NAMED_SHARDING):
        inner = decode(data)
        metadata = tuple(map(_decode_metadata, inner.messages(NAMED_METADATA)))
        return HloSharding(named=_decode_named(inner)).with_metadata(metadata)
    kind = message.integer(TYPE)
    if kind not in tuple(HloShardingType):
        expected = f"0 to {len(HloShardingType) - 1}"
        raise ShardyError.unexpected("invalid xla.OpSharding, type", expected=expected, got=str(kind))
    metadata = tuple(map(_decode_metadata, message.messages(METADATA)))
    match HloShardingType(kind):
        case HloShardingType.TUPLE:
            if metadata:
                raise ShardyError("a tuple of shardings has no metadata; its elements may have")
            sharding = HloSharding.tuple_of(map(hlo_sharding_from_proto, message.messages(TUPLE_SHARDINGS)))
        case HloShardingType.MAXIMAL:
            devices = message.integers(TILE_ASSIGNMENT_DEVICES)
            if len(devices) != 1:
                got = f"{len(devices)} devices"
                raise ShardyError.unexpected("maximal sharding", expected="one device", got=got)
            sharding = HloSharding.maximal(devices[0])
        case HloShardingType.OTHER:
            sharding = _decode_tiled(message)
        case plain:
            sharding = HloSharding(plain)
    if message.integer(IS_SHARD_GROUP):
        is_shard_as = message.integer(SHARD_GROUP_TYPE) != 1
        sharding = replace(sharding, shard_group=ShardGroup(message.integer(SHARD_GROUP_ID), is_shard_as))
    return sharding.with_metadata(metadata)


def _decode_tiled(message: Message) -> HloSharding:
    devices, sizes = message.integers(TILE_ASSIGNMENT_DEVICES), message.integers(IOTA_RESHAPE_DIMS)
    types = message.integers(LAST_TILE_DIMS)
    if bool(sizes) == bool(devices):
        got = "both" if sizes else "neither"
        raise ShardyError.unexpected("devices of a tiled sharding", expected="a list or an iota", got=got)
    if (prod(sizes) if sizes else len(devices)) == 1:
        return HloSharding(HloShardingType.REPLICATED)
    perm = message.integers(IOTA_TRANSPOSE_PERM)
    tiles = TileAssignment.checked(message.integers(TILE_ASSIGNMENT_DIMENSIONS), devices, sizes, perm)
    if any(type not in SUBGROUP_TYPES for type in types):
        known = ", ".join(f"{type.name} ({type})" for type in SUBGROUP_TYPES)
        raise ShardyError.unexpected("last_tile_dims", expected=known, got=str(list(types)))
    is_partial = bool(message.integer(REPLICATE_ON_LAST_TILE_DIM))
    return HloSharding.of_tiles(tiles, tuple(map(HloShardingType, types)), is_partial=is_partial)


def _encode_metadata(entry: Metadata) -> bytes:
    for name, _ in entry:
        if name not in _METADATA_NUMBERS:
            raise ShardyError.unknown("field of metadata", name, _METADATA_NUMBERS)
    return encode((_METADATA_NUMBERS[name], value) for name, value in entry)


def _decode_metadata(data: bytes) -> Metadata:
    kept = ((number, value) for number, value in decode(data).fields if number in _METADATA_FIELDS)
    return tuple((_METADATA_FIELDS[n], v if isinstance(v, int) else v.decode()) for n, v in kept)


def _named_fields(named: NamedHloSharding) -> list[tuple[int, Value]]:
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


def _decode_named(message: Message) -> NamedHloSharding:
    reduction = message.integer(REDUCTION_OP)
    if reduction not in range(len(REDUCTIONS)):
        expected = f"0 to {len(REDUCTIONS) - 1}"
        raise ShardyError.unexpected("reduction_op", expected=expected, got=str(reduction))
    mesh = _decode_mesh(message.last(MESH))
    dimensions = tuple(_decode_dimension(decode(data), mesh) for data in message.messages(DIM_SHARDINGS))
    groups = (REPLICATED_AXES, UNREDUCED_AXES, MANUAL_AXES)
    replicated, unreduced, manual = (_decode_axes(message, group, mesh) for group in groups)
    sharding = TensorSharding(mesh, dimensions, replicated, unreduced, REDUCTIONS[reduction])
    return NamedHloSharding(sharding, manual).checked()


def _encode_mesh(mesh: Mesh) -> bytes:
    iota = None
    if mesh.device_ids and not mesh.is_maximal:
        iota = TileAssignment((mesh.device_count,), mesh.device_ids).as_iota()
    axes = (encode([(AXIS_NAME, axis.name), (AXIS_SIZE, axis.size)]) for axis in mesh.axes)
    fields: list[tuple[int, Value]] = [(MESH_AXES, axis) for axis in axes]
    if iota is None:
        return encode([*fields, (MESH_DEVICE_IDS, mesh.device_ids)])
    order = [(MESH_IOTA_RESHAPE_DIMS, iota.reshape_dims), (MESH_IOTA_TRANSPOSE_PERM, iota.transpose_perm)]
    return encode([*fields, (MESH_IOTA, encode(order))])


def _decode_mesh(message: Message) -> Mesh:
    listed = map(decode, message.messages(MESH_AXES))
    axes = [((axis.messages(AXIS_NAME) or [b""])[-1].decode(), axis.integer(AXIS_SIZE)) for axis in listed]
    iota = message.last(MESH_IOTA)
    ids = () if message.messages(MESH_IOTA) else message.integers(MESH_DEVICE_IDS)
    sizes, perm = iota.integers(MESH_IOTA_RESHAPE_DIMS), iota.integers(MESH_IOTA_TRANSPOSE_PERM)
    return checked_mesh(axes, ids, sizes, perm)


def _encode_dimension(dimension: DimensionSharding, mesh: Mesh) -> bytes:
    axes = ((DIMENSION_AXES, _encode_axis(axis, mesh)) for axis in dimension.axes)
    return encode([*axes, (DIMENSION_IS_CLOSED, int(dimension.is_closed))])


def _decode_dimension(message: Message, mesh: Mesh) -> DimensionSharding:
    is_closed = bool(message.integer(DIMENSION_IS_CLOSED))
    return DimensionSharding(_decode_axes(message, DIMENSION_AXES, mesh), is_closed)


def _encode_axis(axis: AxisRef, mesh: Mesh) -> bytes:
    fields: list[tuple[int, Value]] = [(MESH_AXIS_INDEX, mesh.order[axis.name])]
    if axis.sub_axis:
        part = encode([(PRE_SIZE, axis.sub_axis.pre_size), (SUB_AXIS_SIZE, axis.sub_axis.size)])
        fields.append((SUB_AXIS_INFO, part))
    return encode(fields)


def _decode_axes(message: Message, number: int, mesh: Mesh) -> tuple[AxisRef, ...]:
    return tuple(_decode_axis(decode(data), mesh) for data in message.messages(number))


def _decode_axis(message: Message, mesh: Mesh) -> AxisRef:
    index = message.integer(MESH_AXIS_INDEX)
    if index not in range(len(mesh.axes)):
        expected = f"an index below {len(mesh.axes)}"
        raise ShardyError.unexpected("mesh_axis_index", expected=expected, got=str(index))
    info = message.last(SUB_AXIS_INFO)
    is_split = bool(message.messages(SUB_AXIS_INFO))
    part = SubAxis(info.integer(PRE_SIZE), info.integer(SUB_AXIS_SIZE)) if is_split else None
    return AxisRef(mesh.axes[index].name, part)
