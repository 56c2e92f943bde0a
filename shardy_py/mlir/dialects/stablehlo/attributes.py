"""StableHLO's attributes, and its types besides those of MLIR itself: tokens and futures.

>>> PrecisionAttr("HIGH").plain(), ChannelHandleAttr(structs.ChannelHandle(1, 0)).plain()
('HIGH', {'handle': 1, 'type': 0})

Not here: the values inside structs (`structs.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, TensorType, f64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_attr_definition

from shardy_py.mlir.dialects import attribute_classes as classes
from shardy_py.mlir.dialects.attribute_classes import EnumAttribute, ValueAttribute, ordered_text, strict_text
from shardy_py.mlir.dialects.stablehlo import structs
from shardy_py.mlir.dialects.stablehlo.spellings import AXIS_REF_TEXT, CONV_TEXT, MESH_TEXT, SUB_AXIS_TEXT
from shardy_py.mlir.text.assembly import expect_words
from shardy_py.mlir.text.attribute_writer import type_text, untyped_text
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.literal_reader import read_float
from shardy_py.mlir.text.syntax import AttributeSyntax
from shardy_py.mlir.text.type_reader import DYNAMIC
from shardy_py.mlir.text.xdsl_hooks import DialectType

N = TypeVar("N", int, float)

# ---------------------------------------------------------------------- enums


class PrecisionAttr(EnumAttribute, name="stablehlo.precision", keywords="DEFAULT HIGH HIGHEST"):
    """`#stablehlo<precision DEFAULT>`."""


class FftTypeAttr(EnumAttribute, name="stablehlo.fft_type", keywords="FFT IFFT RFFT IRFFT"):
    """`#stablehlo<fft_type FFT>`."""


class ComparisonDirectionAttr(
    EnumAttribute, name="stablehlo.comparison_direction", keywords="EQ NE GE GT LE LT"
):
    """`#stablehlo<comparison_direction EQ>`."""


class ComparisonTypeAttr(
    EnumAttribute, name="stablehlo.comparison_type", keywords="NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED"
):
    """`#stablehlo<comparison_type NOTYPE>`."""


class TransposeAttr(
    EnumAttribute, name="stablehlo.transpose", keywords="TRANSPOSE_INVALID NO_TRANSPOSE TRANSPOSE ADJOINT"
):
    """`#stablehlo<transpose TRANSPOSE_INVALID>`."""


class RngDistributionAttr(EnumAttribute, name="stablehlo.rng_distribution", keywords="UNIFORM NORMAL"):
    """`#stablehlo<rng_distribution UNIFORM>`."""


class RngAlgorithmAttr(EnumAttribute, name="stablehlo.rng_algorithm", keywords="DEFAULT THREE_FRY PHILOX"):
    """`#stablehlo<rng_algorithm DEFAULT>`."""


# ---------------------------------------------------------------------- structs


class DotDimensionNumbersAttr(ValueAttribute[structs.DotDimensionNumbers], name="stablehlo.dot"):
    """`#stablehlo.dot<...>`."""


class GatherDimensionNumbersAttr(ValueAttribute[structs.GatherDimensionNumbers], name="stablehlo.gather"):
    """`#stablehlo.gather<...>`."""


class ScatterDimensionNumbersAttr(ValueAttribute[structs.ScatterDimensionNumbers], name="stablehlo.scatter"):
    """`#stablehlo.scatter<...>`."""


class ConvDimensionNumbersAttr(
    ValueAttribute[structs.ConvDimensionNumbers], name="stablehlo.conv", text=CONV_TEXT
):
    """`#stablehlo.conv<...>`."""


class DotAlgorithmAttr(
    ValueAttribute[structs.DotAlgorithm], name="stablehlo.dot_algorithm", form=ordered_text
):
    """`#stablehlo.dot_algorithm<...>`."""


class ChannelHandleAttr(
    ValueAttribute[structs.ChannelHandle], name="stablehlo.channel_handle", form=strict_text
):
    """`#stablehlo.channel_handle<...>`."""


class OutputOperandAliasAttr(
    ValueAttribute[structs.OutputOperandAlias], name="stablehlo.output_operand_alias", form=ordered_text
):
    """`#stablehlo.output_operand_alias<...>`."""


class SubAxisInfoAttr(
    ValueAttribute[structs.SubAxisInfo], name="stablehlo.sub_axis_info", text=SUB_AXIS_TEXT
):
    """`#stablehlo.sub_axis_info<...>`."""


class AxisRefAttr(ValueAttribute[structs.StablehloAxisRef], name="stablehlo.axis_ref", text=AXIS_REF_TEXT):
    """`#stablehlo.axis_ref<...>`."""


class MeshAxisAttr(ValueAttribute[structs.StablehloMeshAxis], name="stablehlo.mesh_axis", form=strict_text):
    """`#stablehlo.mesh_axis<...>`."""


class MeshAttr(ValueAttribute[structs.StablehloMesh], name="stablehlo.mesh", text=MESH_TEXT):
    """`#stablehlo.mesh<...>`."""


class ReplicaGroupMeshAxesAttr(
    ValueAttribute[structs.ReplicaGroupMeshAxes], name="stablehlo.replica_group_mesh_axes", form=strict_text
):
    """`#stablehlo.replica_group_mesh_axes<...>`."""


# ---------------------------------------------------------------------- accuracies

RESULT_ACCURACY_MODES = ("DEFAULT", "HIGHEST", "TOLERANCE")


def _read_mode(cursor: Cursor) -> str:
    cursor.expect("<")
    start = cursor.offset
    keyword = cursor.keyword()
    if keyword not in RESULT_ACCURACY_MODES:
        expected = ", ".join(RESULT_ACCURACY_MODES)
        cursor.error(f"expected ::mlir::stablehlo::ResultAccuracyMode to be one of: {expected}", start)
    cursor.expect(">")
    return keyword


_MODE_TEXT = classes.ValueText(_read_mode, lambda mode: f"<{mode}>")


class ResultAccuracyModeAttr(ValueAttribute[str], name="stablehlo.result_accuracy_mode", text=_MODE_TEXT):
    """`#stablehlo.result_accuracy_mode<DEFAULT>`."""


def _read_accuracy(cursor: Cursor) -> structs.ResultAccuracy:
    cursor.expect("<")
    atol = _read_tolerance(cursor, "atol", read_float, 0.0)
    rtol = _read_tolerance(cursor, "rtol", read_float, 0.0)
    ulps = _read_tolerance(cursor, "ulps", Cursor.integer, 0)
    expect_words(cursor, "mode =")
    start = cursor.offset
    mode = cursor.attribute()
    if not isinstance(mode, ResultAccuracyModeAttr):
        cursor.error("invalid kind of attribute specified", start)
    cursor.expect(">")
    return structs.ResultAccuracy(atol, rtol, ulps, mode.data)


def _read_tolerance(cursor: Cursor, name: str, read: Callable[[Cursor], N], default: N) -> N:
    """`name = number,`; the default where it is left out."""
    if not cursor.accept(name):
        return default
    cursor.expect("=")
    number = read(cursor)
    cursor.expect(",")
    return number


def _accuracy_text(value: structs.ResultAccuracy) -> str:
    tolerances = [(name, getattr(value, name)) for name in ("atol", "rtol")]
    numbers = [f"{name} = {untyped_text(FloatAttr(number, f64))}" for name, number in tolerances if number]
    numbers += [f"ulps = {value.ulps}"] if value.ulps else []
    return f"<{', '.join([*numbers, f'mode = #stablehlo.result_accuracy_mode<{value.mode}>'])}>"


_ACCURACY_TEXT = classes.ValueText(_read_accuracy, _accuracy_text)


class ResultAccuracyAttr(
    ValueAttribute[structs.ResultAccuracy], name="stablehlo.result_accuracy", text=_ACCURACY_TEXT
):
    """`#stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>`."""


# ---------------------------------------------------------------------- bounds

_BOUNDS_TEXT = classes.ValueText(
    lambda cursor: tuple(cursor.items(lambda: classes.read_size(cursor), "<", ">")),
    lambda bounds: f"<{', '.join(map(classes.size_text, bounds))}>",
)


class TypeExtensionsAttr(ValueAttribute[tuple[int, ...]], name="stablehlo.bounds", text=_BOUNDS_TEXT):
    """`#stablehlo.bounds<4, ?>`: bounds by dimension, as the encoding of a tensor type."""

    def check_encoding(self, tensor: TensorType[Attribute]) -> str | None:
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
    expect_words(cursor, "<bounds =")
    bounds = classes.read_sizes(cursor)
    cursor.expect(">")
    return TypeExtensionsAttr(bounds)


# ---------------------------------------------------------------------- types


@irdl_attr_definition
class TokenType(DialectType):
    """`!stablehlo.token`: orders side effects."""

    name = "stablehlo.token"


@irdl_attr_definition
class FutureType(DialectType):
    """`!stablehlo.future<tensor<8xf32>>`: the results of an asynchronous op."""

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


# ---------------------------------------------------------------------- the tables

ENCLOSED = classes.mnemonics(
    PrecisionAttr,
    FftTypeAttr,
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    TransposeAttr,
    RngDistributionAttr,
    RngAlgorithmAttr,
)
"""`#stablehlo<name KEYWORD>` by name."""

_BOUNDS = TypeExtensionsAttr.syntax()
ATTRIBUTES = {
    **classes.mnemonics(DotDimensionNumbersAttr, GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr),
    **classes.mnemonics(
        ConvDimensionNumbersAttr, DotAlgorithmAttr, ChannelHandleAttr, OutputOperandAliasAttr
    ),
    **classes.mnemonics(ResultAccuracyModeAttr, ResultAccuracyAttr, SubAxisInfoAttr, AxisRefAttr),
    **classes.mnemonics(MeshAxisAttr, MeshAttr, ReplicaGroupMeshAxesAttr),
    "type_extensions": AttributeSyntax(TypeExtensionsAttr, _read_type_extensions, _BOUNDS.write),
    "bounds": _BOUNDS,  # behind type_extensions: the last of a class is the one it prints as
}
"""`#stablehlo.name<...>` by name."""

TYPES = {
    "token": AttributeSyntax(TokenType, lambda cursor: _TOKEN, lambda type_: ""),
    "future": AttributeSyntax(
        FutureType, _read_future, lambda type_: f"<{', '.join(map(type_text, type_.types.data))}>"
    ),
}
"""`!stablehlo.name` by name."""
