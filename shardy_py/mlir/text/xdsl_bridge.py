"""Our reader and printer within xDSL's, and xDSL's within ours.

One side is the host: it started on the text, and keeps names of values, labels and the checks of unknown ops.
The other is the guest: it reads or prints the line of a single op, and returns the op's regions to the host.

- xDSL's parser and printer as hosts of our ops: `parse_op`, `print_op`, called by `xdsl_hooks.py`
- ours as hosts of ops that only xDSL has a syntax for (`scf.if`): `read_custom`, `write_custom`
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Span

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.ir import give_text, printed_names, resume_parser
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.cursor import MAX_NESTING, Cursor
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.mlir.text.literal_reader import read_dense
from shardy_py.mlir.text.op_writer import INCOMPLETE, OpWriter, is_valid
from shardy_py.mlir.text.reader import OpReader, RegionArgument
from shardy_py.mlir.text.source import Source, source_location
from shardy_py.mlir.text.syntax import AssemblyForm, AttributeSyntax, operation_name, syntax_table
from shardy_py.mlir.typed import of_kind

if TYPE_CHECKING:
    from shardy_py.mlir.text.writer import ModuleWriter

OpT = TypeVar("OpT", bound=Operation)

# --------------------------------------------------------- our reader as a guest of xDSL's parser


@lru_cache(maxsize=2)
def _source(text: str, file: str) -> Source:
    """The source of a parser; cached, so that its lines are counted once for all ops in it."""
    return Source(text, file)


def _source_of(parser: AttrParser) -> Source:
    return _source(parser.lexer.input.content, parser.lexer.input.name)


def _copy_aliases(parser: AttrParser, cursor: Cursor) -> None:
    for name, attribute in parser.attribute_aliases.items():
        (cursor.aliases if name[0] == "#" else cursor.type_aliases)[name[1:]] = attribute


@contextmanager
def _parse_errors(parser: AttrParser) -> Generator[None]:
    """Raises the errors of our readers as those of xDSL's parser."""
    try:
        with deep_stack():
            yield
    except ShardyError as error:
        place = error.first.where
        source = _source_of(parser)
        offset = parser.pos if place is None else source.line_starts[place.line - 1] + place.column - 1
        parser.raise_error(error.first.message, offset)
    except VerifyException as error:
        parser.raise_error(_last_line(error))


def parse_attribute(syntax: AttributeSyntax, parser: AttrParser) -> Attribute:
    """Reads an attribute from behind its mnemonic."""
    with _parse_errors(parser):
        cursor = Cursor(_source_of(parser), syntax_table(), parser.pos)
        _copy_aliases(parser, cursor)
        made = syntax.read(cursor)
    resume_parser(parser, cursor.previous_end)
    return made


def parse_op(op_class: type[OpT], parser: Parser) -> OpT:
    """Reads an op from behind its name."""
    with _parse_errors(parser):
        reader = _GuestReader(parser)
        made = reader.read_op(op_class)
    resume_parser(parser, reader.previous_end)
    return made


class _GuestReader(OpReader):
    """Reads one op; values and regions are those of xDSL's parser."""

    __slots__ = ("parser",)

    def __init__(self, parser: Parser) -> None:
        super().__init__(_source_of(parser), syntax_table(), allow_unregistered=parser.ctx.allow_unregistered)
        self.parser = parser
        self.move_to(parser.pos)
        _copy_aliases(parser, self)

    def read_op(self, op_class: type[OpT]) -> OpT:
        """The op whose name precedes the cursor."""
        name = operation_name(op_class)
        dialect, dot, mnemonic = name.partition(".")  # within a region, the dialect may be left out
        start = max(self.text.rfind(mnemonic, 0, self.offset), 0)
        if self.text.endswith(dialect + dot, 0, start):
            start -= len(dialect + dot)
        self.custom_op = name
        op = self._make(op_class, name, _form_of(op_class).read(self), start)
        op.detach()
        return of_kind(op, op_class)

    @override
    def _resolve(self, name: str, offset: int, type_: Attribute) -> SSAValue:
        base, _, number = name.partition("#")
        return self.parser.resolve_operand(
            UnresolvedOperand(self._span(base, offset), int(number or 0)), type_
        )

    @override
    def region(
        self, arguments: Sequence[RegionArgument] = (), *, default_dialect: str | None = None
    ) -> Region:
        given = [
            Parser.Argument(self._span(a.name, a.offset), a.type, self._known_location(a)) for a in arguments
        ]
        resume_parser(self.parser, self.offset)
        region = self.parser.parse_region(given or None)
        self.move_to(self.parser.pos)
        return region

    def _span(self, name: str, offset: int) -> Span:
        return Span(offset, offset + len(name), self.parser.lexer.input)

    def _known_location(self, argument: RegionArgument) -> Any:
        return None if argument.location is None else self._argument_location(argument)


