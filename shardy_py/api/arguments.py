"""Checks of arguments: a `ShardyError` that states what is expected, instead of a later failure.

>>> sizes((32, None))
(32, None)
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import cast

from shardy_py.errors import ShardyError


def expect(
    value: object, types: type | tuple[type, ...], expected: str, remedy: str = "", *, what: str = ""
) -> None:
    """Raises `ShardyError` for a value of another type."""
    if not isinstance(value, types):
        raise ShardyError.unexpected(what, expected=expected, got=shown(value), remedy=remedy)


def expect_one_of(kind: str, value: object, choices: Iterable[str]) -> None:
    """Raises `ShardyError` unless the value of an argument is one of the choices."""
    listed = tuple(choices)
    if value not in listed:
        raise ShardyError.unknown(kind, value if isinstance(value, str) else shown(value), listed)


def shown(value: object) -> str:
    """Returns a value as messages show it, cut to 200 characters."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def sizes(shape: object) -> tuple[int | None, ...]:
    """Returns the sizes of a shape, None for a dynamic one. Raises `ShardyError` for anything else."""
    try:
        lengths = tuple(size if size is None else index(size) for size in cast("Iterable[int | None]", shape))
    except TypeError:
        lengths = (-1,)
    if any(size is not None and size < 0 for size in lengths):
        raise ShardyError.unexpected("", expected="a shape such as (32, 128)", got=shown(shape))
    return lengths
