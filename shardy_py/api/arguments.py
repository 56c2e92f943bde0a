"""Checks of arguments: a `ShardyError` that states what is expected, instead of a later failure.

>>> sizes((32, None))
(32, None)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from operator import index
from typing import TypeGuard, TypeVar, cast

from shardy_py.base.deferred import np
from shardy_py.base.errors import ShardyError
from shardy_py.base.narrowing import is_iterable

Element = TypeVar("Element")


def expect(
    value: object,
    types: type | tuple[type, ...],
    expected: str,
    remedy: str | Callable[[object], str] = "",
    *,
    what: str = "",
) -> None:
    """Raises `ShardyError` for a value of another type.

    remedy: a function returns the one for a value, which takes longer than many programs are propagated.
    """
    if not isinstance(value, types):
        words = remedy if isinstance(remedy, str) else remedy(value)
        raise ShardyError.unexpected(what, expected=expected, got=shown(value), remedy=words)


def expect_integer(what: str, value: object, least: int = 0, most: float = inf) -> None:
    """Raises `ShardyError` unless the value of an argument is an integer in that range."""
    if not _is_integer(value) or not least <= value <= most:
        expected = f"an integer, {least} or above" if most == inf else f"an integer from {least} to {most}"
        raise ShardyError.unexpected(what, expected=expected, got=shown(value))


def expect_number(what: str, value: object, least: float = 0) -> None:
    """Raises `ShardyError` unless the value of an argument is a number that is at least so large."""
    if not _is_number(value) or not value >= least:
        raise ShardyError.unexpected(what, expected=f"a number, {least:g} or above", got=shown(value))


def _is_integer(value: object) -> TypeGuard[int]:
    return (isinstance(value, int) and not isinstance(value, bool)) or isinstance(value, np.integer)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, float) or _is_integer(value) or isinstance(value, np.floating)


def expect_flag(what: str, value: object) -> None:
    """Raises `ShardyError` unless the value of an argument is True or False."""
    if not (isinstance(value, bool) or isinstance(value, np.bool_)):  # noqa: SIM101 - numpy is imported on use
        raise ShardyError.unexpected(what, expected="True or False", got=shown(value))


def expect_flags(**flags: object) -> None:
    """Raises `ShardyError` unless the values of these arguments are True or False."""
    for what, value in flags.items():
        expect_flag(what, value)


def expect_each(what: str, values: object, kind: type[Element], expected: str) -> tuple[Element, ...]:
    """Returns the elements of an argument. Raises `ShardyError` unless it has some of that type only.

    expected: the elements, in the plural. Text has no elements.
    """
    listed: tuple[object, ...] = tuple(values) if _has_elements(values) else ()
    found = tuple(each for each in listed if isinstance(each, kind))
    if len(found) < len(listed) or not _has_elements(values):
        raise ShardyError.unexpected(what, expected=expected, got=shown(values))
    return found


def _has_elements(value: object) -> TypeGuard[Iterable[object]]:
    return is_iterable(value) and not isinstance(value, str | bytes)


def expect_one_of(kind: str, value: object, choices: Iterable[str]) -> None:
    """Raises `ShardyError` unless the value of an argument is one of the choices."""
    listed = tuple(choices)
    if not isinstance(value, str) or value not in listed:
        raise ShardyError.unknown(kind, value if isinstance(value, str) else shown(value), listed)


def program_remedy(value: object) -> str:
    """Returns how a program is made of a value that is none: text, a file, a function of JAX, a module.

    >>> program_remedy("model.mlir"), program_remedy(len)
    ("Program.load('model.mlir') reads a file", 'Program.from_jax(function, *arguments) traces a function')
    """
    if isinstance(value, str | bytes):
        is_file = len(value) < 200 and "\\n" not in repr(value)
        return f"Program.load({value!r}) reads a file" if is_file else "Program.parse(text) reads text"
    name, module = type(value).__name__, type(value).__module__.partition(".")[0]
    for kinds, remedy in _OF_JAX.items():
        if name in kinds and module in _JAX_LIKE:
            return remedy
    if hasattr(value, "named_modules") or module == "torch":
        return "Program.from_torch(model, args=...) exports a module"
    if name == "ModuleOp":
        return "Program.from_module(module) takes one of xDSL"
    if callable(value):
        return "Program.from_jax(function, *arguments) traces a function"
    return "Program.parse reads text, Program.load a file, Program.from_jax traces a function"


_JAX_LIKE = ("jax", "jaxlib", "flax", "equinox", "builtins")
_OF_JAX: Mapping[tuple[str, ...], str] = {
    ("Lowered", "SimpleLowered"): "Program.from_jax(lowered) takes it",
    ("Traced", "SimpleTraced"): "Program.from_jax(traced) takes it",
    ("Compiled",): "it is compiled; pass the function with its arguments, or what .lower(...) returns, to "
    "Program.from_jax",
    ("ClosedJaxpr", "Jaxpr"): "pass the function with its arguments to Program.from_jax",
    ("PjitFunction", "JitWrapped", "_JitWrapper"): "Program.from_jax(function, *arguments) traces it",
}
"""The remedy for values of JAX and of packages like it, by the names of their types."""


def shown(value: object) -> str:
    """Returns a value as messages show it: on one line, cut to 200 characters."""
    text = repr(value)
    text = text if isinstance(value, str | bytes) else " ".join(text.split())
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
