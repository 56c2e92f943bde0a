"""The CHLO dialect: ops from rows, attributes, their syntax.

>>> op_class("top_k").name
'chlo.top_k'
"""

from xdsl.ir import Dialect, Operation

from shardy_py.dialects.chlo.attributes import ATTRIBUTES, ENCLOSED
from shardy_py.dialects.chlo.ops import OPS
from shardy_py.text import DialectSyntax

CHLO = DialectSyntax(
    "chlo",
    OPS.syntax,
    ATTRIBUTES,
    enclosed=ENCLOSED,
    unknown_attribute="unknown chlo attribute",
    unknown_type="dialect 'chlo' provides no type parsing hook",
)
"""The dialect's syntax."""


def __getattr__(name: str) -> type[Operation]:
    """The class of an op by its name: `AcosOp`."""
    return OPS.class_named(name)


def op_class(name: str) -> type[Operation]:
    """The class of an op by its name without the dialect's."""
    return OPS.op_class(name)


def xdsl_dialect() -> Dialect:
    """The dialect for xDSL, with the classes of all ops."""
    attributes = [syntax.attribute_class for syntax in (*ATTRIBUTES.values(), *ENCLOSED.values())]
    return Dialect("chlo", OPS.all_classes(), attributes)


__all__ = ["CHLO", "OPS", "op_class", "xdsl_dialect"]
