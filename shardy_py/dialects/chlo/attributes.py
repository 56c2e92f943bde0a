"""CHLO's attributes: its own comparison enums and precision, and the numbers of a ragged dot.

>>> ComparisonDirectionAttr("LT").plain()
'LT'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from shardy_py.dialects.attribute_classes import enum_class, loose_spelling, value_class

_enum = partial(enum_class, "chlo")

ComparisonDirectionAttr = _enum(
    "comparison_direction", ("EQ", "NE", "GE", "GT", "LE", "LT"), "ComparisonDirection"
)
ComparisonTypeAttr = _enum(
    "comparison_type", ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"), "ComparisonType"
)
PrecisionAttr = _enum("precision", ("DEFAULT", "HIGH", "HIGHEST"), "Precision")


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Which dimensions of a ragged dot are batch, contracted, ragged, and of groups."""

    lhs_batching_dimensions: tuple[int, ...] = ()
    rhs_batching_dimensions: tuple[int, ...] = ()
    lhs_contracting_dimensions: tuple[int, ...] = ()
    rhs_contracting_dimensions: tuple[int, ...] = ()
    lhs_ragged_dimensions: tuple[int, ...] = ()
    rhs_group_dimensions: tuple[int, ...] = ()


RaggedDotDimensionNumbersAttr = value_class(
    "chlo", "ragged_dot", lambda make: loose_spelling(RaggedDotDimensionNumbers, make)
)

ATTRIBUTES = {"ragged_dot": RaggedDotDimensionNumbersAttr.syntax()}
"""`#chlo.name<...>` by name."""

ENCLOSED = {
    enum.name.partition(".")[2]: enum.syntax()
    for enum in (ComparisonDirectionAttr, ComparisonTypeAttr, PrecisionAttr)
}
"""`#chlo<name KEYWORD>` by name."""
