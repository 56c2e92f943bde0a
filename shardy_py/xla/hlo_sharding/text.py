"""Parses XLA's text of shardings: `{devices=[2,4]<=[4,2]T(1,0) last_tile_dims={manual, replicated}}`.

Shardings by mesh and axes too: `{mesh['x'=4,'y'=2], [{'x'}, {?}], manual={'y'}}`. Accepts what XLA's parser
accepts, except for inconsistent text (two kinds at once, more devices than tiles), part of which XLA ignores.
Printing is `str(sharding)`. Not here: normalisation (`hlo_sharding.py`).

>>> sharding = hlo_sharding_from_text("{devices=[2,2,2]<=[8] last_tile_dims={replicated, manual}}")
>>> str(sharding)
'{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}'
"""

from __future__ import annotations

import re
from dataclasses import replace

from typing_extensions import override

from shardy_py.base.cursor import MAX_INTEGER_DIGITS, TokenCursor, token_expression
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.ops import REDUCTIONS
from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding
from shardy_py.xla.hlo_sharding import hlo_sharding
from shardy_py.xla.hlo_sharding.tile_assignment import TileAssignment

MESH_WORDS = ("mesh", "maximal_mesh", "single_device")
"""The words that such a sharding starts with; `single_device` is the newer spelling of `maximal_mesh`."""


_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1


