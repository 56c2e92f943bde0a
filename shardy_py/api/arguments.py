"""What callers give, checked: a `ShardyError` that says what is expected, instead of a failure later on.

>>> sizes((32, None))
(32, None)
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import cast

from shardy_py.errors import ShardyError

_LONGEST = 200


def expect(value: object, types: type | tuple[type, ...], what: str, remedy: str = "") -> None:
    """Raises `ShardyError` for a value of another type; `what` and `remedy` are for its message."""
    if not isinstance(value, types):
        raise ShardyError(f"expected {what}, got: {told(value)}" + (remedy and f"; {remedy}"))


def told(value: object) -> str:
    """A value in a message: all of it, if it is short."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def sizes(shape: object) -> tuple[int | None, ...]:
    """The sizes in a shape, None for a dynamic one. Raises `ShardyError` when one is neither, or below 0."""
    try:
        found = tuple(size if size is None else index(size) for size in cast("Iterable[int | None]", shape))
    except TypeError:
        found = (-1,)
    if any(size is not None and size < 0 for size in found):
        raise ShardyError(f"expected a shape such as (32, 128), got: {told(shape)}")
    return found
