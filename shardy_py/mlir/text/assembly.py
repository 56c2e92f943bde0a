"""Assembly forms composed of elements, each of which both reads and prints.

An element reads its part of the text into a `Draft` and prints the same part of an op; a form is a sequence
of elements closed by a *tail* that knows the types. So parser and printer cannot drift apart.

>>> form = assembly(operands("input"), ATTRIBUTES, SAME_TYPE)     # `%0 {a = 1 : i64} : tensor<8xf32>`

Not here: forms with regions or syntax of their own, which dialects write as a reader beside a printer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field

from xdsl.ir import Attribute, Operation, Region

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.op_writer import OpWriter
from shardy_py.mlir.text.reader import OpReader
from shardy_py.mlir.text.syntax import AssemblyForm, AttributeWriter, OpParts
from shardy_py.mlir.text.type_reader import read_function_type, read_type_or_function


@dataclass(slots=True)
class Draft:
    """The parts of an op read so far: operands' names, properties, attributes, regions, types once known."""

    names: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    operand_types: Sequence[Attribute] = ()
    result_types: Sequence[Attribute] = ()
    regions: Sequence[Region] = ()


@dataclass(frozen=True, slots=True)
class Element:
    """A part of a form.

    hides: properties that it prints, and that the attribute dictionary therefore leaves out.
    """

    read: Callable[[OpReader, Draft], None]
    write: Callable[[OpWriter, Operation], None]
    hides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spelling:
    """Reader and printer of the value of a property in a form: `[0, 1]`, `GT`, `<@mesh, [{"x"}]>`."""

    read: Callable[[Cursor], Attribute]
    write: AttributeWriter


def assembly(*elements: Element) -> AssemblyForm:
    """The form made of `elements`, which read and print in that order."""
    hidden = tuple(name for element in elements for name in element.hides)
    bound = [_bind_dictionary(element, hidden) for element in elements]

    def read(reader: OpReader) -> OpParts:
        draft = Draft()
        for element in bound:
            element.read(reader, draft)
        return OpParts(
            reader.resolve(draft.names, draft.operand_types),
            draft.result_types,
            draft.properties,
            draft.attributes,
            draft.regions,
        )

    def write(writer: OpWriter, op: Operation) -> None:
        for element in bound:
            element.write(writer, op)

    return AssemblyForm(read, write)


def literal(text: str) -> Element:
    """Fixed text."""
    tokens = _words(text)

    def read(reader: OpReader, draft: Draft) -> None:
        for token in tokens:
            reader.expect(token)

    return Element(read, lambda writer, op: writer.write(text))


def operands(*names: str, before: str = " ", separator: str = ", ") -> Element:
    """As many operands as names, separated by commas."""
    count = len(names)

    def read(reader: OpReader, draft: Draft) -> None:
        expect_words(reader, before)
        for index in range(count):
            if index:
                reader.expect(separator.strip())
            draft.names.append(reader.operand_name())

    def write(writer: OpWriter, op: Operation) -> None:
        writer.write(before)
        writer.operands(op.operands if count == len(op.operands) else [getattr(op, name) for name in names])

    return Element(read, write)


def operand_list(before: str = " ", after: str = "") -> Element:
    """All operands, however many."""

    def read(reader: OpReader, draft: Draft) -> None:
        expect_words(reader, before)
        draft.names.extend(reader.operand_list())
        expect_words(reader, after)

    def write(writer: OpWriter, op: Operation) -> None:
        writer.write(before)
        writer.operands(op.operands)
        writer.write(after)

    return Element(read, write)


def spelled(name: str, spelling: Spelling, *, before: str = " ", after: str = "") -> Element:
    """The property `name` in its spelling, between fixed texts."""

    def read(reader: OpReader, draft: Draft) -> None:
        expect_words(reader, before)
        draft.properties[name] = spelling.read(reader)
        expect_words(reader, after)

    def write(writer: OpWriter, op: Operation) -> None:
        writer.write(f"{before}{spelling.write(op.properties[name])}{after}")

    return Element(read, write, (name,))


def optional(name: str, spelling: Spelling, *, before: str) -> Element:
    """A property that is present if the first word of `before` is."""
    words = _words(before)

    def read(reader: OpReader, draft: Draft) -> None:
        if reader.at(words[0]) and (len(words) == 1 or _looks_like(reader, words)):
            expect_words(reader, before)
            draft.properties[name] = spelling.read(reader)

    def write(writer: OpWriter, op: Operation) -> None:
        if name in op.properties:
            writer.write(before + spelling.write(op.properties[name]))

    return Element(read, write, (name,))


def _looks_like(reader: OpReader, words: list[str]) -> bool:
    """True if `words` follow; the reader does not move."""
    place = reader.offset
    found = all(reader.accept(word) for word in words)
    reader.move_to(place)
    return found


@SESSION.cache(4096)
def _words(text: str) -> list[str]:
    """The tokens of fixed text."""
    return re.findall(r"[\w.]+|->|[^\s\w]", text)


def expect_words(reader: Cursor, text: str) -> None:
    """Reads fixed text of several tokens."""
    for word in _words(text):
        reader.expect(word)


def _read_attributes(reader: OpReader, draft: Draft) -> None:
    if reader.at("{"):
        found = reader.attribute_dictionary()
        for name in found.keys() & draft.properties.keys():  # the dictionary takes precedence
            draft.properties[name] = found.pop(name)
        draft.attributes.update(found)


ATTRIBUTES = Element(_read_attributes, lambda writer, op: writer.attribute_dictionary(op))
"""`{name = value}` of all that no other element prints; nothing if there is nothing."""


def _bind_dictionary(element: Element, hidden: tuple[str, ...]) -> Element:
    if element is not ATTRIBUTES:
        return element
    return Element(element.read, lambda writer, op: writer.attribute_dictionary(op, hidden))


# ---------------------------------------------------------------------- tails: what is behind the colon


def read_functional_type(reader: OpReader, parts: OpParts, names: list[tuple[str, int]]) -> OpParts:
    """` {attributes} : (operand types) -> result types`: `parts` with that, and with operands of `names`."""
    if reader.at("{"):
        parts.attributes = reader.attribute_dictionary()
    reader.expect(":")
    type_ = read_function_type(reader)
    parts.operands = reader.resolve(names, type_.inputs.data)
    parts.result_types = type_.outputs.data
    return parts


def _read_same_type(reader: OpReader, draft: Draft) -> None:
    reader.expect(":")
    type_ = read_type_or_function(reader)
    draft.operand_types = [type_] * len(draft.names)
    draft.result_types = [type_]


def _write_same_type(writer: OpWriter, op: Operation) -> None:
    writer.write(f" : {attribute_text((op.results or op.operands)[0].type)}")


SAME_TYPE = Element(_read_same_type, _write_same_type)
"""` : type` of all operands and of the one result."""


def _read_function_type(reader: OpReader, draft: Draft) -> None:
    reader.expect(":")
    type_ = read_function_type(reader)
    draft.operand_types, draft.result_types = type_.inputs.data, type_.outputs.data


def _write_function_type(writer: OpWriter, op: Operation) -> None:
    writer.write(" : ")
    writer.function_type(op)


FUNCTION_TYPE = Element(_read_function_type, _write_function_type)
"""` : (operand types) -> result types`."""


def _read_operand_type(reader: OpReader, draft: Draft) -> None:
    reader.expect(":")
    draft.operand_types = [read_type_or_function(reader)] * len(draft.names)


OPERAND_TYPE = Element(_read_operand_type, _write_same_type)
"""` : type` of the operands of an op without results."""
