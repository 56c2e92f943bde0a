"""The StableHLO dialect: ops from rows, attributes, their syntax.

`rows/` lists the ops. Their classes are made when first used: `from shardy_py.mlir.dialects.stablehlo import
AddOp`.

>>> op_class("dot_general").name
'stablehlo.dot_general'
"""

from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.dialects.stablehlo.attributes import ATTRIBUTES, ENCLOSED, TYPES
from shardy_py.mlir.dialects.stablehlo.elements import ELEMENTS
from shardy_py.mlir.dialects.stablehlo.rows import ROWS
from shardy_py.mlir.text import DialectSyntax

OPS = OpTable("stablehlo", ROWS, ELEMENTS)
"""Every op of the dialect."""

STABLEHLO = DialectSyntax(
    "stablehlo",
    OPS.syntax,
    ATTRIBUTES,
    TYPES,
    ENCLOSED,
    unknown_attribute="unknown StableHLO attribute",
    unknown_type="unknown stablehlo type: {0}",
)
"""The dialect's syntax."""


QUANT = DialectSyntax("quant", lambda name: None, is_opaque=True)
"""The dialect of quantized element types, whose types are kept as text."""


if TYPE_CHECKING:
    from shardy_py.mlir.dialects.stablehlo.op_classes import *  # noqa: F403  (every class of a row)
else:
    __getattr__ = OPS.class_named
op_class = OPS.op_class


def xdsl_dialect() -> Dialect:
    """The dialect for xDSL, with the classes of all ops."""
    return OPS.xdsl_dialect(ATTRIBUTES, TYPES, ENCLOSED)


__all__ = ["OPS", "QUANT", "STABLEHLO", "op_class", "xdsl_dialect"]
