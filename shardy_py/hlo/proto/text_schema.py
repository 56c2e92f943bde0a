"""The names that protocol buffers as text have for the fields of `schema.py`, and the words of enums.

A field is the one of its number. Names differ where a row is named as HLO text has the attribute; messages
that other readers decode (`OpSharding`) have their rows here. Source: xla/service/hlo.proto and
xla/xla_data.proto.

>>> TEXT_FIELDS["DotDimensionNumbers"]["lhs_contracting_dimensions"]
TextField(number=1, kind='int')
"""

from __future__ import annotations

from shardy_py.base.records import dataclass
from shardy_py.hlo.proto.enums import ENUMS, PRIMITIVE_TYPES
from shardy_py.hlo.proto.schema import MESSAGES


@dataclass(frozen=True, slots=True)
class TextField:
    """A field: its number, and its kind: int, bool, string, bytes, float, double, or a message."""

    number: int
    kind: str


_NAMES: dict[str, dict[str, str]] = {
    "HloInstructionProto": {
        "iota_groups": "iota_collective_device_list",
        "mesh_groups": "mesh_axes_replica_group_list",
    },
    "DotDimensionNumbers": {
        name: name.replace("dims", "dimensions")
        for name in ("lhs_contracting_dims", "rhs_contracting_dims", "lhs_batch_dims", "rhs_batch_dims")
    },
    "RaggedDotDimensionNumbers": {
        "lhs_ragged_dims": "lhs_ragged_dimensions",
        "rhs_group_dims": "rhs_group_dimensions",
    },
    "PaddingDimension": {
        "low": "edge_padding_low",
        "high": "edge_padding_high",
        "interior": "interior_padding",
    },
    "Mesh": {"iota_device_ids": "iota_transform"},
    "DeviceIota": {"dimensions": "reshape_dims", "order": "transpose_perm"},
    "AxisRef": {"sub_axis": "sub_axis_info"},
}
"""The names of rows, and those of text."""
_RAW: dict[str, str] = {
    "shape": "ShapeProto",
    "operand_shapes_with_layout": "ShapeProto",
    "tuple_shapes": "ShapeProto",
    "literal": "LiteralProto",
    "tuple_literals": "LiteralProto",
    "sharding": "OpSharding",
    "f32s": "float",
    "c64s": "float",
    "f64s": "double",
    "c128s": "double",
}
"""The kinds of fields that are kept as bytes."""


def _rows(text: str) -> dict[str, TextField]:
    words = (entry.split(":") for entry in text.split())
    return {name: TextField(int(number), kind) for number, name, kind in words}


_SHARDINGS: dict[str, dict[str, TextField]] = {
    "OpSharding": _rows("""1:type:int 3:tile_assignment_dimensions:int 4:tile_assignment_devices:int
        5:tuple_shardings:OpSharding 6:replicate_on_last_tile_dim:bool 7:metadata:OpMetadata
        8:last_tile_dims:int 9:iota_reshape_dims:int 10:iota_transpose_perm:int 11:is_shard_group:bool
        12:shard_group_id:int 13:shard_group_type:int 14:named_sharding:NamedSharding"""),
    "NamedSharding": _rows("""2:mesh:Mesh 3:dim_shardings:DimensionSharding 4:replicated_axes:AxisRef
        5:unreduced_axes:AxisRef 6:metadata:OpMetadata 7:manual_axes:AxisRef 8:reduction_op:int"""),
    "DimensionSharding": _rows("1:axes:AxisRef 2:is_closed:bool"),
}


def _fields_of(message: str) -> dict[str, TextField]:
    names = _NAMES.get(message, {})
    return {
        names.get(row.name, row.name): TextField(number, _RAW.get(row.name, row.kind))
        for number, row in MESSAGES[message].items()
    }


TEXT_FIELDS: dict[str, dict[str, TextField]] = {name: _fields_of(name) for name in MESSAGES} | _SHARDINGS
"""The fields of each message by the name that text has."""


def _numbered(words: str) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split())}


_SHARDING_TYPES = _numbered("REPLICATED MAXIMAL TUPLE OTHER MANUAL UNKNOWN UNREDUCED")
_ELEMENTS = {name.upper(): number for number, name in PRIMITIVE_TYPES.items()} | {"OPAQUE_TYPE": 14}
_WORDS: dict[str, dict[str, int]] = {
    "element_type": _ELEMENTS,
    "type": _SHARDING_TYPES,
    "last_tile_dims": _SHARDING_TYPES,
    "shard_group_type": _numbered("AS LIKE"),
    "reduction_op": _numbered("SUM MAX MIN"),
    "is_associative": _numbered("TRI_STATE_UNSPECIFIED TRI_STATE_TRUE TRI_STATE_FALSE"),
    "algorithm": {f"ALG_{word.upper()}": number for number, word in enumerate(ENUMS["algorithm"])}
    | {"ALG_UNSET": 0},
    **{
        name: {word.upper(): number for number, word in enumerate(ENUMS[name])}
        for name in (
            *("fft_type", "distribution", "rng_algorithm", "transpose_a", "operand_precision"),
            "custom_call_api_version",
        )
    },
}


def enum_number(field: str, word: str) -> int | None:
    """Returns the number of the word of an enum; None if it is unknown.

    >>> enum_number("element_type", "BF16"), enum_number("algorithm", "ALG_DOT_BF16_BF16_F32")
    (16, 6)
    """
    return _WORDS.get(field, {}).get(word)
