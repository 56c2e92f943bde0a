"""The names that values have in the file they were read from; values that passes make have none of their own.

They are a field of the values: their texts exist already when a file is read. A value that takes the place of
another has the names of that one, too. Not here: the names that the printer gives (`mlir/text/naming.py`),
looking values up (`mlir/value_table.py`).
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

_NAMES = "file_names"
_MOST = 8
"""Names of a value that are kept: one constant may take the place of thousands of values."""


def keep_file_name(value: SSAValue, name: str) -> None:
    """Gives a value its name in the file: with `%`, and with `#n` if it is one of several results."""
    made: Any = value
    made.file_names = name


def file_names(value: SSAValue) -> tuple[str, ...]:
    """The names of a value in the file: its own first, then those of values that it has replaced."""
    names: str | tuple[str, ...] = getattr(value, _NAMES, ())
    return (names,) if isinstance(names, str) else names


def copy_file_names(old: SSAValue, new: Any) -> None:
    """Gives a copy the names of the original."""
    names = getattr(old, _NAMES, None)
    if names is not None:
        new.file_names = names


def add_file_names(old: SSAValue, new: Any) -> None:
    """Adds the names of a value to those of the one that takes its place."""
    names = getattr(old, _NAMES, None)
    if names is None:
        return
    known = file_names(new)
    new.file_names = tuple(dict.fromkeys((*known, *file_names(old))))[:_MOST] if known else names
