"""Classes of attributes from tables: enums, and structs around frozen dataclasses.

>>> Kind_ = enum_class("demo", "kind", ("SMALL", "LARGE"))
>>> Kind_("SMALL").plain(), Kind_.name
('SMALL', 'demo.kind')

Not here: the tables (each dialect's `attributes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar

from typing_extensions import override
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition

from shardy_py.text.assembly import Spelling
from shardy_py.text.attribute_writer import attribute_text, string_literal
from shardy_py.text.cursor import Cursor
from shardy_py.text.syntax import AttributeSyntax
from shardy_py.text.type_reader import DYNAMIC
from shardy_py.text.xdsl_hooks import DialectAttribute


class ValueAttribute(DialectAttribute[Any]):
    """An attribute around a frozen Python value; its text is read and written by `spelling`."""

    spelling: ClassVar[Spelling]
    """How the value is spelled behind the mnemonic."""

    @override
    def plain(self) -> Any:
        """The value in terms of int, bool, str, tuple and dict."""
        return _plain(self.data)

    @classmethod
    def syntax(cls) -> AttributeSyntax:
        """The class as the text engine takes it."""
        return AttributeSyntax(cls, cls.spelling.read, cls.spelling.write)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, Attribute):
        return value.plain() if isinstance(value, ValueAttribute) else attribute_text(value)
    if hasattr(value, "__dataclass_fields__"):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


# ---------------------------------------------------------------------- enums


class EnumAttribute(ValueAttribute, SpacedOpaqueSyntaxAttribute):
    """`#dialect<mnemonic KEYWORD>`."""

    keywords: ClassVar[tuple[str, ...]]

    @classmethod
    @override
    def syntax(cls) -> AttributeSyntax:
        return AttributeSyntax(cls, cls.spelling.read, lambda attribute: f" {attribute.data}")


def read_keyword_or_string(cursor: Cursor) -> str:
    """`word` or `"word"`."""
    if cursor.token[:1] == '"':
        return cursor.string()
    if not cursor.is_identifier():
        cursor.form_error("expected valid keyword or string")
    return cursor.advance()


def enum_class(
    dialect: str, mnemonic: str, keywords: tuple[str, ...], cpp_name: str = ""
) -> type[EnumAttribute]:
    """The class of an enum; `cpp_name` is what messages call it."""

    @cache
    def make(keyword: str) -> EnumAttribute:
        return made(keyword)

    def read(cursor: Cursor) -> Attribute:
        start = cursor.offset
        if cursor.token[:1] == "#":
            found = cursor.attribute()
            if not isinstance(found, made):
                cursor.form_error("invalid kind of attribute specified", start)
            return found
        keyword = read_keyword_or_string(cursor)
        if keyword not in keywords:
            cursor.form_error(
                f"expected ::mlir::{dialect}::{cpp_name} to be one of: {', '.join(keywords)}", start
            )
        return make(keyword)

    contents = {
        "name": f"{dialect}.{mnemonic}",
        "__doc__": f"`#{dialect}<{mnemonic} {keywords[0]}>`.",
        "keywords": keywords,
        "spelling": Spelling(read, lambda attribute: attribute.data),
    }
    made: type[EnumAttribute] = irdl_attr_definition(type(_class_name(mnemonic), (EnumAttribute,), contents))
    return made


# ---------------------------------------------------------------------- structs


@dataclass(frozen=True, slots=True)
class FieldKind:
    """How the value of a struct's field reads and prints."""

    read: Callable[[Cursor], Any]
    write: Callable[[Any], str]


def read_sizes(cursor: Cursor) -> tuple[int, ...]:
    """`[1, ?]`."""
    return tuple(cursor.items(lambda: read_size(cursor)))


def read_size(cursor: Cursor) -> int:
    """`1` or `?`."""
    return DYNAMIC if cursor.accept("?") else cursor.integer()


def size_text(size: int) -> str:
    """`1` or `?`."""
    return "?" if size == DYNAMIC else str(size)


def sizes_text(sizes: Sequence[int]) -> str:
    """`[1, ?]`."""
    return f"[{', '.join(map(size_text, sizes))}]"


def _read_boolean(cursor: Cursor) -> bool:
    if cursor.token in ("true", "false"):
        return cursor.advance() == "true"
    return bool(cursor.integer())