def _form_of(op_class: type[Operation]) -> AssemblyForm:
    syntax = syntax_table().op(operation_name(op_class))
    assert syntax is not None
    assert syntax.form is not None
    return syntax.form


# --------------------------------------------------------- our writer as a guest of xDSL's printer


def print_op(op: Operation, printer: Printer) -> None:
    """Prints an op from behind its name; in generic form if its own form cannot print it."""
    writer = _GuestWriter(printer)
    try:
        _form_of(type(op)).write(writer, op)
    except INCOMPLETE:
        if is_valid(op):
            raise
        printer.print_op_with_default_format(op)
    else:
        writer.flush()


class _GuestWriter(OpWriter):
    """Writes one op; names of values and regions are those of xDSL's printer.

    parts: what prints the op up to `pieces`: held back, as a form may fail half-way on an incomplete op.
    """

    def __init__(self, printer: Printer) -> None:
        super().__init__(debuginfo=printer.print_debuginfo)
        self.printer = printer
        self.parts: list[Callable[[], object]] = []

    def flush(self) -> None:
        """Prints what has been written."""
        for part in self.parts:
            part()
        self.printer.print_string("".join(self.pieces))

    def _then(self, part: Callable[[], object]) -> None:
        self.parts += (partial(self.printer.print_string, "".join(self.pieces)), part)
        self.pieces.clear()

    @override
    def operand(self, value: SSAValue) -> None:
        self._then(lambda: self.printer.print_ssa_value(value))

    @override
    def region(
        self,
        region: Region,
        *,
        default_dialect: str | None = None,
        hide_arguments: bool = False,
        label_empty: bool = False,
        hide_terminators: bool = False,
    ) -> None:
        def write() -> None:
            if hide_arguments:
                _share_argument_names(region, printed_names(self.printer))
            self.printer.print_region(
                region,
                print_entry_block_args=not hide_arguments,
                print_empty_block=label_empty,
                print_block_terminators=not hide_terminators,
            )

        self._then(write)


def _share_argument_names(region: Region, names: dict[SSAValue, str]) -> None:
    """Gives arguments that the op has not written the names of those of its other regions (`while`)."""
    op = region.parent
    for other in op.regions if op is not None else ():
        for mine, theirs in zip(region.blocks[0].args, other.blocks[0].args, strict=False):
            if mine not in names and theirs in names:
                names[mine] = names[theirs]


# --------------------------------------------------------- xDSL's parser as a guest of our reader


def read_custom(reader: OpReader, start: int, context: Context) -> Operation:
    """The op at the reader's cursor (on its name), read by xDSL; it goes to the end of the current block."""
    parser = _GuestParser(reader, context)
    try:
        op = parser.parse_operation()
    except ParseError as error:
        span = error.span
        reader.error(_last_line(error.args[-1] if error.args else error), span.start)
    except RecursionError:
        reader.error(f"nesting exceeds {MAX_NESTING} levels", start)
    except struct.error:  # its text is another one in each release of Python
        reader.error("integer out of the range of its type", start)
    except _XDSL_ERRORS as error:
        reader.error(_last_line(error), start)
    reader.block.add_op(op)
    op.location = source_location(reader.source, start)
    reader.remake = None
    reader.place = start
    reader.move_to(parser.pos)
    return op


_XDSL_ERRORS = (
    *(VerifyException, ValueError, TypeError, LookupError, AttributeError, AssertionError),
    *(ArithmeticError, NotImplementedError),
)
"""The exceptions that parsers of xDSL's dialects raise on invalid input."""


