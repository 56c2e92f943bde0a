"""Base classes of dialects' attributes: enums, and structs around frozen dataclasses; the text of structs.

>>> class SizeAttr(EnumAttribute, name="demo.size", keywords="SMALL LARGE"):
...     pass
>>> SizeAttr("SMALL").plain()
'SMALL'

Not here: the classes (each dialect's `attributes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args

from typing_extensions import override
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute
from xdsl.utils.exceptions import VerifyException

from shardy_py.base.narrowing import is_sequence
from shardy_py.base.records import dataclass
from shardy_py.mlir.text.assembly import Spelling
from shardy_py.mlir.text.attribute_writer import attribute_text, string_literal
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.syntax import AttributeSyntax, AttributeWriter
from shardy_py.mlir.text.type_reader import DYNAMIC
from shardy_py.mlir.text.xdsl_hooks import DialectAttribute, define_attribute

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ValueText:
    """The text of an attribute's value behind its mnemonic."""

    read: Callable[[Cursor], Any]
    write: AttributeWriter


class ValueAttribute(DialectAttribute[T]):
    """An attribute around a frozen Python value, mostly a dataclass.

    A subclass states its full name, and the text of its value (`text`) or the form of its dataclass's text
    (`form`).
    """

    value_class: ClassVar[type]
    """The class of the value."""
    spelling: ClassVar[Spelling]
    """The spelling in assembly forms, behind the mnemonic."""

    def __init_subclass__(
        cls, name: str = "", text: ValueText | None = None, form: Callable[[type], ValueText] | None = None
    ) -> None:
        super().__init_subclass__()
        if not name:
            return
        cls.name = name
        cls.value_class = get_args(vars(cls)["__orig_bases__"][0])[0]
        text = text or (form or loose_text)(cls.value_class)
        cls.spelling = Spelling(
            lambda cursor: cls(text.read(cursor)), lambda attribute: text.write(attribute.data)
        )
        define_attribute(cls)

    @override
    def plain(self) -> object:
        """The value in terms of int, bool, str, tuple and dict."""
        return _plain(self.data)

    @classmethod
    def syntax(cls) -> AttributeSyntax:
        """The syntax of the attribute."""
        return AttributeSyntax(cls, cls.spelling.read, cls.spelling.write)


def _plain(value: object) -> object:
    if is_sequence(value):
        return tuple(map(_plain, value))
    if isinstance(value, DialectAttribute):
        return value.plain()
    if isinstance(value, Attribute):
        return attribute_text(value)
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


# ---------------------------------------------------------------------- enums


class EnumAttribute(ValueAttribute[str], SpacedOpaqueSyntaxAttribute):
    """`#dialect<mnemonic KEYWORD>`; a subclass states its full name and the keywords."""

    keywords: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, name: str, keywords: str) -> None:
        super().__init_subclass__()
        cls.name = name
        cls.keywords = tuple(keywords.split())
        values: dict[str, Attribute] = {keyword: cls(keyword) for keyword in cls.keywords}
        cls.spelling = Spelling(lambda cursor: cls._read(cursor, values), lambda attribute: attribute.data)
        define_attribute(cls)

    @override
    def verify(self) -> None:
        """Raises `VerifyException` for an invalid keyword."""
        if self.data not in self.keywords:
            raise VerifyException(
                f"{self.name}: expected one of {', '.join(self.keywords)}, got {self.data!r}"
            )

    @classmethod
    def _read(cls, cursor: Cursor, values: dict[str, Attribute]) -> Attribute:
        start = cursor.offset
        if cursor.token[:1] == "#":
            attribute = cursor.attribute()
            if not isinstance(attribute, cls):
                cursor.form_error("invalid kind of attribute specified", start)
            return attribute
        keyword = _read_keyword_or_string(cursor)
        if keyword not in values:
            dialect, expected = cls.name.partition(".")[0], ", ".join(cls.keywords)
            cpp_name = f"::mlir::{dialect}::{cls.__name__.removesuffix('Attr')}"
            cursor.form_error(f"expected {cpp_name} to be one of: {expected}", start)
        return values[keyword]

    @classmethod
    @override
    def syntax(cls) -> AttributeSyntax:
        return AttributeSyntax(cls, cls.spelling.read, lambda attribute: f" {attribute.data}")


