"""What the words in StableHLO's rows mean: kinds of attributes, defaults, parts of forms.

Not here: words that any dialect may use (`dialects/kinds.py`).
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, IndexType, StringAttr
from xdsl.ir import Attribute

from shardy_py.dialects.attribute_classes import EnumAttribute, ValueAttribute
from shardy_py.dialects.kinds import DEFAULTS, KINDS, Kind, Vocabulary, array_of, is_a, is_of
from shardy_py.dialects.stablehlo import attributes as a
from shardy_py.dialects.stablehlo.elements import CONV_DIMENSIONS, ELEMENTS
from shardy_py.dialects.stablehlo.structs import ResultAccuracy
from shardy_py.text.assembly import Spelling
from shardy_py.text.attribute_reader import string_attribute
from shardy_py.text.attribute_writer import symbol_text
from shardy_py.text.cursor import Cursor


def precisions_spelling(enum: type[EnumAttribute]) -> Spelling:
    """`[DEFAULT, HIGH]`."""
    return Spelling(
        lambda cursor: ArrayAttr(cursor.items(lambda: enum.spelling.read(cursor))),
        lambda attribute: f"[{', '.join(element.data for element in attribute.data)}]",
    )


def _is_layout(attribute: Any) -> bool:
    if not is_of(attribute, DenseIntOrFPElementsAttr):
        return False
    return isinstance(attribute.type.element_type, IndexType) and len(attribute.type.get_shape()) == 1


def _is_layouts(attribute: Any) -> bool:
    return is_of(attribute, ArrayAttr) and all(map(_is_layout, attribute.data))


def _read_target(cursor: Cursor) -> Attribute:
    return string_attribute(cursor.symbol())


_TARGET = Spelling(_read_target, lambda attribute: symbol_text(attribute.data))
_CLASSES: dict[str, type[ValueAttribute]] = {
    "comparison_direction": a.ComparisonDirectionAttr,
    "comparison_type": a.ComparisonTypeAttr,
    "fft_type": a.FftTypeAttr,
    "transpose": a.TransposeAttr,
    "rng_distribution": a.RngDistributionAttr,
    "rng_algorithm": a.RngAlgorithmAttr,
    "dot": a.DotDimensionNumbersAttr,
    "dot_algorithm": a.DotAlgorithmAttr,
    "gather": a.GatherDimensionNumbersAttr,
    "scatter": a.ScatterDimensionNumbersAttr,
    "channel": a.ChannelHandleAttr,
    "accuracy": a.ResultAccuracyAttr,
}
_OWN_KINDS = {
    **{name: is_a(attribute_class) for name, attribute_class in _CLASSES.items()},
    "conv": Kind("", is_a(a.ConvDimensionNumbersAttr).accepts, CONV_DIMENSIONS),
    "precisions": array_of(
        "Precision Config attribute", is_a(a.PrecisionAttr).accepts, precisions_spelling(a.PrecisionAttr)
    ),
    "target": Kind("string attribute", lambda attribute: isinstance(attribute, StringAttr), _TARGET),
    "layouts": array_of("Array of layout (1D tensor of index type) attributes", _is_layout),
    "tilings": array_of("Array of tiling attributes", _is_layouts),
    "aliases": array_of(
        "Aliasing attribute for outputs and operands of CustomCall", is_a(a.OutputOperandAliasAttr).accepts
    ),
    "groups": Kind(
        "",
        lambda attribute: (
            KINDS["table"].accepts(attribute) or isinstance(attribute, a.ReplicaGroupMeshAxesAttr)
        ),
    ),
}

WORDS = Vocabulary(
    "stablehlo",
    kinds={**KINDS, **_OWN_KINDS},
    defaults={**DEFAULTS, "default_accuracy": a.ResultAccuracyAttr(ResultAccuracy())},
    elements=ELEMENTS,
)
"""The words of StableHLO's rows."""
