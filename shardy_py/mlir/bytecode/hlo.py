"""The encodings of StableHLO's and CHLO's attributes and types: StablehloBytecode.cpp, ChloBytecode.cpp.

Attributes of CHLO without a code are kept as text. Not here: VHLO, which StableHLO's portable artifacts are
made of (`vhlo.py`).
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.bytecode.entries import Encodings, EntryReader
from shardy_py.mlir.bytecode.rows import (
    ATTRIBUTE,
    BOOLEAN,
    DOUBLE,
    SIGNED,
    SIGNED_LIST,
    STRING,
    TYPE,
    TYPES,
    Field,
    Reader,
    constant,
    keyword,
    many,
    row,
    value_of,
)
from shardy_py.mlir.dialects.attribute_classes import EnumAttribute, ValueAttribute
from shardy_py.mlir.dialects.chlo import attributes as chlo
from shardy_py.mlir.dialects.stablehlo import attributes as a
from shardy_py.mlir.dialects.stablehlo import structs as s
from shardy_py.mlir.text.builtin_attributes import is_array

T = TypeVar("T")


def enum(attribute_class: type[EnumAttribute], *, first: int = 0) -> Reader:
    """Reads an enum by the number of its keyword."""
    return row(attribute_class, keyword(attribute_class.keywords, first=first))


def struct(attribute_class: type[ValueAttribute[T]], *fields: Field[object]) -> Reader:
    """Reads an attribute around a dataclass, field by field."""
    make = attribute_class.value_class
    return row(lambda *values: attribute_class(make(*values)), *fields)


def bounds(sizes: tuple[int, ...]) -> Attribute:
    """Bounds of dimensions; unknown ones have another number in files."""
    from shardy_py.mlir.bytecode.builtin import shape

    return a.TypeExtensionsAttr(shape(sizes))


def future(types: tuple[Attribute, ...]) -> Attribute:
    """The type of results of an asynchronous op."""
    if not types or not all(isinstance(type_, TensorType) for type_ in types):
        raise ShardyError("expected ranked tensors in a future type")
    return a.FutureType(ArrayAttr(types))


def _sub_axis(reader: EntryReader) -> s.SubAxisInfo | None:
    return value_of(a.SubAxisInfoAttr, "a part of an axis")(reader) if reader.byte() else None


def _axes(reader: EntryReader) -> tuple[s.StablehloMeshAxis, ...]:
    return mesh_axes(reader.attribute())


def mesh_axes(axes: Attribute) -> tuple[s.StablehloMeshAxis, ...]:
    """The axes in an array of attributes."""
    found = [axis.data for axis in axes.data if isinstance(axis, a.MeshAxisAttr)] if is_array(axes) else []
    if not is_array(axes) or len(found) < len(axes.data):
        raise ShardyError("expected axes of a mesh")
    return tuple(found)


def _device_ids(reader: EntryReader) -> Attribute | None:
    return reader.expected(DenseIntOrFPElementsAttr, "device ids") if reader.byte() else None


def _array(reader: EntryReader) -> Attribute:
    return ArrayAttr(many(ATTRIBUTE)(reader))


def _mode(reader: EntryReader) -> str:
    return reader.expected(a.ResultAccuracyModeAttr, "the mode of an accuracy").data


ACCURACY_MODE = row(a.ResultAccuracyModeAttr, keyword(a.RESULT_ACCURACY_MODES))
ACCURACY = struct(a.ResultAccuracyAttr, DOUBLE, DOUBLE, SIGNED, _mode)
ALIAS = struct(a.OutputOperandAliasAttr, SIGNED_LIST, SIGNED, SIGNED_LIST)
SUB_AXIS = struct(a.SubAxisInfoAttr, SIGNED, SIGNED)
BOUNDS = row(bounds, SIGNED_LIST)
TOKEN = constant(a.TokenType())
FUTURE = row(future, TYPES)
DISTRIBUTION = enum(a.RngDistributionAttr, first=1)

_CONVOLUTION = (SIGNED, SIGNED, SIGNED_LIST) * 3

STABLEHLO = Encodings(
    {
        1: struct(a.ChannelHandleAttr, SIGNED, SIGNED),
        2: enum(a.ComparisonDirectionAttr),
        3: enum(a.ComparisonTypeAttr),
        4: struct(a.ConvDimensionNumbersAttr, *_CONVOLUTION),
        5: struct(a.DotDimensionNumbersAttr, *[SIGNED_LIST] * 4),
        6: enum(a.FftTypeAttr),
        7: struct(a.GatherDimensionNumbersAttr, *[SIGNED_LIST] * 5, SIGNED),
        8: enum(a.PrecisionAttr),
        9: enum(a.RngAlgorithmAttr),
        10: DISTRIBUTION,
        11: struct(a.ScatterDimensionNumbersAttr, *[SIGNED_LIST] * 5, SIGNED),
        12: enum(a.TransposeAttr),
        13: BOUNDS,
        14: ALIAS,
        15: struct(a.DotAlgorithmAttr, TYPE, TYPE, TYPE, SIGNED, SIGNED, SIGNED, BOOLEAN),
        16: ACCURACY_MODE,
        17: ACCURACY,
        18: struct(a.ReplicaGroupMeshAxesAttr, ATTRIBUTE, _array),
        19: SUB_AXIS,
        20: struct(a.AxisRefAttr, STRING, _sub_axis),
        21: struct(a.MeshAxisAttr, STRING, SIGNED),
        22: struct(a.MeshAttr, _axes, _device_ids),
    },
    {0: TOKEN, 1: FUTURE},
)
"""The encodings of StableHLO."""

CHLO = Encodings({0: enum(chlo.ComparisonDirectionAttr), 1: enum(chlo.ComparisonTypeAttr)}, {})
"""The encodings of CHLO."""
