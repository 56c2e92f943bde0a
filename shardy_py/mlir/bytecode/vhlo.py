"""VHLO's attributes and types as those of StableHLO and MLIR that they stand for: VhloBytecode.cpp.

VHLO is StableHLO with a version in each name; portable artifacts of StableHLO and exported functions of JAX
consist of it. Its types and attributes have had one version each, so every artifact is read by one table.

Not here: its ops, some of which have two versions (`vhlo_ops.py`).
"""

from __future__ import annotations

from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.bytecode import builtin as types
from shardy_py.mlir.bytecode import hlo, numbers, quant
from shardy_py.mlir.bytecode.entries import Encodings, EntryReader
from shardy_py.mlir.bytecode.rows import (
    ATTRIBUTE,
    SIGNED,
    SIGNED_LIST,
    STRING,
    STRING_ATTRIBUTE,
    TYPE,
    TYPES,
    VARINT,
    Reader,
    constant,
    keyword,
    many,
    pair,
    row,
    value_of,
)
from shardy_py.mlir.dialects.stablehlo import attributes as a
from shardy_py.mlir.dialects.stablehlo import structs as s
from shardy_py.mlir.text.builtin_attributes import is_array, is_dense, string_attribute
from shardy_py.mlir.text.type_reader import float_type, function_type, integer_type

_I32 = builtin.IntegerType(32)
_API_VERSIONS = 5


def _boolean(value: int) -> Attribute:
    if value > 1:
        raise ShardyError(f"expected 0 or 1, got {value}")
    return builtin.BoolAttr.from_bool(bool(value))


def _api_version(number: int) -> Attribute:
    if number >= _API_VERSIONS:
        raise ShardyError(f"unknown API version of a custom call: {number}")
    return IntegerAttr(number, _I32)


def _axis_ref(reader: EntryReader) -> Attribute:
    name = STRING_ATTRIBUTE(reader).data
    part = value_of(a.SubAxisInfoAttr, "a part of an axis")(reader) if reader.varint() else None
    return a.AxisRefAttr(s.StablehloAxisRef(name, part))


def _replica_groups(mesh: Attribute, axes: Attribute) -> Attribute:
    if isinstance(mesh, StringAttr):
        mesh = SymbolRefAttr(mesh)
    if not is_array(axes):
        raise ShardyError("expected an array of axes")
    return a.ReplicaGroupMeshAxesAttr(s.ReplicaGroupMeshAxes(mesh, axes))


def _mesh(axes: Attribute, device_ids: Attribute | None) -> Attribute:
    if device_ids is not None and not is_dense(device_ids):
        raise ShardyError("expected device ids")
    return a.MeshAttr(s.StablehloMesh(hlo.mesh_axes(axes), device_ids))


def _mesh_axis(name: StringAttr, size: int) -> Attribute:
    return a.MeshAxisAttr(s.StablehloMeshAxis(name.data, size))


_ATTRIBUTES: dict[int, Reader] = {
    1: row(ArrayAttr, many(ATTRIBUTE)),
    2: row(_boolean, VARINT),
    3: hlo.enum(a.ComparisonDirectionAttr),
    4: hlo.enum(a.ComparisonTypeAttr),
    5: row(_api_version, VARINT),
    6: row(types.dictionary, many(pair(STRING_ATTRIBUTE, ATTRIBUTE))),
    7: hlo.enum(a.FftTypeAttr),
    8: numbers.read_float,
    9: numbers.read_integer,
    10: hlo.ALIAS,
    11: hlo.enum(a.PrecisionAttr),
    12: hlo.enum(a.RngAlgorithmAttr),
    13: hlo.DISTRIBUTION,
    14: row(string_attribute, STRING),
    15: numbers.read_dense,
    16: hlo.enum(a.TransposeAttr),
    17: row(types.same, TYPE),
    18: hlo.BOUNDS,
    19: row(a.ResultAccuracyModeAttr, keyword(a.RESULT_ACCURACY_MODES)),
    20: hlo.ACCURACY,
    21: hlo.SUB_AXIS,
    22: _axis_ref,
    23: row(_replica_groups, ATTRIBUTE, ATTRIBUTE),
    24: row(_mesh_axis, STRING_ATTRIBUTE, SIGNED),
    25: row(_mesh, ATTRIBUTE, EntryReader.optional),
}

_NUMBERS = {
    0: "i1",
    31: "i2",
    32: "ui2",
    10: "i4",
    11: "i8",
    12: "i16",
    13: "i32",
    14: "i64",
    15: "ui4",
    16: "ui8",
    17: "ui16",
    18: "ui32",
    19: "ui64",
    2: "bf16",
    3: "f16",
    4: "f32",
    5: "f64",
    6: "f8E4M3FN",
    7: "f8E5M2",
    27: "f8E4M3FNUZ",
    28: "f8E5M2FNUZ",
    29: "f8E4M3B11FNUZ",
    34: "tf32",
    35: "f8E4M3",
    36: "f8E3M4",
    37: "f4E2M1FN",
    38: "f6E2M3FN",
    39: "f6E3M2FN",
    40: "f8E8M0FNU",
}
"""The types of numbers by code; signed ones are MLIR's without a sign."""


def _number(name: str) -> Reader:
    found = float_type(name) or integer_type(name)
    assert found is not None
    return constant(found)


_TYPES: dict[int, Reader] = {
    **{code: _number(name) for code, name in _NUMBERS.items()},
    1: row(types.complex_type, TYPE),
    8: row(function_type, TYPES, TYPES),
    9: constant(builtin.IndexType()),
    20: row(types.tensor, SIGNED_LIST, TYPE),
    21: row(types.swapped(types.tensor), ATTRIBUTE, SIGNED_LIST, TYPE),
    22: hlo.TOKEN,
    23: row(types.tuple_type, TYPES),
    24: quant.read_uniform,
    25: row(types.unranked_tensor, TYPE),
    26: constant(quant.kept("!shape.witness")),
    30: quant.read_per_axis,
    33: constant(builtin.NoneType()),
    41: row(types.memref, SIGNED_LIST, TYPE),
    42: hlo.FUTURE,
}

VHLO = Encodings(_ATTRIBUTES, _TYPES)
"""The encodings of VHLO."""
