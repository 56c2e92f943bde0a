"""StableHLO's attributes.

>>> PrecisionAttr("HIGH").plain(), ChannelHandleAttr(ChannelHandle(1, 0)).plain()
('HIGH', {'handle': 1, 'type': 0})

Not here: the values inside structs (`structs.py`).
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute
from xdsl.irdl import irdl_attr_definition

from shardy_py.dialects.attribute_classes import (
    EnumAttribute,
    ValueAttribute,
    ValueText,
    loose_text,
    read_size,
    read_sizes,
    size_text,
    strict_text,
)
from shardy_py.dialects.stablehlo.conv_spelling import CONV_TEXT
from shardy_py.dialects.stablehlo.mesh_spellings import AXIS_REF_TEXT, MESH_TEXT, SUB_AXIS_TEXT
from shardy_py.dialects.stablehlo.structs import (
    AxisRef,
    ChannelHandle,
    ConvDimensionNumbers,
    DotAlgorithm,
    DotDimensionNumbers,
    GatherDimensionNumbers,
    Mesh,
    MeshAxis,
    OutputOperandAlias,
    ReplicaGroupMeshAxes,
    ResultAccuracy,
    ScatterDimensionNumbers,
    SubAxisInfo,
)
from shardy_py.text.attribute_writer import type_text
from shardy_py.text.cursor import Cursor
from shardy_py.text.syntax import AttributeSyntax
from shardy_py.text.type_reader import DYNAMIC

# ---------------------------------------------------------------------- enums


@irdl_attr_definition
class PrecisionAttr(EnumAttribute):
    """`#stablehlo<precision DEFAULT>`."""

    name = "stablehlo.precision"
    keywords = ("DEFAULT", "HIGH", "HIGHEST")
    cpp_name = "Precision"


@irdl_attr_definition
class FftTypeAttr(EnumAttribute):
    """`#stablehlo<fft_type FFT>`."""

    name = "stablehlo.fft_type"
    keywords = ("FFT", "IFFT", "RFFT", "IRFFT")
    cpp_name = "FftType"


@irdl_attr_definition
class ComparisonDirectionAttr(EnumAttribute):
    """`#stablehlo<comparison_direction EQ>`."""

    name = "stablehlo.comparison_direction"
    keywords = ("EQ", "NE", "GE", "GT", "LE", "LT")
    cpp_name = "ComparisonDirection"


@irdl_attr_definition
class ComparisonTypeAttr(EnumAttribute):
    """`#stablehlo<comparison_type NOTYPE>`."""

    name = "stablehlo.comparison_type"
    keywords = ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
    cpp_name = "ComparisonType"


@irdl_attr_definition
class TransposeAttr(EnumAttribute):
    """`#stablehlo<transpose TRANSPOSE_INVALID>`."""

    name = "stablehlo.transpose"
    keywords = ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
    cpp_name = "Transpose"


@irdl_attr_definition
class RngDistributionAttr(EnumAttribute):
    """`#stablehlo<rng_distribution UNIFORM>`."""

    name = "stablehlo.rng_distribution"
    keywords = ("UNIFORM", "NORMAL")
    cpp_name = "RngDistribution"


@irdl_attr_definition
class RngAlgorithmAttr(EnumAttribute):
    """`#stablehlo<rng_algorithm DEFAULT>`."""

    name = "stablehlo.rng_algorithm"
    keywords = ("DEFAULT", "THREE_FRY", "PHILOX")
    cpp_name = "RngAlgorithm"


# ---------------------------------------------------------------------- structs


@irdl_attr_definition
class DotDimensionNumbersAttr(ValueAttribute[DotDimensionNumbers]):
    """`#stablehlo.dot<...>`."""

    name = "stablehlo.dot"
    text = loose_text(DotDimensionNumbers)


@irdl_attr_definition
class GatherDimensionNumbersAttr(ValueAttribute[GatherDimensionNumbers]):
    """`#stablehlo.gather<...>`."""

    name = "stablehlo.gather"
    text = loose_text(GatherDimensionNumbers)


@irdl_attr_definition
class ScatterDimensionNumbersAttr(ValueAttribute[ScatterDimensionNumbers]):
    """`#stablehlo.scatter<...>`."""

    name = "stablehlo.scatter"
    text = loose_text(ScatterDimensionNumbers)


@irdl_attr_definition
class ConvDimensionNumbersAttr(ValueAttribute[ConvDimensionNumbers]):
    """`#stablehlo.conv<...>`."""

    name = "stablehlo.conv"
    text = CONV_TEXT


@irdl_attr_definition
class DotAlgorithmAttr(ValueAttribute[DotAlgorithm]):
    """`#stablehlo.dot_algorithm<...>`."""

    name = "stablehlo.dot_algorithm"
    text = strict_text(DotAlgorithm, is_ordered=True)


@irdl_attr_definition
class ChannelHandleAttr(ValueAttribute[ChannelHandle]):
    """`#stablehlo.channel_handle<...>`."""

    name = "stablehlo.channel_handle"
    text = strict_text(ChannelHandle)


@irdl_attr_definition
class OutputOperandAliasAttr(ValueAttribute[OutputOperandAlias]):
    """`#stablehlo.output_operand_alias<...>`."""

    name = "stablehlo.output_operand_alias"
    text = strict_text(OutputOperandAlias, is_ordered=True)


@irdl_attr_definition
class SubAxisInfoAttr(ValueAttribute[SubAxisInfo]):
    """`#stablehlo.sub_axis_info<...>`."""

    name = "stablehlo.sub_axis_info"
    text = SUB_AXIS_TEXT


@irdl_attr_definition
class AxisRefAttr(ValueAttribute[AxisRef]):
    """`#stablehlo.axis_ref<...>`."""

    name = "stablehlo.axis_ref"
    text = AXIS_REF_TEXT


@irdl_attr_definition
class MeshAxisAttr(ValueAttribute[MeshAxis]):
    """`#stablehlo.mesh_axis<...>`."""

    name = "stablehlo.mesh_axis"
    text = strict_text(MeshAxis)


@irdl_attr_definition
class MeshAttr(ValueAttribute[Mesh]):
    """`#stablehlo.mesh<...>`."""

    name = "stablehlo.mesh"
    text = MESH_TEXT


@irdl_attr_definition
class ReplicaGroupMeshAxesAttr(ValueAttribute[ReplicaGroupMeshAxes]):
    """`#stablehlo.replica_group_mesh_axes<...>`."""

    name = "stablehlo.replica_group_mesh_axes"
    text = strict_text(ReplicaGroupMeshAxes)


# ---------------------------------------------------------------------- accuracies

_RESULT_ACCURACY_MODES = ("DEFAULT", "HIGHEST", "TOLERANCE")


def _read_mode(cursor: Cursor) -> str:
    cursor.expect("<")
    start = cursor.offset
    keyword = cursor.keyword()
    if keyword not in _RESULT_ACCURACY_MODES:
        expected = ", ".join(_RESULT_ACCURACY_MODES)
        cursor.error(f"expected ::mlir::stablehlo::ResultAccuracyMode to be one of: {expected}", start)
    cursor.expect(">")
    return keyword


@irdl_attr_definition
class ResultAccuracyModeAttr(ValueAttribute[str]):
    """`#stablehlo.result_accuracy_mode<DEFAULT>`."""

    name = "stablehlo.result_accuracy_mode"
    text = ValueText(_read_mode, lambda mode: f"<{mode}>")


def _read_accuracy(cursor: Cursor) -> ResultAccuracy:
    cursor.expect("<")
    numbers: dict[str, Any] = {}
    for name, read_number in (("atol", _read_float), ("rtol", _read_float), ("ulps", Cursor.integer)):
        if cursor.accept(name):
            cursor.expect("=")
            numbers[name] = read_number(cursor)
            cursor.expect(",")
    cursor.expect("mode")
    cursor.expect("=")
    start = cursor.offset
    mode = cursor.attribute()
    if not isinstance(mode, ResultAccuracyModeAttr):
        cursor.error("invalid kind of attribute specified", start)
    cursor.expect(">")
    return ResultAccuracy(**numbers, mode=mode.data)


def _accuracy_text(value: ResultAccuracy) -> str:
    tolerances = [(name, getattr(value, name)) for name in ("atol", "rtol")]
    numbers = [f"{name} = {_float_text(number)}" for name, number in tolerances if number]
    numbers += [f"ulps = {value.ulps}"] if value.ulps else []
    return f"<{', '.join([*numbers, f'mode = #stablehlo.result_accuracy_mode<{value.mode}>'])}>"


def _read_float(cursor: Cursor) -> float:
    sign = -1.0 if cursor.accept("-") else 1.0
    if not cursor.token[:1].isdigit():
        cursor.error("expected floating point literal")
    return sign * float(cursor.advance())


def _float_text(value: float) -> str:
    from xdsl.dialects.builtin import FloatAttr, f64

    from shardy_py.text.attribute_writer import untyped_text

    return untyped_text(FloatAttr(value, f64))


@irdl_attr_definition
class ResultAccuracyAttr(ValueAttribute[ResultAccuracy]):
    """`#stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>`."""

    name = "stablehlo.result_accuracy"
    text = ValueText(_read_accuracy, _accuracy_text)


# ---------------------------------------------------------------------- bounds


@irdl_attr_definition
class TypeExtensionsAttr(ValueAttribute[tuple[int, ...]]):
    """`#stablehlo.bounds<4, ?>`: bounds by dimension, as the encoding of a tensor type."""

    name = "stablehlo.bounds"
    text = ValueText(
        lambda cursor: tuple(cursor.items(lambda: read_size(cursor), "<", ">")),
        lambda bounds: f"<{', '.join(map(size_text, bounds))}>",
    )

    def check_encoding(self, tensor: Any) -> str | None:
        """The reason why a tensor type cannot have these bounds, None if it can."""
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

_ENUMS = (
    PrecisionAttr,
    FftTypeAttr,
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    TransposeAttr,
    RngDistributionAttr,
    RngAlgorithmAttr,
)
_STRUCTS: tuple[type[ValueAttribute[Any]], ...] = (
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
