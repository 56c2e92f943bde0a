"""StableHLO's attributes and types: classes from tables, as xDSL and the text engine take them.

>>> PrecisionAttr("HIGH").plain(), ChannelHandleAttr(ChannelHandle(1, 0)).plain()
('HIGH', {'handle': 1, 'type': 0})

Not here: the values inside structs (`structs.py`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_attr_definition

from shardy_py.dialects.attribute_classes import (
    SpellingOf,
    ValueAttribute,
    enum_class,
    loose_spelling,
    read_size,
    read_sizes,
    size_text,
    strict_spelling,
    value_class,
)
from shardy_py.dialects.stablehlo.conv_spelling import conv_spelling
from shardy_py.dialects.stablehlo.mesh_spellings import (
    axis_ref_spelling,
    mesh_spelling,
    sub_axis_spelling,
)
from shardy_py.dialects.stablehlo.structs import (
    ChannelHandle,
    DotAlgorithm,
    DotDimensionNumbers,
    GatherDimensionNumbers,
    MeshAxis,
    OutputOperandAlias,
    ReplicaGroupMeshAxes,
    ResultAccuracy,
    ScatterDimensionNumbers,
)
from shardy_py.text.assembly import Spelling
from shardy_py.text.attribute_writer import type_text
from shardy_py.text.cursor import Cursor
from shardy_py.text.syntax import AttributeSyntax
from shardy_py.text.type_reader import DYNAMIC
from shardy_py.text.xdsl_hooks import DialectType

_enum = partial(enum_class, "stablehlo")

PrecisionAttr = _enum("precision", ("DEFAULT", "HIGH", "HIGHEST"), "Precision")
FftTypeAttr = _enum("fft_type", ("FFT", "IFFT", "RFFT", "IRFFT"), "FftType")
ComparisonDirectionAttr = _enum(
    "comparison_direction", ("EQ", "NE", "GE", "GT", "LE", "LT"), "ComparisonDirection"
)
ComparisonTypeAttr = _enum(
    "comparison_type", ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"), "ComparisonType"
)
TransposeAttr = _enum("transpose", ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"), "Transpose")
RngDistributionAttr = _enum("rng_distribution", ("UNIFORM", "NORMAL"), "RngDistribution")
RngAlgorithmAttr = _enum("rng_algorithm", ("DEFAULT", "THREE_FRY", "PHILOX"), "RngAlgorithm")
_RESULT_ACCURACY_MODES = ("DEFAULT", "HIGHEST", "TOLERANCE")


def _loose(struct: type) -> SpellingOf:
    return lambda make: loose_spelling(struct, make)


def _strict(struct: type, *, is_ordered: bool = False) -> SpellingOf:
    return lambda make: strict_spelling(struct, make, is_ordered=is_ordered)


# ---------------------------------------------------------------------- spellings of their own


def _mode_spelling(make: Any) -> Spelling:
    def read(cursor: Cursor) -> Attribute:
        cursor.expect("<")
        start = cursor.offset
        keyword = cursor.keyword()
        if keyword not in _RESULT_ACCURACY_MODES:
            expected = ", ".join(_RESULT_ACCURACY_MODES)
            cursor.error(f"expected ::mlir::stablehlo::ResultAccuracyMode to be one of: {expected}", start)
        cursor.expect(">")
        return make(keyword)

    return Spelling(read, lambda attribute: f"<{attribute.data}>")


ResultAccuracyModeAttr = value_class("stablehlo", "result_accuracy_mode", _mode_spelling)


def _accuracy_spelling(make: Any) -> Spelling:
    """`<atol = 1.000000e-05, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>`."""

    def read(cursor: Cursor) -> Attribute:
        cursor.expect("<")
        found: dict[str, Any] = {}
        for name, read_number in (("atol", _read_float), ("rtol", _read_float), ("ulps", Cursor.integer)):
            if cursor.accept(name):
                cursor.expect("=")
                found[name] = read_number(cursor)
                cursor.expect(",")
        cursor.expect("mode")
        cursor.expect("=")
        start = cursor.offset
        mode = cursor.attribute()
        if not isinstance(mode, ResultAccuracyModeAttr):
            cursor.error("invalid kind of attribute specified", start)
        cursor.expect(">")
        return make(ResultAccuracy(**found, mode=mode.data))

    def write(attribute: Any) -> str:
        value: ResultAccuracy = attribute.data
        numbers = [
            f"{name} = {_float_text(getattr(value, name))}"
            for name in ("atol", "rtol")
            if getattr(value, name)
        ]
        numbers += [f"ulps = {value.ulps}"] if value.ulps else []
        return f"<{', '.join([*numbers, f'mode = #stablehlo.result_accuracy_mode<{value.mode}>'])}>"

    return Spelling(read, write)


def _read_float(cursor: Cursor) -> float:
    sign = -1.0 if cursor.accept("-") else 1.0
    if not cursor.token[:1].isdigit():
        cursor.error("expected floating point literal")
    return sign * float(cursor.advance())


def _float_text(value: float) -> str:
    from xdsl.dialects.builtin import FloatAttr, f64

    from shardy_py.text.attribute_writer import untyped_text

    return untyped_text(FloatAttr(value, f64))


def _bounds_spelling(make: Any) -> Spelling:
    """`<4, ?>`: what each dynamic dimension does not exceed."""
    return Spelling(
        lambda cursor: make(tuple(cursor.items(lambda: read_size(cursor), "<", ">"))),
        lambda attribute: f"<{', '.join(map(size_text, attribute.data))}>",
    )


class _Bounds(ValueAttribute):
    """Bounds by dimension, as the encoding of a tensor type."""

    def check_encoding(self, tensor: Any) -> str | None:
        """What is wrong with these bounds on a tensor type, None if nothing is."""
        sizes = tensor.get_shape()
        if len(self.data) != len(sizes):
            return (
                f"Bounds length is {len(self.data)}, expected to be equal to rank({len(sizes)}) of the "
                f"tensor '{type_text(tensor)}'"
            )
        for index, (bound, size) in enumerate(zip(self.data, sizes, strict=True)):
            if DYNAMIC not in (bound, size):
                return (
                    f"Static dimension {index} cannot have a bound, use ShapedType::kDynamic to indicate a "
                    f"missing bound in tensor '{type_text(tensor)}'"
                )
        return None


def _read_type_extensions(cursor: Cursor) -> Attribute:
    """`<bounds = [4, ?]>`: the long form of `#stablehlo.bounds<4, ?>`."""
    cursor.expect("<")
    cursor.expect("bounds")
    cursor.expect("=")
    bounds = read_sizes(cursor)
    cursor.expect(">")
    return TypeExtensionsAttr(bounds)


# ---------------------------------------------------------------------- the table

_class = partial(value_class, "stablehlo")

DotDimensionNumbersAttr = _class("dot", _loose(DotDimensionNumbers))
GatherDimensionNumbersAttr = _class("gather", _loose(GatherDimensionNumbers))
ScatterDimensionNumbersAttr = _class("scatter", _loose(ScatterDimensionNumbers))
ConvDimensionNumbersAttr = _class("conv", conv_spelling)
DotAlgorithmAttr = _class("dot_algorithm", _strict(DotAlgorithm, is_ordered=True))
ChannelHandleAttr = _class("channel_handle", _strict(ChannelHandle))
OutputOperandAliasAttr = _class("output_operand_alias", _strict(OutputOperandAlias, is_ordered=True))
ResultAccuracyAttr = _class("result_accuracy", _accuracy_spelling)
TypeExtensionsAttr = _class("bounds", _bounds_spelling, _Bounds)
SubAxisInfoAttr = _class("sub_axis_info", sub_axis_spelling)
AxisRefAttr = _class("axis_ref", axis_ref_spelling)
MeshAxisAttr = _class("mesh_axis", _strict(MeshAxis))
MeshAttr = _class("mesh", mesh_spelling)
ReplicaGroupMeshAxesAttr = _class("replica_group_mesh_axes", _strict(ReplicaGroupMeshAxes))

_ENUMS = (
    PrecisionAttr,
    FftTypeAttr,
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    TransposeAttr,
    RngDistributionAttr,
    RngAlgorithmAttr,
)
_STRUCTS: tuple[type[ValueAttribute], ...] = (
    DotDimensionNumbersAttr,
    GatherDimensionNumbersAttr,
    ScatterDimensionNumbersAttr,
    ConvDimensionNumbersAttr,
    DotAlgorithmAttr,
    ChannelHandleAttr,
    OutputOperandAliasAttr,
    ResultAccuracyModeAttr,
    ResultAccuracyAttr,
    SubAxisInfoAttr,
    AxisRefAttr,
    MeshAxisAttr,
    MeshAttr,
    ReplicaGroupMeshAxesAttr,
)


def _mnemonic(attribute_class: type[Attribute]) -> str:
    return attribute_class.name.partition(".")[2]


ENCLOSED = {_mnemonic(enum): enum.syntax() for enum in _ENUMS}
"""`#stablehlo<name KEYWORD>` by name."""

_BOUNDS = TypeExtensionsAttr.syntax()
ATTRIBUTES = {
    **{_mnemonic(struct): struct.syntax() for struct in _STRUCTS},
    "type_extensions": AttributeSyntax(TypeExtensionsAttr, _read_type_extensions, _BOUNDS.write),
    "bounds": _BOUNDS,  # behind type_extensions: the last of a class is the one it prints as
}
"""`#stablehlo.name<...>` by name."""


# ---------------------------------------------------------------------- types


@irdl_attr_definition
class TokenType(DialectType):
    """`!stablehlo.token`: orders side effects."""

    name = "stablehlo.token"


@irdl_attr_definition
class FutureType(DialectType):
    """`!stablehlo.future<tensor<8xf32>>`: what an asynchronous op will have given."""

    name = "stablehlo.future"
    types: ArrayAttr[Attribute]


_TOKEN = TokenType()


def _read_future(cursor: Cursor) -> Attribute:
    start = cursor.offset
    cursor.expect("<")
    types = [cursor.type()]
    while cursor.accept(","):
        types.append(cursor.type())
    cursor.expect(">")
    for type_ in types:
        if not isinstance(type_, TensorType):
            cursor.error(f"future element type must be a ranked tensor, but got '{type_text(type_)}'", start)
    return FutureType(ArrayAttr(types))


TYPES = {
    "token": AttributeSyntax(TokenType, lambda cursor: _TOKEN, lambda type_: ""),
    "future": AttributeSyntax(
        FutureType, _read_future, lambda type_: f"<{', '.join(map(type_text, type_.types.data))}>"
    ),
}
"""`!stablehlo.name` by name."""