def _last_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else "invalid operation"


_NEAR = 80
_BEFORE_ATTRIBUTES = ("=", ",", "[", "<", "(")
"""The beginning of an attribute, which may be a location as well."""


class _GuestParser(Parser):
    """xDSL's parser of one op; values, labels and regions are those of our reader."""

    def __init__(self, reader: OpReader, context: Context) -> None:
        super().__init__(context, "", reader.source.file)
        give_text(self, reader.text, reader.source.file)
        self.reader = reader
        self.attribute_aliases.update({f"#{name}": found for name, found in reader.aliases.items()})
        self.attribute_aliases.update({f"!{name}": found for name, found in reader.type_aliases.items()})
        resume_parser(self, reader.offset)

    @override
    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> Any:
        return self.reader.resolve([(_name_of(operand), operand.span.start)], [type])[0]

    @override
    def parse_optional_location(self) -> LocationAttr | None:
        """None behind an op, where our reader reads it: the alias of a location may be defined later."""
        before = self.reader.text[max(0, self.pos - _NEAR) : self.pos].rstrip()
        return super().parse_optional_location() if before[-1:] in _BEFORE_ATTRIBUTES else None

    @override
    def _parse_optional_operand_without_type(self) -> SSAValue | None:
        operand = self.parse_optional_unresolved_operand()
        if operand is None:
            return None
        value = self.reader.values.get(_name_of(operand))
        return self.raise_error("SSA value used before assignment", operand.span) if value is None else value

    @override
    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        reader = self.reader
        reader.move_to(self.pos)
        if not reader.at("{"):
            return None
        given = [RegionArgument(a.name.text, a.type, a.name.start, {}, a.location) for a in arguments or ()]
        region = reader.region(given)
        if arguments is not None and not region.blocks:
            region.add_block(Block())
        resume_parser(self, reader.previous_end)
        return region

    @override
    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> Any:
        # Ours keeps one element of a splat, where xDSL's makes as many as the type has.
        self.reader.move_to(self.reader.text.rindex("dense", 0, self.pos))
        found = read_dense(self.reader, type)
        resume_parser(self, self.reader.previous_end)
        return found

    @override
    def parse_optional_successor(self) -> Block | None:
        reader = self.reader
        reader.move_to(self.pos)
        if reader.token[:1] != "^":
            return None
        block = reader.successor()
        resume_parser(self, reader.previous_end)
        return block


def _name_of(operand: UnresolvedOperand) -> str:
    return operand.span.text + (f"#{operand.index}" if operand.index else "")


# --------------------------------------------------------- xDSL's printer as a guest of our writer


def write_custom(writer: ModuleWriter, op: Operation) -> None:
    """Prints an op by xDSL, its name included."""
    stream = io.StringIO()
    stream.write(op.name)
    op.print(_GuestPrinter(stream, writer))
    writer.write(stream.getvalue().replace("\n", "\n" + writer.indent))


class _GuestPrinter(Printer):
    """xDSL's printer of one op; names, attributes, regions and ops in them are those of our writer."""

    def __init__(self, stream: io.StringIO, writer: ModuleWriter) -> None:
        super().__init__(stream)
        self.writer = writer

    @override
    def print_ssa_value(self, value: SSAValue) -> str:
        name = self.writer.operand_text(value)
        self.print_string(name)
        return name[1:]

    @override
    def print_attribute(self, attribute: Attribute) -> None:
        self.print_string(attribute_text(attribute))

    @override
    def print_block_name(self, block: Block) -> str:
        label = self.writer.label(block)
        self.print_string(label)
        return label[1:]

    @override
    def print_op(self, op: Operation) -> None:
        self.print_string(self.writer.captured(lambda: self.writer.operation(op))[:-1])

    @override
    def print_region(
        self,
        region: Region,
        print_entry_block_args: bool = True,
        print_empty_block: bool = True,
        print_block_terminators: bool = True,
    ) -> None:
        def write() -> None:
            self.writer.region(
                region,
                hide_arguments=not print_entry_block_args,
                label_empty=print_empty_block,
                hide_terminators=not print_block_terminators,
            )

        self.print_string(self.writer.captured(write))
