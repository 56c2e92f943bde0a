"""Kinds of attributes of StableHLO's ops, by the names that its rows use.

Not here: kinds that any dialect may use (`mlir/dialects/kinds.py`), those of types (`type_kinds.py`).
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ArrayAttr, IndexType
from xdsl.ir import Attribute

from shardy_py.mlir.dialects import kinds
from shardy_py.mlir.dialects.encoding import ATTRIBUTE, Encoding, enum_encoding, table
from shardy_py.mlir.dialects.stablehlo import attributes as a
from shardy_py.mlir.dialects.stablehlo import structs
from shardy_py.mlir.dialects.stablehlo.elements import CONV_DIMENSIONS
from shardy_py.mlir.text.assembly import Spelling
from shardy_py.mlir.text.attribute_reader import string_attribute
from shardy_py.mlir.text.attribute_writer import symbol_text
from shardy_py.mlir.text.builtin_attributes import is_array, is_dense, is_integer_attribute

_PRECISIONS = Spelling(
    lambda cursor: ArrayAttr(cursor.items(lambda: a.PrecisionAttr.spelling.read(cursor))),
    lambda attribute: f"[{', '.join(element.data for element in attribute.data)}]",
)
_TARGET = Spelling(
    lambda cursor: string_attribute(cursor.symbol()), lambda attribute: symbol_text(attribute.data)
)


def _is_layout(attribute: Attribute) -> bool:
    if not is_dense(attribute):
        return False
    return isinstance(attribute.type.element_type, IndexType) and len(attribute.type.get_shape()) == 1


def _is_layouts(attribute: Attribute) -> bool:
    return is_array(attribute) and all(map(_is_layout, attribute.data))


_MAX_API_VERSION = 4


def _is_api_version(attribute: Attribute) -> bool:
    if not is_integer_attribute(attribute) or not kinds.I32.accepts(attribute):
        return False
    return 0 <= attribute.value.data <= _MAX_API_VERSION


def _is_groups(attribute: Attribute) -> bool:
    return kinds.TABLE.accepts(attribute) or isinstance(attribute, a.ReplicaGroupMeshAxesAttr)


COMPARISON_DIRECTION = kinds.own_kind(a.ComparisonDirectionAttr, "Which comparison operation to perform.")
COMPARISON_TYPE = kinds.own_kind(a.ComparisonTypeAttr, "Which comparison type to use.")
FFT_TYPE = kinds.own_kind(a.FftTypeAttr, "XLA fast fourier transform type.")
TRANSPOSE = kinds.own_kind(a.TransposeAttr, "Transpose options")
RNG_DISTRIBUTION = kinds.own_kind(a.RngDistributionAttr, "XLA PRNG distribution to be used.")
RNG_ALGORITHM = kinds.own_kind(a.RngAlgorithmAttr, "XLA PRNG algorithm to be used.")
DOT = kinds.own_kind(a.DotDimensionNumbersAttr, "Attribute that models the dimension information for dot.")
CONV = replace(
    kinds.own_kind(a.ConvDimensionNumbersAttr, "Structure of dimension information for conv op"),
    spelling=CONV_DIMENSIONS,
)
DOT_ALGORITHM = kinds.own_kind(
    a.DotAlgorithmAttr, "Attribute that models the algorithm constraints to use for computing dot."
)
GATHER = kinds.own_kind(
    a.GatherDimensionNumbersAttr, "Attribute that models the dimension information for gather"
)
SCATTER = kinds.own_kind(
    a.ScatterDimensionNumbersAttr, "Attribute that models the dimension information for scatter"
)
CHANNEL_HANDLE = kinds.own_kind(a.ChannelHandleAttr, "two 64-bit integers 'handle' and 'type'")
RESULT_ACCURACY = kinds.own_kind(a.ResultAccuracyAttr, "The requested accuracy for transcendental unary ops.")
PRECISIONS = kinds.array_of(
    "Precision Config attribute",
    kinds.is_instance(a.PrecisionAttr),
    enum_encoding(a.PrecisionAttr),
    _PRECISIONS,
)
TARGET = replace(kinds.STRING, spelling=_TARGET)
API_VERSION = replace(kinds.I32, description="Custom call API version", accepts=_is_api_version)
LAYOUTS = kinds.array_of("Array of layout (1D tensor of index type) attributes", _is_layout, ATTRIBUTE)
TILINGS = kinds.array_of("Array of tiling attributes", _is_layouts, ATTRIBUTE)
ALIASES = kinds.array_of(
    "Aliasing attribute for outputs and operands of CustomCall",
    kinds.is_instance(a.OutputOperandAliasAttr),
    Encoding("OutputOperandAliasAttr"),
)
GROUPS = kinds.AttributeKind(
    "64-bit signless integer elements attribute or mesh and axes based replica groups representation.",
    _is_groups,
    encoding=Encoding(
        "DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr", "Sequence[Sequence[int]]", table
    ),
)
DEFAULT_ACCURACY = a.ResultAccuracyAttr(structs.ResultAccuracy())
"""The accuracy of ops that do not state one."""