class ShardingCursor(TokenCursor):
    """A cursor over the text of a sharding."""

    TOKEN = token_expression(
        r"\s++|/\*.*?\*/",
        arrow="<=",
        number="-?[0-9]++",
        word=r"[A-Za-z_]\w*+",
        string=r""" "(?:[^"\\]++|\\.)*+" | '(?:[^'\\]++|\\.)*+' """,
        unclosed=r"""(?:["']|/\*).*+""",
    )

    @override
    def integer_value(self, digits: str) -> int:
        """The value of digits at the cursor, or an error there unless 64 bits hold it, as in the proto."""
        value = super().integer_value(digits)
        if not _LEAST <= value <= _GREATEST:
            self.error(f"the integer {value} has more than 64 bits")
        return value

    def string(self) -> str:
        """Steps over a string in quotes of either kind and returns it without them."""
        return re.sub(r"\\(.)", r"\1", self.take("string", "a string")[1:-1], flags=re.DOTALL)

    def integers(self, opening: str = "[", closing: str = "]") -> tuple[int, ...]:
        """Steps over a list of at least one integer in brackets."""
        found = self.items(self.integer, opening, closing)
        if not found:
            self.error("expected at least one integer", self.previous_end - 1)
        return tuple(found)

    def order(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Steps over `T(1,0)`, the order of the dimensions of an iota; without it they are in order."""
        return self.integers("(", ")") if self.accept("T") else tuple(range(len(sizes)))


def read_named(cursor: ShardingCursor) -> hlo_sharding.NamedHloSharding:
    """The sharding at the cursor, up to its closing brace or its metadata."""
    start = cursor.offset
    if cursor.one_of(*MESH_WORDS) != "mesh":
        return hlo_sharding.NamedHloSharding(TensorSharding(_read_single_device(cursor), ()))
    mesh = _read_mesh(cursor)
    dimensions: tuple[DimensionSharding, ...] = ()
    groups: dict[str, tuple[AxisRef, ...]] = {}
    reduction = "sum"
    while cursor.at(",") and cursor.following() != "metadata":
        cursor.advance()
        if cursor.at("["):
            dimensions = tuple(cursor.items(lambda: _read_dimension(cursor, mesh)))
            continue
        word = cursor.one_of(*hlo_sharding.GROUPS)
        has_axes = cursor.accept("=")
        if has_axes and word == "unreduced" and not cursor.at("{"):
            reduction = cursor.one_of(*REDUCTIONS)
            has_axes = cursor.at("{")
        if has_axes:
            groups[word] = tuple(cursor.items(lambda: _read_axis(cursor, mesh), "{", "}"))
        elif word != "replicated":
            groups[word] = tuple(AxisRef(axis.name) for axis in mesh.axes)
    replicated, unreduced, manual = (groups.get(word, ()) for word in hlo_sharding.GROUPS)
    named = hlo_sharding.NamedHloSharding(
        TensorSharding(mesh, dimensions, replicated, unreduced, reduction), manual
    )
    with cursor.errors_at(start):
        return named.checked()


def _read_single_device(cursor: ShardingCursor) -> Mesh:
    for token in ("[", "device_id", "="):
        cursor.expect(token)
    device = cursor.integer()
    cursor.expect("]")
    return Mesh((), (device,))


def _read_mesh(cursor: ShardingCursor) -> Mesh:
    start = cursor.offset
    axes = cursor.items(lambda: _read_mesh_axis(cursor))
    ids: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    perm: tuple[int, ...] = ()
    if cursor.at(",") and cursor.following() == "device_ids":
        for token in (",", "device_ids", "="):
            cursor.expect(token)
        if cursor.following() == "[":
            cursor.expect("(")
            sizes = cursor.integers()
            perm = cursor.order(sizes)
            cursor.expect(")")
        else:
            ids = cursor.integers("(", ")")
    with cursor.errors_at(start):
        return hlo_sharding.checked_mesh(axes, ids, sizes, perm)


def _read_mesh_axis(cursor: ShardingCursor) -> tuple[str, int]:
    name = cursor.string()
    cursor.expect("=")
    return name, cursor.integer()


def _read_dimension(cursor: ShardingCursor, mesh: Mesh) -> DimensionSharding:
    parts = cursor.items(lambda: None if cursor.accept("?") else _read_axis(cursor, mesh), "{", "}")
    if None in parts[:-1]:
        cursor.error("expected '?' only behind the axes")
    return DimensionSharding(tuple(axis for axis in parts if axis is not None), is_closed=None not in parts)


def _read_axis(cursor: ShardingCursor, mesh: Mesh) -> AxisRef:
    """An axis by its name, or by its number where XLA printed it without a mesh."""
    name = cursor.string()
    if name not in mesh.sizes and name.isdecimal() and len(name) <= MAX_INTEGER_DIGITS:
        name = mesh.axes[int(name)].name if int(name) < len(mesh.axes) else name
    if not cursor.accept(":"):
        return AxisRef(name)
    cursor.expect("(")
    pre_size = cursor.integer()
    cursor.expect(")")
    return AxisRef(name, SubAxis(pre_size, cursor.integer()))


_KINDS = {
    type.name.lower(): type for type in hlo_sharding.HloShardingType if type.name not in ("OTHER", "TUPLE")
}
_GROUP_WORDS = ("shard_as", "shard_like")
_PARTS = ("device", "devices", "last_tile_dim_replicate", "last_tile_dims", *_GROUP_WORDS, "metadata")
_SUBGROUPS = {type.name.lower(): type for type in hlo_sharding.SUBGROUP_TYPES}


def hlo_sharding_from_text(text: str) -> hlo_sharding.HloSharding:
    """The sharding that `text` spells.

    Raises:
        ShardyError: the text is invalid; the error has the position in it.
    """
    cursor = ShardingCursor(text, description="sharding")
    if cursor.at("{") and cursor.following() in ("{", "}"):
        sharding = hlo_sharding.HloSharding.tuple_of(cursor.items(lambda: _read_single(cursor), "{", "}"))
    else:
        sharding = _read_single(cursor)
    cursor.expect_end("the sharding")
    return sharding


@dataclass
class _Parts:
    """The parts of one sharding, which may come in any order."""

    kind: hlo_sharding.HloShardingType | None = None
    device: int | None = None
    tiles: TileAssignment | None = None
    is_partial: bool = False
    types: tuple[hlo_sharding.HloShardingType, ...] = ()
    group: hlo_sharding.ShardGroup | None = None
    metadata: tuple[hlo_sharding.Metadata, ...] = ()

    def read(self, cursor: ShardingCursor) -> None:
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
                self.group = hlo_sharding.ShardGroup(cursor.integer(), is_shard_as=word == "shard_as")
            case kind:
                if self.kind is not None:
                    expected = f"one of {', '.join(_KINDS)}, devices=..."
                    raise ShardyError.unexpected(
                        "", expected=expected, got=f"{self.kind.name.lower()} and {kind}"
                    )
                self.kind = _KINDS[kind]

    def build(self) -> hlo_sharding.HloSharding:
        """The sharding; raises a `ShardyError` if the parts are inconsistent."""
        if self.kind is hlo_sharding.HloShardingType.MAXIMAL:
            if self.device is None or self.tiles:
                raise ShardyError("expected one device of a maximal sharding: 'maximal device=0'")
            sharding = hlo_sharding.HloSharding.maximal(self.device)
        elif self.kind is not None:
            if self.tiles or self.device is not None:
                raise ShardyError(f"expected no devices in a sharding that is {self.kind.name.lower()}")
            sharding = hlo_sharding.HloSharding(self.kind)
        elif self.tiles is None:
            raise ShardyError("expected tiles of a tiled sharding: 'devices=[2,4]<=[8]'")
        else:
            sharding = hlo_sharding.HloSharding.of_tiles(self.tiles, self.types, is_partial=self.is_partial)
        return replace(sharding, shard_group=self.group).with_metadata(self.metadata)


def _read_single(cursor: ShardingCursor) -> hlo_sharding.HloSharding:
    start = cursor.offset
    cursor.expect("{")
    if cursor.token in MESH_WORDS:
        named = read_named(cursor)
        metadata: tuple[hlo_sharding.Metadata, ...] = ()
        if cursor.accept(","):
            cursor.expect("metadata")
            metadata = _read_metadata(cursor)
        cursor.expect("}")
        return hlo_sharding.HloSharding(named=named, metadata=metadata)
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


def _read_metadata(cursor: ShardingCursor) -> tuple[hlo_sharding.Metadata, ...]:
    """`={op_name="x"}` or `={{op_name="x"}, {op_name="y"}}`."""
    cursor.expect("=")
    if cursor.following() == "{":
        return tuple(cursor.items(lambda: _read_entry(cursor), "{", "}"))
    return (_read_entry(cursor),)


def _read_entry(cursor: ShardingCursor) -> hlo_sharding.Metadata:
    cursor.expect("{")
    fields: list[tuple[str, hlo_sharding.MetadataValue]] = []
    while not cursor.accept("}"):
        name = cursor.take("word", "the name of a field")
        cursor.expect("=")
        fields.append((name, cursor.string() if cursor.kind == "string" else cursor.integer()))
    return tuple(fields)
