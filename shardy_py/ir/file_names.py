"""The names that values have in the file they were read from; values that passes make have none.

They are a field of the values: their texts exist already when a file is read. Not here: the names that the
printer gives (`text/naming.py`), looking values up (`graph/value_table.py`).
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

_NAME = "file_name"


def keep_file_name(value: SSAValue, name: str) -> None:
    """Gives a value its name in the file: with `%`, and with `#n` if it is one of several results."""
    made: Any = value
    made.file_name = name


def file_name(value: SSAValue) -> str:
    """The name of a value in the file that it was read from; "" if it has none."""
    return getattr(value, _NAME, "")


def copy_file_name(old: SSAValue, new: SSAValue) -> None:
    """Gives a value the name of another, unless it has one."""
    name = getattr(old, _NAME, None)
    if name is not None and getattr(new, _NAME, None) is None:
        keep_file_name(new, name)
