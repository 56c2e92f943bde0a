"""Reads XLA's text of shardings: `{devices=[2,4]<=[4,2]T(1,0) last_tile_dims={manual, replicated}}`.

Accepts what XLA's own parser does, but for text that contradicts itself (two kinds at once, more devices than
tiles), which XLA reads by dropping a part. Writing is `str(sharding)`. Not here: what is normalised
(`hlo_sharding.py`); shardings by mesh and axes (`named_text.py`).

>>> sharding = hlo_sharding_from_text("{devices=[2,2,2]<=[8] last_tile_dims={replicated, manual}}")
>>> str(sharding)
'{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

from shardy_py.gspmd.sharding.hlo_sharding import (
    SUBGROUP_TYPES,
    HloSharding,
    HloShardingType,
    Metadata,
    MetadataValue,
    ShardGroup,
)
from shardy_py.gspmd.sharding.named_text import MESH_WORDS, read_named
from shardy_py.gspmd.sharding.text_cursor import TextCursor
from shardy_py.gspmd.sharding.tile_assignment import TileAssignment

_KINDS = {type.name.lower(): type for type in HloShardingType if type.name not in ("OTHER", "TUPLE")}
_SUBGROUPS = {type.name.lower(): type for type in SUBGROUP_TYPES}


def hlo_sharding_from_text(text: str) -> HloSharding:
    """The sharding that `text` spells; a `ShardyError` with the place if it spells none."""
    cursor = TextCursor(text, "sharding")
    sharding = _read(cursor)
    cursor.expect_end()
    return sharding


def _read(cursor: TextCursor) -> HloSharding:
    cursor.expect("{")
    if cursor.token == "{":
        elements = [_read_single(cursor)]
        while cursor.accept(","):
            elements.append(_read_single(cursor))
        cursor.expect("}")
        return HloSharding.tuple_of(elements)
    if cursor.accept("}"):
        return HloSharding.tuple_of(())
    return _read_behind_brace(cursor)


def _read_single(cursor: TextCursor) -> HloSharding:
    cursor.expect("{")
    return _read_behind_brace(cursor)


@dataclass
class _Parts:
    """What has been read of one sharding."""

    kind: HloShardingType | None = None
    device: int | None = None
    tiles: TileAssignment | None = None
    is_partial: bool = False
    types: tuple[HloShardingType, ...] = ()
    group: ShardGroup | None = None
    metadata: tuple[Metadata, ...] = field(default=())


def _read_behind_brace(cursor: TextCursor) -> HloSharding:
    if cursor.token in MESH_WORDS:
        named = read_named(cursor)
        metadata = ()
        if cursor.accept(","):
            cursor.expect("metadata")
            metadata = _read_metadata(cursor)
        cursor.expect("}")
        return HloSharding(named=named, metadata=metadata)
    parts = _Parts()
    start = cursor.offset
    while not cursor.accept("}"):
        word = cursor.token
        if word in _KINDS:
            _read_kind(cursor, parts)
        elif word in _READERS:
            cursor.advance()
            _READERS[word](cursor, parts)
        else:
            known = ", ".join((*_KINDS, *_READERS, *MESH_WORDS))
            raise cursor.error(f"expected one of: {known}")
    sharding = _build(cursor, parts, start)
    return sharding.with_shard_group(parts.group).with_metadata(parts.metadata)


def _build(cursor: TextCursor, parts: _Parts, start: int) -> HloSharding:
    if parts.kind is HloShardingType.MAXIMAL:
        if parts.device is None or parts.tiles:
            raise cursor.error("a maximal sharding has one device: `maximal device=0`", start)
        return HloSharding.maximal(parts.device)
    if parts.kind is not None:
        if parts.tiles or parts.device is not None:
            raise cursor.error(f"a sharding that is {parts.kind.name.lower()} names no devices", start)
        return HloSharding(parts.kind)
    if parts.tiles is None:
        raise cursor.error("a tiled sharding needs tiles: `devices=[2,4]<=[8]`", start)
    if parts.is_partial and parts.types:
        raise cursor.error("last_tile_dim_replicate and last_tile_dims exclude each other", start)
    if len(parts.types) > len(parts.tiles.dimensions):
        raise cursor.error("there are more last_tile_dims than dimensions of tiles", start)
    if parts.is_partial:
        return HloSharding.partial_tile(parts.tiles)
    return HloSharding.subgroup(parts.tiles, parts.types)


def _read_kind(cursor: TextCursor, parts: _Parts) -> None:
    if parts.kind is not None:
        raise cursor.error("a sharding is of one kind")
    parts.kind = _KINDS[cursor.advance()]


def _read_device(cursor: TextCursor, parts: _Parts) -> None:
    cursor.expect("=")
    parts.device = cursor.integer()


def _read_devices(cursor: TextCursor, parts: _Parts) -> None:
    cursor.expect("=")
    start = cursor.offset
    dimensions = cursor.integers("[", "]")
    if min(dimensions) < 1:
        raise cursor.error("the sizes of tiles are positive", start)
    start = cursor.offset
    if cursor.accept("<="):
        sizes = cursor.integers("[", "]")
        if len(sizes) == 1 and cursor.token == "T":
            raise cursor.error("one dimension has no order: `[8]` is read as it is, `[4,2]` takes `T(1,0)`")
        perm = cursor.integers("(", ")") if len(sizes) > 1 and cursor.expect("T") else (0,)
        if sorted(perm) != list(range(len(sizes))):
            raise cursor.error(f"expected each of 0 to {len(sizes) - 1} once behind T", start)
        if min(sizes) < 1 or prod(sizes) != prod(dimensions):
            raise cursor.error(f"expected {prod(dimensions)} devices, got {prod(sizes)}", start)
        parts.tiles = TileAssignment.iota(dimensions, sizes, perm)
        return
    devices = [cursor.integer()]
    while cursor.accept(","):
        devices.append(cursor.integer())
    if len(devices) == 1:
        raise cursor.error("tiles on one device; say `replicated` or `maximal device=0`", start)
    if len(devices) != prod(dimensions):
        raise cursor.error(f"expected {prod(dimensions)} devices, got {len(devices)}", start)
    parts.tiles = TileAssignment(dimensions, tuple(devices))


def _read_partial(cursor: TextCursor, parts: _Parts) -> None:
    parts.is_partial = True


def _read_types(cursor: TextCursor, parts: _Parts) -> None:
    cursor.expect("=")
    words = cursor.list("{", "}", lambda: cursor.one_of(_SUBGROUPS))
    parts.types = tuple(_SUBGROUPS[word] for word in words)


def _read_shard_as(cursor: TextCursor, parts: _Parts) -> None:
    parts.group = ShardGroup(cursor.integer(), is_shard_as=True)


def _read_shard_like(cursor: TextCursor, parts: _Parts) -> None:
    parts.group = ShardGroup(cursor.integer(), is_shard_as=False)


def _read_metadata_part(cursor: TextCursor, parts: _Parts) -> None:
    parts.metadata = _read_metadata(cursor)


_READERS: dict[str, Callable[[TextCursor, _Parts], None]] = {
    "device": _read_device,
    "devices": _read_devices,
    "last_tile_dim_replicate": _read_partial,
    "last_tile_dims": _read_types,
    "shard_as": _read_shard_as,
    "shard_like": _read_shard_like,
    "metadata": _read_metadata_part,
}
"""What reads each word of a sharding, the word itself taken."""


def _read_metadata(cursor: TextCursor) -> tuple[Metadata, ...]:
    """`={op_name="x"}` or `={{op_name="x"}, {op_name="y"}}`."""
    cursor.expect("=")
    cursor.expect("{")
    if cursor.token != "{":
        return (_read_entries(cursor),)
    found: list[Metadata] = []
    while cursor.accept("{"):
        found.append(_read_entries(cursor))
        cursor.accept(",")
    cursor.expect("}")
    return tuple(found)


def _read_entries(cursor: TextCursor) -> Metadata:
    entries: list[tuple[str, MetadataValue]] = []
    while not cursor.accept("}"):
        name = cursor.word()
        cursor.expect("=")
        entries.append((name, cursor.string() if cursor.at_string else cursor.integer()))
    return tuple(entries)
