"""Errors about a part of the value of a flag, placed in that value: `--why-not:1:4: error: ...`.

Not here: errors in arguments of the command line as a whole (`shell.py`), the flags (`flags.py`).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from shardy_py.base.errors import Diagnostic, Position, ShardyError


@contextmanager
def in_flag(name: str, value: str) -> Generator[None]:
    """Places errors raised within in the value of a flag if they are about a part of it; others pass.

    >>> with in_flag("--why-not", "%0,zero,data"):
    ...     raise ShardyError.unexpected("dimension", expected="a number", got="'zero'")
    Traceback (most recent call last):
        ...
    shardy_py.cli.flag_values.ArgumentError: --why-not:1:4: error: dimension: expected a number, got 'zero'
    """
    try:
        yield
    except ShardyError as error:
        start = subject_start(error.first, value)
        if start is None or error.first.where is not None:
            raise
        raise ArgumentError(error.first, name, value, start) from error


class ArgumentError(ShardyError):
    """An error in the value of an argument; `texts` has the value, by the name of the argument."""

    def __init__(self, fault: Diagnostic, name: str, value: str, start: int) -> None:
        super().__init__(replace(fault, where=Position(name, 1, start + 1)))
        self.texts = {name: value}


def subject_start(fault: Diagnostic, value: str) -> int | None:
    """Returns where an error's subject is in a value: the last one, as a whole word if possible; or None."""
    if fault.subject is None or "\n" in value:
        return None
    whole = [*re.finditer(rf"(?<![\w%@-]){re.escape(fault.subject)}(?![\w-])", value)]
    start = whole[-1].start() if whole else value.rfind(fault.subject)
    return None if start < 0 else start


def texts_of(error: ShardyError) -> Mapping[str, str]:
    """Returns the value of the argument that an error is in, by the name of the argument."""
    return error.texts if isinstance(error, ArgumentError) else {}
