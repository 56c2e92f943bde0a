"""Parses XLA's text of shardings: `{devices=[2,4]<=[4,2]T(1,0) last_tile_dims={manual, replicated}}`.

Accepts what XLA's parser accepts, except for inconsistent text (two kinds at once, more devices than tiles),
part of which XLA ignores. Printing is `str(sharding)`. Not here: normalisation (`hlo_sharding.py`); shardings
by mesh and axes (`named_text.py`).

>>> sharding = hlo_sharding_from_text("{devices=[2,2,2]<=[8] last_tile_dims={replicated, manual}}")
>>> str(sharding)
'{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}'
"""

from __future__ import annotations

from dataclasses import dataclass

from shardy_py.errors import ShardyError
from shardy_py.gspmd.sharding.hlo_sharding import (
    SUBGROUP_TYPES,
    HloSharding,
    HloShardingType,
    Metadata,
    MetadataValue,
    ShardGroup,
)
from shardy_py.gspmd.sharding.named_text import MESH_WORDS, ShardingCursor, read_named
from shardy_py.gspmd.sharding.tile_assignment import TileAssignment

_KINDS = {type.name.lower(): type for type in HloShardingType if type.name not in ("OTHER", "TUPLE")}
_PARTS = (
    "device",
    "devices",
    "last_tile_dim_replicate",
    "last_tile_dims",
    "shard_as",
    "shard_like",
    "metadata",
)
_SUBGROUPS = {type.name.lower(): type for type in SUBGROUP_TYPES}


def hlo_sharding_from_text(text: str) -> HloSharding:
    """The sharding that `text` spells.

    Raises:
        ShardyError: the text is invalid; the error has the position in it.
    """
    cursor = ShardingCursor(text, description="sharding")
    if cursor.at("{") and cursor.following() in ("{", "}"):
        sharding = HloSharding.tuple_of(cursor.items(lambda: _read_single(cursor), "{", "}"))
    else:
        sharding = _read_single(cursor)
    cursor.expect_end("the sharding")
    return sharding


@dataclass
class _Parts:
    """The parts of one sharding, which may come in any order."""

    kind: HloShardingType | None = None
    device: int | None = None
    tiles: TileAssignment | None = None
    is_partial: bool = False
    types: tuple[HloShardingType, ...] = ()
    group: ShardGroup | None = None
    metadata: tuple[Metadata, ...] = ()

    def read(self, cursor: ShardingCursor) -> None:
        """Reads one part."""
        match cursor.one_of(*_KINDS, *_PARTS):
            case "device":
                cursor.expect("=")
                self.device = cursor.integer()
            case "devices":
                self.tiles = _read_tiles(cursor)
            case "last_tile_dim_replicate":
                self.is_partial = True
            case "last_tile_dims":
                cursor.expect("=")
                words = cursor.items(lambda: cursor.one_of(*_SUBGROUPS), "{", "}")
                self.types = tuple(_SUBGROUPS[word] for word in words)
            case "metadata":
                self.metadata = _read_metadata(cursor)
            case "shard_as" | "shard_like" as word:
                self.group = ShardGroup(cursor.integer(), is_shard_as=word == "shard_as")
            case kind:
                if self.kind is not None:
                    raise ShardyError("expected one kind of sharding")
                self.kind = _KINDS[kind]

    def build(self) -> HloSharding:
        """The sharding; raises a `ShardyError` if the parts are inconsistent."""
        if self.kind is HloShardingType.MAXIMAL:
            if self.device is None or self.tiles:
                raise ShardyError("expected one device of a maximal sharding: 'maximal device=0'")
            sharding = HloSharding.maximal(self.device)
        elif self.kind is not None:
            if self.tiles or self.device is not None:
                raise ShardyError(f"expected no devices in a sharding that is {self.kind.name.lower()}")
            sharding = HloSharding(self.kind)
        elif self.tiles is None:
            raise ShardyError("expected tiles of a tiled sharding: 'devices=[2,4]<=[8]'")
        else:
            sharding = HloSharding.of_tiles(self.tiles, self.types, is_partial=self.is_partial)
        return sharding.with_shard_group(self.group).with_metadata(self.metadata)


def _read_single(cursor: ShardingCursor) -> HloSharding:
    """A sharding that is not a tuple."""
    start = cursor.offset
    cursor.expect("{")
    if cursor.token in MESH_WORDS:
        named = read_named(cursor)
        metadata: tuple[Metadata, ...] = ()
        if cursor.accept(","):
            cursor.expect("metadata")
            metadata = _read_metadata(cursor)
        cursor.expect("}")
        return HloSharding(named=named, metadata=metadata)
    parts = _Parts()
    while not cursor.at("}"):
        with cursor.errors_at(cursor.offset):
            parts.read(cursor)
    cursor.advance()
    with cursor.errors_at(start):
        return parts.build()


def _read_tiles(cursor: ShardingCursor) -> TileAssignment:
    cursor.expect("=")
    dimensions = cursor.integers()
    start = cursor.offset
    if cursor.accept("<="):
        sizes = cursor.integers()
        if cursor.at("T") == (len(sizes) == 1):
            cursor.error("expected an order of several dimensions: '[8]' or '[4,2]T(1,0)'")
        perm = cursor.order(sizes)
        with cursor.errors_at(start):
            return TileAssignment.checked(dimensions, (), sizes, perm)
    devices = [cursor.integer()]
    while cursor.accept(","):
        devices.append(cursor.integer())
    if len(devices) == 1:
        cursor.error("expected several devices; one device is 'replicated' or 'maximal device=0'", start)
    with cursor.errors_at(start):
        return TileAssignment.checked(dimensions, devices)


def _read_metadata(cursor: ShardingCursor) -> tuple[Metadata, ...]:
    """`={op_name="x"}` or `={{op_name="x"}, {op_name="y"}}`."""
    cursor.expect("=")
    if cursor.following() == "{":
        return tuple(cursor.items(lambda: _read_entry(cursor), "{", "}"))
    return (_read_entry(cursor),)


def _read_entry(cursor: ShardingCursor) -> Metadata:
    cursor.expect("{")
    fields: list[tuple[str, MetadataValue]] = []
    while not cursor.accept("}"):
        name = cursor.take("word", "the name of a field")
        cursor.expect("=")
        fields.append((name, cursor.string() if cursor.kind == "string" else cursor.integer()))
    return tuple(fields)
