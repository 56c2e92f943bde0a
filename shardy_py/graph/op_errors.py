"""Errors that name an operation and carry its location, as MLIR's `op.emitError` does."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from xdsl.ir import Operation

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.text.source import position_of


def error_at(op: Operation, error: ShardyError, prefix: str = "") -> ShardyError:
    """Returns the error with the name and location of `op`, or unchanged if it has a location.

    prefix: the part of the op that is meant, "arg 0 - ".
    """
    first = error.first
    if first.where is not None:
        return error
    named = f"'{op.name}' op {prefix}"
    where = position_of(cast(Any, op).location)
    if not first.what:
        return ShardyError(Diagnostic(named + first.message, where))
    return ShardyError(replace(first, what=named + first.what, where=where))


@contextmanager
def errors_at(op: Operation, prefix: str = "") -> Generator[None]:
    """Adds the name and location of `op` to each `ShardyError` raised within that has no location."""
    try:
        yield
    except ShardyError as error:
        raise error_at(op, error, prefix) from error
