"""CHLO's attributes: its own comparison enums and precision, and the numbers of a ragged dot.

>>> ComparisonDirectionAttr("LT").plain()
'LT'
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.irdl import irdl_attr_definition

from shardy_py.dialects.attribute_classes import EnumAttribute, ValueAttribute, loose_text


@irdl_attr_definition
class ComparisonDirectionAttr(EnumAttribute):
    """`#chlo<comparison_direction EQ>`."""

    name = "chlo.comparison_direction"
    keywords = ("EQ", "NE", "GE", "GT", "LE", "LT")
    cpp_name = "ComparisonDirection"


@irdl_attr_definition
class ComparisonTypeAttr(EnumAttribute):
    """`#chlo<comparison_type NOTYPE>`."""

    name = "chlo.comparison_type"
    keywords = ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
    cpp_name = "ComparisonType"


@irdl_attr_definition
class PrecisionAttr(EnumAttribute):
    """`#chlo<precision DEFAULT>`."""

    name = "chlo.precision"
    keywords = ("DEFAULT", "HIGH", "HIGHEST")
    cpp_name = "Precision"


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Which dimensions of a ragged dot are batch, contracted, ragged, and of groups."""

    lhs_batching_dimensions: tuple[int, ...] = ()
    rhs_batching_dimensions: tuple[int, ...] = ()
    lhs_contracting_dimensions: tuple[int, ...] = ()
    rhs_contracting_dimensions: tuple[int, ...] = ()
    lhs_ragged_dimensions: tuple[int, ...] = ()
    rhs_group_dimensions: tuple[int, ...] = ()


@irdl_attr_definition
class RaggedDotDimensionNumbersAttr(ValueAttribute[RaggedDotDimensionNumbers]):
    """`#chlo.ragged_dot<...>`."""

    name = "chlo.ragged_dot"
    text = loose_text(RaggedDotDimensionNumbers)


ATTRIBUTES = {"ragged_dot": RaggedDotDimensionNumbersAttr.syntax()}
"""`#chlo.name<...>` by name."""

ENCLOSED = {
    enum.name.partition(".")[2]: enum.syntax()
    for enum in (ComparisonDirectionAttr, ComparisonTypeAttr, PrecisionAttr)
}
"""`#chlo<name KEYWORD>` by name."""
