"""Shardings to and from XLA's `OpSharding` protocol buffers (xla/xla_data.proto), V1, V2 and V3.

Not here: the wire format (`wire.py`), text (`text.py`), shardings by mesh and axes
(`named_proto.py`).

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
    MetadataValue,
    ShardGroup,
)
from shardy_py.gspmd.sharding.named_proto import NAMED_METADATA, named_from_proto, named_to_fields
from shardy_py.gspmd.sharding.tile_assignment import TileAssignment
from shardy_py.gspmd.sharding.wire import Field, decode, encode, packed, signed, unpack

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
_SHARD_LIKE = 1
_LISTS = (
    TILE_ASSIGNMENT_DIMENSIONS,
    TILE_ASSIGNMENT_DEVICES,
    LAST_TILE_DIMS,
    IOTA_RESHAPE_DIMS,
    IOTA_TRANSPOSE_PERM,
)
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
    return encode(_to_fields(sharding))


def hlo_sharding_from_proto(data: bytes) -> HloSharding:
    """The sharding of a serialized `OpSharding`; a `ShardyError` where it says nothing consistent."""
    try:
        return _from_fields(decode(data))
    except (TypeError, UnicodeDecodeError) as error:
        raise ShardyError("no xla.OpSharding: a field is of the wrong kind") from error


def _to_fields(sharding: HloSharding) -> list[Field]:
    fields: list[Field] = []
    metadata = [_metadata_to_proto(entry) for entry in sharding.all_metadata]
    if sharding.named is not None:
        inner = sorted(
            [*named_to_fields(sharding.named), *((NAMED_METADATA, m) for m in metadata)], key=_number
        )
        return [(NAMED_SHARDING, encode(inner))]
    if sharding.type:
        fields.append((TYPE, sharding.type))
    fields += [(TUPLE_SHARDINGS, hlo_sharding_to_proto(element)) for element in sharding.tuple_elements]
    fields += [(METADATA, entry) for entry in metadata]
    if sharding.tile_assignment is not None:
        fields += _tile_fields(sharding, sharding.tile_assignment)
    if sharding.shard_group is not None:
        fields += [(IS_SHARD_GROUP, 1)]
        fields += [(SHARD_GROUP_ID, sharding.shard_group.id)] if sharding.shard_group.id else []
        fields += [] if sharding.shard_group.is_shard_as else [(SHARD_GROUP_TYPE, _SHARD_LIKE)]
    return sorted(fields, key=_number)


def _tile_fields(sharding: HloSharding, tiles: TileAssignment) -> list[Field]:
    is_tiled = sharding.type is HloShardingType.OTHER
    lists = (
        (TILE_ASSIGNMENT_DIMENSIONS, tiles.dimensions if is_tiled else ()),
        (TILE_ASSIGNMENT_DEVICES, tiles.device_list),
        (LAST_TILE_DIMS, sharding.subgroup_types),
        (IOTA_RESHAPE_DIMS, tiles.reshape_dims),
        (IOTA_TRANSPOSE_PERM, tiles.transpose_perm),
    )
    fields: list[Field] = [(number, packed(values)) for number, values in lists if values]
    if sharding.replicate_on_last_tile_dim:
        fields.append((REPLICATE_ON_LAST_TILE_DIM, 1))
    return fields


def _number(field: Field) -> int:
    return field[0]


def _from_fields(fields: tuple[Field, ...]) -> HloSharding:
    scalars = {number: signed(value) for number, value in fields if isinstance(value, int)}
    messages = [(number, value) for number, value in fields if isinstance(value, bytes)]
    metadata = tuple(_metadata_from_proto(value) for number, value in messages if number == METADATA)
    for number, value in messages:
        if number == NAMED_SHARDING:
            named, entries = named_from_proto(value)
            kept = tuple(map(_metadata_from_proto, entries))
            return HloSharding(named=named).with_metadata(kept)
    kind = scalars.get(TYPE, 0)
    if kind not in tuple(HloShardingType):
        raise ShardyError(f"no xla.OpSharding: its type is {kind}; expected 0 to {len(HloShardingType) - 1}")
    lists = {number: _integers(fields, number) for number in _LISTS}
    match HloShardingType(kind):
        case HloShardingType.TUPLE:
            if metadata:
                raise ShardyError("a tuple of shardings has no metadata; its elements may have")
            elements = [value for number, value in messages if number == TUPLE_SHARDINGS]
            sharding = HloSharding.tuple_of(map(hlo_sharding_from_proto, elements))
        case HloShardingType.MAXIMAL:
            devices = lists[TILE_ASSIGNMENT_DEVICES]
            if len(devices) != 1:
                raise ShardyError(f"a maximal sharding has one device, got {len(devices)}")
            sharding = HloSharding.maximal(devices[0])
        case HloShardingType.OTHER:
            is_partial = bool(scalars.get(REPLICATE_ON_LAST_TILE_DIM))
            sharding = _tiled(lists, is_partial=is_partial)
        case plain:
            sharding = HloSharding(plain)
    if scalars.get(IS_SHARD_GROUP):
        is_shard_as = scalars.get(SHARD_GROUP_TYPE, 0) != _SHARD_LIKE
        sharding = sharding.with_shard_group(ShardGroup(scalars.get(SHARD_GROUP_ID, 0), is_shard_as))
    return sharding.with_metadata(metadata)


def _tiled(lists: dict[int, tuple[int, ...]], *, is_partial: bool) -> HloSharding:
    dimensions, devices = lists[TILE_ASSIGNMENT_DIMENSIONS], lists[TILE_ASSIGNMENT_DEVICES]
    sizes, perm = lists[IOTA_RESHAPE_DIMS], lists[IOTA_TRANSPOSE_PERM]
    types = lists[LAST_TILE_DIMS]
    if sizes and (devices or sorted(perm) != list(range(len(sizes))) or min(sizes) < 1):
        raise ShardyError(
            f"tiles in order {list(perm)} of {list(sizes)}; expected an order of its dimensions"
        )
    if not sizes and not devices:
        raise ShardyError("a tiled sharding names no devices; expected a list of them or an iota")
    count = prod(sizes) if sizes else len(devices)
    if count == 1:
        return HloSharding.replicated()
    if not dimensions or min(dimensions) < 1 or prod(dimensions) != count:
        raise ShardyError(f"tiles {list(dimensions)} have {count} devices; expected {prod(dimensions)}")
    if is_partial and types:
        raise ShardyError("replicate_on_last_tile_dim and last_tile_dims exclude each other")
    if len(types) > len(dimensions) or any(type not in SUBGROUP_TYPES for type in types):
        known = ", ".join(f"{type.name} ({type})" for type in SUBGROUP_TYPES)
        raise ShardyError(f"last_tile_dims are {list(types)}; expected at most {len(dimensions)} of {known}")
    v1 = TileAssignment(dimensions, devices)
    tiles = TileAssignment.iota(dimensions, sizes, perm) if sizes else v1
    if is_partial:
        return HloSharding.partial_tile(tiles)
    return HloSharding.subgroup(tiles, tuple(map(HloShardingType, types)))


def _integers(fields: tuple[Field, ...], number: int) -> tuple[int, ...]:
    """A repeated field, packed or not."""
    result: list[int] = []
    for found, value in fields:
        if found == number:
            result += (signed(value),) if isinstance(value, int) else unpack(value)
    return tuple(result)


def _metadata_to_proto(entry: Metadata) -> bytes:
    unknown = [name for name, _ in entry if name not in _METADATA_NUMBERS]
    if unknown:
        raise ShardyError(f"no field {unknown[0]} of metadata; expected: {', '.join(_METADATA_NUMBERS)}")
    fields = [(_METADATA_NUMBERS[name], _to_wire(value)) for name, value in entry if value not in ("", 0)]
    return encode(sorted(fields, key=_number))


def _to_wire(value: MetadataValue) -> int | bytes:
    return value if isinstance(value, int) else value.encode()


def _metadata_from_proto(data: bytes) -> Metadata:
    kept = ((number, value) for number, value in decode(data) if number in _METADATA_FIELDS)
    return tuple((_METADATA_FIELDS[n], v if isinstance(v, int) else v.decode()) for n, v in kept)