FIELD_KINDS = {
    "int": FieldKind(lambda cursor: cursor.integer(), str),
    "bool": FieldKind(_read_boolean, lambda value: "true" if value else "false"),
    "str": FieldKind(lambda cursor: cursor.string(), string_literal),
    "tuple[int, ...]": FieldKind(read_sizes, sizes_text),
    "Attribute": FieldKind(lambda cursor: cursor.attribute(), attribute_text),
    "TypeAttribute": FieldKind(lambda cursor: cursor.type(), attribute_text),
}
"""How fields read and print, by their annotation."""


def field_kinds(struct: type) -> dict[str, FieldKind]:
    """The kinds of a dataclass's fields by name."""
    return {field.name: FIELD_KINDS[str(field.type)] for field in fields(struct)}


def read_fields(cursor: Cursor, struct: type) -> Any:
    """`a = 1, b = [2]>` in any order, the bracket included; fields left out keep their defaults."""
    kinds = field_kinds(struct)
    found: dict[str, Any] = {}
    while not cursor.accept(">"):
        name = cursor.token
        if name not in kinds:
            cursor.form_error("expected one of: " + ", ".join(f"`{known}`" for known in kinds))
        cursor.advance()
        if name in found:
            cursor.form_error(f"duplicated `{name}` entry")
        cursor.expect("=")
        found[name] = kinds[name].read(cursor)
        if not cursor.accept(","):
            cursor.expect(">")
            break
    return struct(**found)


def fields_text(value: Any) -> str:
    """`a = 1, b = [2]`, without zeros and empty lists."""
    given: list[tuple[str, Any]] = [(field.name, getattr(value, field.name)) for field in fields(value)]
    return ", ".join(f"{name} = {_number_or_list(found)}" for name, found in given if found)


def _number_or_list(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"[{', '.join(map(str, value))}]"


def loose_spelling(struct: type, make: Callable[[Any], Attribute]) -> Spelling:
    """`<a = 1, b = [2]>` in any order, where zeros and empty lists are left out."""

    def read(cursor: Cursor) -> Attribute:
        cursor.expect("<")
        return make(read_fields(cursor, struct))

    return Spelling(read, lambda attribute: f"<{fields_text(attribute.data)}>")


def strict_spelling(struct: type, make: Callable[[Any], Attribute], *, is_ordered: bool) -> Spelling:
    """`<a = 1, b = [2]>` with every field, in order or in any order."""
    kinds = field_kinds(struct)

    def read_ordered(cursor: Cursor) -> Attribute:
        cursor.expect("<")
        values: list[Any] = []
        for name, kind in kinds.items():
            if values:
                cursor.expect(",")
            cursor.expect(name)
            cursor.expect("=")
            values.append(kind.read(cursor))
        cursor.expect(">")
        return make(struct(*values))

    def read_any_order(cursor: Cursor) -> Attribute:
        cursor.expect("<")
        found: dict[str, Any] = {}
        while len(found) < len(kinds):
            if found:
                cursor.expect(",")
            name = cursor.token
            if name not in kinds or name in found:
                cursor.form_error(f"duplicate or unknown struct parameter name: {name}")
            cursor.advance()
            cursor.expect("=")
            found[name] = kinds[name].read(cursor)
        cursor.expect(">")
        return make(struct(**found))

    def write(attribute: Any) -> str:
        value = attribute.data
        shown = [(name, getattr(value, name)) for name in kinds]
        texts = [f"{name} = {kinds[name].write(v)}" for name, v in shown if v is not None]
        return f"<{', '.join(texts)}>"

    return Spelling(read_ordered if is_ordered else read_any_order, write)


SpellingOf = Callable[[Callable[[Any], Attribute]], Spelling]
"""Given what makes the attribute of a value, its spelling."""


def value_class(
    dialect: str, mnemonic: str, spelling: SpellingOf, base: type[ValueAttribute] = ValueAttribute
) -> type[ValueAttribute]:
    """The class of an attribute around a value, `#dialect.mnemonic` and its spelling."""
    contents = {
        "name": f"{dialect}.{mnemonic}",
        "__doc__": f"`#{dialect}.{mnemonic}<...>`.",
        "spelling": spelling(lambda value: made(value)),
    }
    made: type[ValueAttribute] = irdl_attr_definition(type(_class_name(mnemonic), (base,), contents))
    return made


def _class_name(mnemonic: str) -> str:
    return "".join(word.capitalize() for word in mnemonic.split("_")) + "Attr"
