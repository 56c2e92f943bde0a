"""Attributes of this package's dialects: values in xDSL's shape, of one syntax in xDSL's text and in ours.

Not here: the attributes (their dialects), nor how each is spelled (the table that `syntax.py` tells of).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override
from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute

from shardy_py.errors import InternalError
from shardy_py.text.cursor import Cursor
from shardy_py.text.source import Source
from shardy_py.text.syntax import AttributeSyntax, syntax_table

if TYPE_CHECKING:
    from xdsl.parser import AttrParser
    from xdsl.printer import Printer

T = TypeVar("T")


class DialectAttribute(Data[T]):
    """An attribute around a frozen value; xDSL's own parser and printer go through the table's syntax."""

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> Any:
        state: Any = parser
        source = Source(state.lexer.input.content, state.lexer.input.name)
        cursor = Cursor(source, syntax_table(), state.pos)
        made: Any = _syntax_of(cls).read(cursor)
        state._resume_from(cursor.previous_end)
        return made.data

    @override
    def print_parameter(self, printer: Printer) -> None:
        text = _syntax_of(type(self)).write(self)
        is_spaced = isinstance(self, SpacedOpaqueSyntaxAttribute)  # xDSL itself prints the space
        printer.print_string(text.removeprefix(" ") if is_spaced else text)

    def plain(self) -> Any:
        """The value."""
        return self.data


def _syntax_of(attribute_class: type) -> AttributeSyntax:
    found = syntax_table().prefix_and_syntax(attribute_class)
    if found is None:
        raise InternalError(f"no dialect has a syntax for {attribute_class.__name__}")
    return found[1]
