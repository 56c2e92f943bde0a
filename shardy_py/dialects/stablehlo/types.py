"""StableHLO's types besides those of MLIR itself: tokens and futures."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_attr_definition

from shardy_py.text.attribute_writer import type_text
from shardy_py.text.cursor import Cursor
from shardy_py.text.syntax import AttributeSyntax
from shardy_py.text.xdsl_hooks import DialectType


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


TYPES = {
    "token": AttributeSyntax(TokenType, lambda cursor: _TOKEN, lambda type_: ""),
    "future": AttributeSyntax(
        FutureType, _read_future, lambda type_: f"<{', '.join(map(type_text, type_.types.data))}>"
    ),
}
"""`!stablehlo.name` by name."""
