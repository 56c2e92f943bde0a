"""Ops whose own syntax only xDSL knows: read and printed by xDSL's parser and printer.

Regions inside such an op are xDSL's too; names of values in scope are handed over both ways.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from shardy_py.text.source import source_location

if TYPE_CHECKING:
    from shardy_py.text.reader import OpReader
    from shardy_py.text.writer import OpWriter


def make_context() -> Context:
    """An xDSL context with the dialects that ship with xDSL."""
    from xdsl.dialects import get_all_dialects

    context = Context(allow_unregistered=True)
    for name, factory in get_all_dialects().items():
        if name not in ("stablehlo", "sdy", "chlo"):
            context.register_dialect(name, factory)
    return context


def read_custom(reader: OpReader, op_class: type[Operation], name: str, start: int) -> Operation:
    """The op at the reader's cursor (on its name), read by xDSL."""
    parser = Parser(make_context(), reader.text, reader.source.file)
    parser.ssa_values = {
        key[1:]: (value,) for key, value in reader.values.items() if "#" not in key
    }
    parser._resume_from(reader.offset)  # pyright: ignore[reportPrivateUsage]
    try:
        op = parser.parse_operation()
    except (ParseError, VerifyException) as error:
        span: Any = getattr(error, "span", None)
        lines = str(error.args[-1] if error.args else error).strip().splitlines()
        reader.error(lines[-1] if lines else "invalid operation", span.start if span is not None else start)
    if op.parent is None:
        reader.block.add_op(op)
    op.location = source_location(reader.source, start)
    for name_, _ in [(n, 0) for n in parser.ssa_values if f"%{n}" not in reader.values]:
        del name_
    reader.move_to(parser.pos)
    return op


def write_custom(writer: OpWriter, op: Operation) -> None:
    """Prints an op by xDSL, with our names for values."""
    stream = io.StringIO()
    printer = Printer(stream)
    for value in [*op.operands, *op.results]:
        text = writer.names.of.get(id(value))
        if text is not None:
            printer._ssa_values[value] = text[1:]  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    stream.write(op.name)
    op.print(printer)
    writer.write(stream.getvalue().replace("\n", "\n" + writer.indent))
