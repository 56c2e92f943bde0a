"""Constructors of ops that are written out, with errors that name the op and the argument.

>>> from shardy_py.mlir.dialects.sdy import MeshOp
>>> MeshOp("mesh", 3)
Traceback (most recent call last):
    ...
shardy_py.mlir.dialects.faults.ConstructionError: error: sdy.mesh: argument 'mesh': expected Mesh, got 3

Not here: constructors that are made from rows (`construction.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import TypeVar, get_type_hints

from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from shardy_py.base.annotations import fits, shown, spelled
from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.faults import ConstructionError
from shardy_py.mlir.ir import type_of
from shardy_py.mlir.text.builtin_attributes import is_value

OpT = TypeVar("OpT", bound=IRDLOperation)


def with_checked_arguments(op_class: type[OpT]) -> type[OpT]:
    """The class with a constructor that raises `ConstructionError` for arguments that do not fit.

    When the constructor fails, they are compared with its annotations.
    """
    build: Callable[..., None] = op_class.__init__

    @wraps(build)
    def __init__(self: object, *arguments: object, **named: object) -> None:
        try:
            build(self, *arguments, **named)
        except (TypeError, ValueError, AttributeError, LookupError, ShardyError, VerifyException) as error:
            fact = _misfit(build, (self, *arguments), named) or _plain(error)
            raise ConstructionError(f"{op_class.name}: {fact}") from None

    op_class.__init__ = __init__
    return op_class


def _misfit(build: Callable[..., None], arguments: Sequence[object], named: Mapping[str, object]) -> str:
    """The first argument that does not fit its annotation, and what it should be; empty if all do."""
    try:
        bound = signature(build).bind(*arguments, **named)
    except TypeError as error:
        return str(error)
    hints = get_type_hints(build)
    for name, value in bound.arguments.items():
        several = signature(build).parameters[name].kind is Parameter.VAR_POSITIONAL
        for each in value if several else (value,):
            if name in hints and not fits(each, hints[name]):
                return f"argument '{name}': expected {spelled(hints[name])}, got {shown_argument(each)}"
    return ""


def _plain(error: Exception) -> str:
    return error.first.message if isinstance(error, ShardyError) else str(error)


def shown_argument(given: object) -> str:
    """An argument in a message, on a line of 80 characters at most."""
    if isinstance(given, Operation):
        return f"op '{given.name}' with {len(given.results)} results"
    if is_value(given):
        return f"a value of type '{type_of(given)}'"
    return str(given) if isinstance(given, Attribute) else shown(given)
