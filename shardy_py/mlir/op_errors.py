"""Errors that name an operation and carry its location, as MLIR's `op.emitError` does."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from xdsl.ir import Operation

from shardy_py.base.errors import Diagnostic, Position, ShardyError
from shardy_py.mlir.ir import written_name
from shardy_py.mlir.text.source import position_of


def place_of(op: Operation) -> Position | None:
    """The place of `op` in its file; None if its location names no file.

    A module that is not spelled out has line 0 as its location, as in MLIR: its place is the first line.
    """
    place = position_of(op.location)
    return Position(place.file, 1, 1) if place is not None and not place.line else place


def error_at(op: Operation, error: ShardyError, prefix: str = "") -> ShardyError:
    """Returns the error with the name and location of `op`, or unchanged if it has a location.

    prefix: the part of the op that is meant, "arg 0 - ".
    """
    first = error.first
    if first.where is not None:
        return error
    named = f"'{written_name(op)}' op {prefix}"
    if (first.what or first.message).startswith(f"'{op.name}' op "):  # computations of ops name them
        named = prefix
    where = place_of(op)
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