def _read_keyword_or_string(cursor: Cursor) -> str:
    """`word` or `"word"`."""
    if cursor.token[:1] == '"':
        return cursor.string()
    if not cursor.is_identifier():
        cursor.form_error("expected valid keyword or string")
    return cursor.advance()


# ---------------------------------------------------------------------- structs


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


def read_boolean(cursor: Cursor) -> bool:
    """`true`, `false`, or an integer."""
    if cursor.token in ("true", "false"):
        return cursor.advance() == "true"
    return bool(cursor.integer())


FIELD_KINDS = {
    "int": ValueText(lambda cursor: cursor.integer(), str),
    "bool": ValueText(read_boolean, lambda value: "true" if value else "false"),
    "str": ValueText(lambda cursor: cursor.string(), string_literal),
    "tuple[int, ...]": ValueText(read_sizes, sizes_text),
    "Attribute": ValueText(lambda cursor: cursor.attribute(), attribute_text),
    "TypeAttribute": ValueText(lambda cursor: cursor.type(), attribute_text),
}
"""The text of fields by their annotation."""


def field_kinds(struct: type) -> dict[str, ValueText]:
    """The kinds of a dataclass's fields by name."""
    return {field.name: FIELD_KINDS[str(field.type)] for field in fields(struct)}


def read_fields(cursor: Cursor, struct: type[T]) -> T:
    """`a = 1, b = [2]>` in any order, the bracket included; fields left out keep their defaults."""
    kinds = field_kinds(struct)
    values: dict[str, object] = {}
    while not cursor.accept(">"):
        name = cursor.token
        if name not in kinds:
            cursor.form_error("expected one of: " + ", ".join(f"`{field}`" for field in kinds))
        cursor.advance()
        if name in values:
            cursor.form_error(f"duplicated `{name}` entry")
        cursor.expect("=")
        values[name] = kinds[name].read(cursor)
        if not cursor.accept(","):
            cursor.expect(">")
            break
    return struct(**values)


def fields_text(value: DataclassInstance) -> str:
    """`a = 1, b = [2]`, without zeros and empty lists."""
    given: list[tuple[str, int | tuple[int, ...]]] = [
        (field.name, getattr(value, field.name)) for field in fields(value)
    ]
    return ", ".join(f"{name} = {_number_or_list(found)}" for name, found in given if found)


def _number_or_list(value: int | tuple[int, ...]) -> str:
    return str(value) if isinstance(value, int) else f"[{', '.join(map(str, value))}]"


def loose_text(struct: type[object]) -> ValueText:
    """`<a = 1, b = [2]>` in any order, without zeros and empty lists."""

    def read(cursor: Cursor) -> object:
        cursor.expect("<")
        return read_fields(cursor, struct)

    return ValueText(read, lambda value: f"<{fields_text(value)}>")


def strict_text(struct: type, *, is_ordered: bool = False) -> ValueText:
    """`<a = 1, b = [2]>` with every field, in order or in any order."""
    kinds = field_kinds(struct)

    def read(cursor: Cursor) -> object:
        values: dict[str, object] = {}
        names = iter(kinds)
        cursor.expect("<")
        while len(values) < len(kinds):
            if values:
                cursor.expect(",")
            name = next(names) if is_ordered else cursor.token
            if not is_ordered and (name not in kinds or name in values):
                cursor.form_error(f"duplicate or unknown struct parameter name: {name}")
            cursor.expect(name)
            cursor.expect("=")
            values[name] = kinds[name].read(cursor)
        cursor.expect(">")
        return struct(**values)

    def write(value: object) -> str:
        given = [(name, getattr(value, name)) for name in kinds]
        texts = [f"{name} = {kinds[name].write(field)}" for name, field in given if field is not None]
        return f"<{', '.join(texts)}>"

    return ValueText(read, write)


ordered_text = partial(strict_text, is_ordered=True)
"""`<a = 1, b = [2]>` with every field, in order."""


def mnemonics(*classes: type[ValueAttribute[Any]]) -> dict[str, AttributeSyntax]:
    """The syntaxes of attribute classes by their names without the dialect's."""
    return {attribute_class.name.partition(".")[2]: attribute_class.syntax() for attribute_class in classes}
