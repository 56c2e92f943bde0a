"""Classes of values that come from users, files and libraries without types, as a type checker follows them.

`isinstance(value, list)` leaves the elements unknown to it; these functions say that they may be anything.

>>> is_sequence((1, "a")), is_sequence("ab"), is_mapping({"a": 1})
(True, False, True)

Not here: values that fit an annotation (`annotations.py`), values of JSON (`json_values.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard


def is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    """Returns whether a value is a list or a tuple."""
    return isinstance(value, list | tuple)


def is_any_sequence(value: object) -> TypeGuard[Sequence[object]]:
    """Returns whether a value is a sequence of any class, text included."""
    return isinstance(value, Sequence)


def is_iterable(value: object) -> TypeGuard[Iterable[object]]:
    """Returns whether a value can be iterated over."""
    return isinstance(value, Iterable)


def is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    """Returns whether a value is a mapping, here with names as its keys."""
    return isinstance(value, Mapping)
