"""Readers of the parameters of attributes: lists, attributes bare or in full, with Shardy's messages.

Shardy reports the error first, then for each enclosing attribute the parameter that could not be read.

>>> from shardy_py.text.source import Source
>>> parameter(Cursor(Source("4]")), "Mesh", "device_ids", "::llvm::ArrayRef<int64_t>", lambda: 4)
4
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from xdsl.dialects.builtin import StringAttr

from shardy_py.dialects.faults import Fault
from shardy_py.text.cursor import Cursor

T = TypeVar("T")


def parameter(cursor: Cursor, owner: str, name: str, kind: str, read: Callable[[], T]) -> T:
    """Returns `read()`, the parameter `name` of the attribute `owner`; `kind` is its class in C++."""
    return cursor.explained(read, f"failed to parse Sdy_{owner} parameter '{name}' which is to be a `{kind}`")


def integer_parameter(cursor: Cursor, owner: str, name: str) -> int:
    """A parameter that is an integer."""
    return parameter(cursor, owner, name, "int64_t", cursor.integer)


def list_parameter(
    cursor: Cursor, owner: str, name: str, element: str, read: Callable[[], T]
) -> tuple[T, ...]:
    """A parameter that is a list of one or more, without brackets."""
    return parameter(cursor, owner, name, f"::llvm::ArrayRef<{element}>", lambda: sequence(cursor, read))


def optional_list(
    cursor: Cursor, owner: str, name: str, element: str, read: Callable[[], T], brackets: str = "[]"
) -> tuple[T, ...]:
    """A parameter that is a list between brackets, which may be empty."""
    cursor.expect(brackets[0])
    if cursor.accept(brackets[1]):
        return ()
    found = list_parameter(cursor, owner, name, element, read)
    cursor.expect(brackets[1])
    return found


def sequence(cursor: Cursor, read: Callable[[], T]) -> tuple[T, ...]:
    """One or more, separated by commas."""
    found = [read()]
    while cursor.accept(","):
        found.append(read())
    return tuple(found)


def bare_or_full(cursor: Cursor, attribute_class: Any, read: Callable[[Cursor], T]) -> T:
    """The value of an attribute inside another: bare (read by `read`), in full, or by its alias."""
    if cursor.token[:1] != "#":
        return read(cursor)
    start = cursor.offset
    found: Any = cursor.attribute()
    if not isinstance(found, attribute_class):
        cursor.form_error("invalid kind of attribute specified", start)
    return found.data


def string_attribute_data(cursor: Cursor) -> str:
    """The data of what must be a string attribute."""
    start = cursor.offset
    found: Any = cursor.attribute()
    if not isinstance(found, StringAttr):
        cursor.form_error("invalid kind of attribute specified", start)
    return found.data


def checked(cursor: Cursor, start: int, check: Callable[[T], None], value: T) -> T:
    """The value if `check` accepts it; its fault is reported at `start`."""
    try:
        check(value)
    except Fault as fault:
        cursor.form_error(fault.message, start)
    return value
