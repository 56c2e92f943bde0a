"""Assembly forms from templates: text with placeholders behind an op's name, types behind the colon.

` $operand, dims = $permutation` is read and printed literally: `$name` is an operand, an attribute in its
kind's spelling, or an element that the dialect adds (`$ranges`); `$inputs*,` is any number of operands with a
comma behind each, `$operands` all of them; `<, lower = $lower>` is omitted where the
attribute is absent or has its default value. The attribute dictionary and the types follow.

>>> Template(" $operand<, lower = $lower>", FUNCTION_TYPE).parts()
[' ', '$operand', '<, lower = $lower>']

Not here: forms with regions (each dialect's `forms.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.definition import OpRow, Slot
from shardy_py.mlir.dialects.kinds import AttributeKind
from shardy_py.mlir.text.assembly import (
    ATTRIBUTES,
    FUNCTION_TYPE,
    Draft,
    Element,
    Spelling,
    assembly,
    literal,
    operand_list,
    operands,
    spelled,
)
from shardy_py.mlir.text.syntax import AssemblyForm

if TYPE_CHECKING:
    from shardy_py.mlir.text.op_writer import OpWriter
    from shardy_py.mlir.text.reader import OpReader

_PART = re.compile(r"\$\w+(?:\*,)?|(?:<[^<>]*>)+|[^$<]+")
_OPTIONAL = re.compile(r"<, (?:(\w+) = )?\$(\w+)>")


@dataclass(frozen=True, slots=True)
class Template:
    """A form: `text` behind the name, the attribute dictionary, `types` behind the colon."""

    text: str
    types: Element

    def parts(self) -> list[str]:
        """Fixed texts, placeholders and optional groups, in order."""
        return _PART.findall(self.text)


def compile_template(row: OpRow, template: Template, elements: Mapping[str, Element]) -> AssemblyForm:
    """The form of an op; elements: of the dialect, by the names that its templates use."""
    parts = [_element(part, row, elements) for part in template.parts()]
    hidden = tuple(name for element in parts for name in element.hides)
    return assembly(*parts, dictionary(row, hidden), template.types)


def _element(part: str, row: OpRow, elements: Mapping[str, Element]) -> Element:
    attributes = {slot.name: slot for slot in row.attributes}
    if part[0] == "<":
        groups = [_Group(attributes[name], word) for word, name in _OPTIONAL.findall(part)]
        return _optional(groups)
    if part[0] != "$":
        return literal(part)
    name = part.strip("$*,")
    if name in elements:
        return elements[name]
    if name == "operands":
        return operand_list(before="")
    if name in attributes:
        return spelled(name, _spelling(attributes[name]), before="")
    index = [slot.name for slot in row.operands].index(name)
    slot = row.operands[index]
    if part.endswith("*,"):
        return _operands_with_commas(index)
    return operand_list(before="") if slot.many else operands(slot.accessor, before="")


def _spelling(slot: Slot[AttributeKind]) -> Spelling:
    spelling = slot.kind.spelling
    if spelling is None:
        raise ValueError(f"attribute '{slot.name}' has no spelling in forms: {slot.kind.description}")
    return spelling


def _operands_with_commas(start: int) -> Element:
    """The operands from number `start` on, a comma behind each."""

    def read(reader: OpReader, draft: Draft) -> None:
        while reader.token[:1] == "%":
            draft.names.append(reader.operand_name())
            reader.expect(",")

    def write(writer: OpWriter, op: Operation) -> None:
        writer.operands(op.operands[start:])
        writer.write(",")

    return Element(read, write)


class _Group:
    """`, word = value` that may be omitted; word: empty if there is only the value."""

    def __init__(self, slot: Slot[AttributeKind], word: str) -> None:
        self.name = slot.name
        self.word = word
        self.spelling = _spelling(slot)
        self.default = slot.default

    def text(self, op: Operation) -> str:
        """The text in the form; empty if the attribute is absent or has its default value."""
        value = op.properties.get(self.name)
        if value is None or value == self.default:
            return ""
        word = f"{self.word} = " if self.word else ""
        return f", {word}{self.spelling.write(value)}"


def _optional(groups: Sequence[_Group]) -> Element:
    """Groups that may each be omitted, in order."""

    def read(reader: OpReader, draft: Draft) -> None:
        left = list(groups)
        while left and reader.accept(","):
            present = [index for index, group in enumerate(left) if group.word in ("", reader.token)]
            if not present:
                reader.form_error(f"expected '{left[0].word}'")
            group = left[present[0]]
            del left[: present[0] + 1]
            if group.word:
                reader.advance()
                reader.expect("=")
            draft.properties[group.name] = group.spelling.read(reader)

    def write(writer: OpWriter, op: Operation) -> None:
        writer.write("".join(group.text(op) for group in groups))

    return Element(read, write, tuple(group.name for group in groups))


def dictionary(row: OpRow, hidden: tuple[str, ...]) -> Element:
    """The attribute dictionary, without attributes that the form prints or that have their default."""
    meant = {
        slot.name: slot.default
        for slot in row.attributes
        if slot.name not in hidden and slot.default is not None
    }

    def write(writer: OpWriter, op: Operation) -> None:
        elided = [name for name, default in meant.items() if op.properties.get(name) == default]
        writer.attribute_dictionary(op, (*hidden, *elided))

    return Element(ATTRIBUTES.read, write)


def typed(text: str) -> Template:
    """A form that ends in `: (operand types) -> result types`."""
    return Template(text, FUNCTION_TYPE)
