"""CHLO's attributes: its own comparison enums and precision, and the numbers of a ragged dot.

>>> ComparisonDirectionAttr("LT").plain()
'LT'
"""

from __future__ import annotations

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.attribute_classes import EnumAttribute, ValueAttribute, mnemonics


class ComparisonDirectionAttr(EnumAttribute, name="chlo.comparison_direction", keywords="EQ NE GE GT LE LT"):
    """`#chlo<comparison_direction EQ>`."""


class ComparisonTypeAttr(
    EnumAttribute, name="chlo.comparison_type", keywords="NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED"
):
    """`#chlo<comparison_type NOTYPE>`."""


class PrecisionAttr(EnumAttribute, name="chlo.precision", keywords="DEFAULT HIGH HIGHEST"):
    """`#chlo<precision DEFAULT>`."""


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Which dimensions of a ragged dot are batch, contracted, ragged, and of groups."""

    lhs_batching_dimensions: tuple[int, ...] = ()
    rhs_batching_dimensions: tuple[int, ...] = ()
    lhs_contracting_dimensions: tuple[int, ...] = ()
    rhs_contracting_dimensions: tuple[int, ...] = ()
    lhs_ragged_dimensions: tuple[int, ...] = ()
    rhs_group_dimensions: tuple[int, ...] = ()


class RaggedDotDimensionNumbersAttr(ValueAttribute[RaggedDotDimensionNumbers], name="chlo.ragged_dot"):
    """`#chlo.ragged_dot<...>`."""


ATTRIBUTES = mnemonics(RaggedDotDimensionNumbersAttr)
"""`#chlo.name<...>` by name."""

ENCLOSED = mnemonics(ComparisonDirectionAttr, ComparisonTypeAttr, PrecisionAttr)
"""`#chlo<name KEYWORD>` by name."""
