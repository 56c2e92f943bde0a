"""The CHLO dialect: ops from rows, attributes, their syntax.

>>> op_class("top_k").name
'chlo.top_k'
"""

from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from shardy_py.mlir.dialects.chlo.attributes import ATTRIBUTES, ENCLOSED
from shardy_py.mlir.dialects.chlo.ops import OPS
from shardy_py.mlir.text import DialectSyntax

CHLO = DialectSyntax(
    "chlo",
    OPS.syntax,
    ATTRIBUTES,
    enclosed=ENCLOSED,
    unknown_attribute="unknown chlo attribute",
    unknown_type="dialect 'chlo' provides no type parsing hook",
)
"""The dialect's syntax."""


if TYPE_CHECKING:
    from shardy_py.mlir.dialects.chlo.op_classes import *  # noqa: F403  (every class of a row)
else:
    __getattr__ = OPS.class_named
op_class = OPS.op_class


def xdsl_dialect() -> Dialect:
    """The dialect for xDSL, with the classes of all ops."""
    return OPS.xdsl_dialect(ATTRIBUTES, ENCLOSED)


__all__ = ["CHLO", "OPS", "op_class", "xdsl_dialect"]
