"""The formats of attributes: rows of tokens and parameters, as in Shardy's definitions.

Shardy reports an error first, then for each enclosing attribute the parameter that could not be read.
`syntax_sharding.py` and `syntax_rule.py` have the rows.

>>> from shardy_py.mlir.dialects.sdy.attributes import SubAxisInfoAttr
>>> from shardy_py.sharding import SubAxis
>>> from shardy_py.mlir.text.source import Source
>>> sub_axis = row(SubAxisInfoAttr, SubAxis, "(", integer("pre_size"), ")", integer("size"))
>>> sub_axis.read(Cursor(Source("(2)4")))
SubAxis(pre_size=2, size=4)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.text.assembly import Spelling
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.syntax import AttributeSyntax

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Format(Generic[T]):
    """The text of an attribute behind its name.

    read, write: of the attribute's value.
    """

    attribute_class: Any
    read: Callable[[Cursor], T]
    write: Callable[[T], str] = str

    def nested(self, cursor: Cursor) -> T:
        """The value of the attribute inside another: bare, in full, or by its alias."""
        if cursor.token[:1] != "#":
            return self.read(cursor)
        return attribute_of(self.attribute_class, cursor).data

    @property
    def syntax(self) -> AttributeSyntax:
        """The syntax behind the name; a space keeps text that starts with a letter apart from it."""

        def write(attribute: Any) -> str:
            text = self.write(attribute.data)
            return f" {text}" if text[:1].isalpha() else text

        return AttributeSyntax(self.attribute_class, lambda c: self.attribute_class(self.read(c)), write)

    @property
    def spelling(self) -> Spelling:
        """The spelling in an op's form: bare; the attribute in full, or its alias, is accepted too."""
        return Spelling(lambda c: self.attribute_class(self.nested(c)), lambda a: self.write(a.data))


class Parameter(NamedTuple):
    """A parameter of an attribute; `kind` is its class in C++.

    brackets: around a list that may be empty; none around anything else.
    """

    name: str
    kind: str
    read: Callable[[Cursor], Any]
    brackets: str = ""

    def reader(self, owner: str) -> Callable[[Cursor], Any]:
        """The function that reads the parameter of the attribute `owner`."""
        message = f"failed to parse Sdy_{owner} parameter '{self.name}' which is to be a `{self.kind}`"
        read = self.read
        if not self.brackets:
            return lambda cursor: cursor.explained(read, message)
        opening, closing = self.brackets

        def read_list(cursor: Cursor) -> object:
            cursor.expect(opening)
            if cursor.accept(closing):
                return ()
            values = cursor.explained(read, message)
            cursor.expect(closing)
            return values

        return read_list


def string(name: str) -> Parameter:
    """A parameter that is a string."""
    return Parameter(name, "::llvm::StringRef", Cursor.string)


def integer(name: str) -> Parameter:
    """A parameter that is an integer."""
    return Parameter(name, "int64_t", Cursor.integer)


def nested(name: str, element: Format[Any]) -> Parameter:
    """A parameter that is an attribute."""
    return Parameter(name, f"::mlir::sdy::{element.attribute_class.__name__}", element.nested)


def several(name: str, element: Format[Any], brackets: str = "") -> Parameter:
    """A parameter that is a list of attributes: one or more without brackets, any number between them."""
    kind = f"::llvm::ArrayRef<{element.attribute_class.__name__}>"
    return Parameter(name, kind, partial(sequence, read=element.nested), brackets)


def row(
    attribute_class: Any,
    make: Callable[..., T],
    *parts: str | Parameter,
    check: Callable[[T], None] | None = None,
    write: Callable[[T], str] = str,
    owner: str = "",
) -> Format[T]:
    """The format that is a row of tokens and parameters, from which `make` makes the value.

    check: raises a `Fault` for an invalid value.
    owner: the attribute in messages; empty: as its class, without `Attr`.
    """
    owner = owner or attribute_class.__name__.removesuffix("Attr")
    steps: list[str | Callable[[Cursor], Any]] = []
    for part in parts:
        steps += part.split() if isinstance(part, str) else (part.reader(owner),)

    def read(cursor: Cursor) -> T:
        start = cursor.offset
        values: list[Any] = []
        for step in steps:
            if isinstance(step, str):
                cursor.expect(step)
            else:
                values.append(step(cursor))
        value = make(*values)
        return value if check is None else checked(cursor, start, check, value)

    return Format(attribute_class, read, write)


def list_row(
    attribute_class: Any, name: str, element: Format[T], brackets: str = "[]"
) -> Format[tuple[T, ...]]:
    """The format of an attribute whose only parameter is a list between brackets."""
    opening, closing = brackets
    read = several(name, element, brackets).reader(attribute_class.__name__.removesuffix("Attr"))
    return Format(
        attribute_class, read, lambda values: f"{opening}{', '.join(map(element.write, values))}{closing}"
    )


def sequence(cursor: Cursor, read: Callable[[Cursor], T]) -> tuple[T, ...]:
    """One or more, separated by commas."""
    values = [read(cursor)]
    while cursor.accept(","):
        values.append(read(cursor))
    return tuple(values)


def attribute_of(attribute_class: Any, cursor: Cursor) -> Any:
    """The attribute at the cursor, which must be of that class."""
    start = cursor.offset
    attribute = cursor.attribute()
    if not isinstance(attribute, attribute_class):
        cursor.form_error("invalid kind of attribute specified", start)
    return attribute


def checked(cursor: Cursor, start: int, check: Callable[[T], None], value: T) -> T:
    """The value if `check` accepts it; its fault is reported at `start`."""
    try:
        check(value)
    except Fault as fault:
        cursor.form_error(fault.message, start)
    return value


def table(*formats: Format[Any]) -> dict[str, AttributeSyntax]:
    """The syntax of attributes by their names in the dialect."""
    return {format_.attribute_class.name.partition(".")[2]: format_.syntax for format_ in formats}
