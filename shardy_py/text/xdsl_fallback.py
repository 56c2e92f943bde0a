"""Ops whose own syntax only xDSL knows: read and printed by xDSL's parser and printer.

Names of values, aliases and attributes are ours both ways; ops inside the regions of such an op are read by
xDSL and printed by us.
"""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

from typing_extensions import override
from xdsl.context import Context
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from shardy_py.text.attribute_writer import attribute_text
from shardy_py.text.cursor import MAX_NESTING
from shardy_py.text.source import source_location

if TYPE_CHECKING:
    from shardy_py.text.reader import OpReader
    from shardy_py.text.writer import OpWriter

_OURS = ("stablehlo", "sdy", "chlo")


def make_context() -> Context:
    """An xDSL context with the dialects that ship with xDSL."""
    from xdsl.dialects import get_all_dialects

    context = Context(allow_unregistered=True)
    for name, factory in get_all_dialects().items():
        if name not in _OURS:
            context.register_dialect(name, factory)
    return context


shared_context = cache(make_context)
"""The one context of the process; dialects that are registered are added to it."""


def read_custom(reader: OpReader, start: int) -> Operation:
    """The op at the reader's cursor (on its name), read by xDSL; it goes to the end of the current block."""
    parser = Parser(shared_context(), reader.text, reader.source.file)
    parser.ssa_values = _groups(reader.values)
    parser.attribute_aliases.update({f"#{name}": found for name, found in reader.aliases.items()})
    parser.attribute_aliases.update({f"!{name}": found for name, found in reader.type_aliases.items()})
    parser._resume_from(reader.offset)  # pyright: ignore[reportPrivateUsage]
    try:
        op = parser.parse_operation()
        end = parser.pos
    except ParseError as error:
        span: Any = error.span
        reader.error(_last_line(error.args[-1] if error.args else error), span.start)
    except RecursionError:
        reader.error(f"nesting exceeds {MAX_NESTING} levels", start)
    except (
        VerifyException,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        AssertionError,
    ) as error:
        reader.error(_last_line(error), start)
    if parser.forward_ssa_references:
        name = next(iter(parser.forward_ssa_references))
        reader.error("use of undeclared SSA value name", max(reader.text.find(f"%{name}", start, end), start))
    if op.parent is None:
        reader.block.add_op(op)
    for inner in op.walk():
        inner.location = source_location(reader.source, start)
    reader.remake = None
    reader.move_to(end)
    return op


def _last_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else "invalid operation"


def _groups(values: dict[str, SSAValue]) -> dict[str, tuple[SSAValue, ...]]:
    """Values by name without `%`, those of a group of results together."""
    groups: dict[str, tuple[SSAValue, ...]] = {}
    for name, value in values.items():
        base, _, number = name[1:].partition("#")
        if not number:
            groups[base] = (value,)
        elif number != "0":
            groups[base] = (*groups[base], value)
    return groups


class _Printer(Printer):
    """xDSL's printer with our names, attributes and nested ops."""

    def __init__(self, stream: io.StringIO, writer: OpWriter) -> None:
        super().__init__(stream)
        self._writer = writer

    @override
    def print_ssa_value(self, value: SSAValue) -> str:
        name = self._writer.operand_text(value)
        self.print_string(name)
        return name[1:]

    @override
    def print_attribute(self, attribute: Attribute) -> None:
        self.print_string(attribute_text(attribute))

    @override
    def print_op(self, op: Operation) -> None:
        self.print_string(self._writer.nested_text(op, "  " * self._indent))


def write_custom(writer: OpWriter, op: Operation) -> None:
    """Prints an op by xDSL, its name included."""
    stream = io.StringIO()
    stream.write(op.name)
    op.print(_Printer(stream, writer))
    writer.write(stream.getvalue().replace("\n", "\n" + writer.indent))
