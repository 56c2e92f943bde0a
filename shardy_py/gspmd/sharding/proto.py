"""Shardings to and from XLA's `OpSharding` protocol buffers (xla/xla_data.proto), V1, V2 and V3.

Not here: the wire format (`wire.py`), text (`text.py`), shardings by mesh and axes (`named_proto.py`).

>>> data = hlo_sharding_to_proto(HloSharding.tiled(TileAssignment.iota((2, 4))))
>>> data.hex(), str(hlo_sharding_from_proto(data))
('08031a0202044a0108520100', '{devices=[2,4]<=[8]}')
"""

from __future__ import annotations

from math import prod

from shardy_py.errors import ShardyError
from shardy_py.gspmd.sharding.hlo_sharding import (
    SUBGROUP_TYPES,
    HloSharding,
    HloShardingType,
    Metadata,
    ShardGroup,
)
from shardy_py.gspmd.sharding.named_proto import NAMED_METADATA, decode_named, named_fields
from shardy_py.gspmd.sharding.tile_assignment import TileAssignment
from shardy_py.gspmd.sharding.wire import Message, Value, decode, encode

TYPE = 1
TILE_ASSIGNMENT_DIMENSIONS = 3
TILE_ASSIGNMENT_DEVICES = 4
TUPLE_SHARDINGS = 5
REPLICATE_ON_LAST_TILE_DIM = 6
METADATA = 7
LAST_TILE_DIMS = 8
IOTA_RESHAPE_DIMS = 9
IOTA_TRANSPOSE_PERM = 10
IS_SHARD_GROUP = 11
SHARD_GROUP_ID = 12
SHARD_GROUP_TYPE = 13
NAMED_SHARDING = 14
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
    metadata = [_encode_metadata(entry) for entry in sharding.all_metadata]
    if sharding.named is not None:
        inner = (*named_fields(sharding.named), *((NAMED_METADATA, entry) for entry in metadata))
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
        return HloSharding(named=decode_named(inner)).with_metadata(metadata)
    kind = message.integer(TYPE)
    if kind not in tuple(HloShardingType):
        raise ShardyError.unexpected(
            "invalid xla.OpSharding, type", expected=f"0 to {len(HloShardingType) - 1}", got=str(kind)
        )
    metadata = tuple(map(_decode_metadata, message.messages(METADATA)))
    match HloShardingType(kind):
        case HloShardingType.TUPLE:
            if metadata:
                raise ShardyError("a tuple of shardings has no metadata; its elements may have")
            sharding = HloSharding.tuple_of(map(hlo_sharding_from_proto, message.messages(TUPLE_SHARDINGS)))
        case HloShardingType.MAXIMAL:
            devices = message.integers(TILE_ASSIGNMENT_DEVICES)
            if len(devices) != 1:
                raise ShardyError.unexpected(
                    "maximal sharding", expected="one device", got=f"{len(devices)} devices"
                )
            sharding = HloSharding.maximal(devices[0])
        case HloShardingType.OTHER:
            sharding = _decode_tiled(message)
        case plain:
            sharding = HloSharding(plain)
    if message.integer(IS_SHARD_GROUP):
        is_shard_as = message.integer(SHARD_GROUP_TYPE) != 1
        sharding = sharding.with_shard_group(ShardGroup(message.integer(SHARD_GROUP_ID), is_shard_as))
    return sharding.with_metadata(metadata)


def _decode_tiled(message: Message) -> HloSharding:
    devices, sizes = message.integers(TILE_ASSIGNMENT_DEVICES), message.integers(IOTA_RESHAPE_DIMS)
    types = message.integers(LAST_TILE_DIMS)
    if bool(sizes) == bool(devices):
        got = "both" if sizes else "neither"
        raise ShardyError.unexpected("devices of a tiled sharding", expected="a list or an iota", got=got)
    if (prod(sizes) if sizes else len(devices)) == 1:
        return HloSharding.replicated()
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
