"""Values against the annotations of arguments at run time, for messages about those that do not fit.

>>> fits((1, 2), tuple[int, ...]), fits("ab", Sequence[str]), fits(None, int | None)
(True, False, True)

Not here: static types, which pyright checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin


def fits(value: object, annotation: object) -> bool:
    """Returns whether a value is of an annotated type; strings are not sequences; unknown annotations fit."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        return isinstance(value, tuple) and _all_fit(cast("tuple[Any, ...]", value), arguments)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Sequence):
        listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        return listed and all(fits(each, arguments[0]) for each in cast("Sequence[Any]", value))
    if annotation is None:
        return value is None
    known = cast(Any, origin or annotation)
    return not isinstance(known, type) or isinstance(value, known)


def _all_fit(values: tuple[object, ...], annotations: tuple[object, ...]) -> bool:
    if annotations[-1:] == (...,):
        return all(fits(value, annotations[0]) for value in values)
    return len(values) == len(annotations) and all(map(fits, values, annotations))


def spelled(annotation: object) -> str:
    """An annotation as it is written, without modules.

    >>> spelled(Sequence[int] | None)
    'Sequence[int] | None'
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " | ".join(map(spelled, arguments))
    if annotation in (None, NoneType):
        return "None"
    if annotation is ...:
        return "..."
    name = getattr(origin or annotation, "__name__", str(annotation))
    return f"{name}[{', '.join(map(spelled, arguments))}]" if arguments else name


def shown(value: object) -> str:
    """An argument in a message, on a line of 80 characters at most; `none` for None."""
    if value is None:
        return "none"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
