"""What callers give, checked: a `ShardyError` that says what is expected, instead of a failure later on.

>>> sizes((32, None))
(32, None)
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import cast

from shardy_py.errors import ShardyError


def expect(value: object, types: type | tuple[type, ...], what: str, remedy: str = "") -> None:
    """Raises `ShardyError` for a value of another type; `what` and `remedy` are for its message."""
    if not isinstance(value, types):
        raise ShardyError(f"expected {what}, got: {value!r}" + (remedy and f"; {remedy}"))


def sizes(shape: object) -> tuple[int | None, ...]:
    """The sizes in a shape, None for a dynamic one. Raises `ShardyError` when one is neither, or below 0."""
    try:
        found = tuple(size if size is None else index(size) for size in cast("Iterable[int | None]", shape))
    except TypeError:
        found = (-1,)
    if any(size is not None and size < 0 for size in found):
        raise ShardyError(f"expected a shape such as (32, 128), got: {shape!r}")
    return found
