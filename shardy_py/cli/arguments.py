"""The command lines of all commands but `sdy-opt`: argparse, whose mistakes become `UsageError`s.

Not here: LLVM's manner of flags, which is sdy-opt's (`flags.py`).

>>> parser = ArgumentParser("greet", allow_abbrev=False)
>>> parser.parse_args(["--loud"])
Traceback (most recent call last):
    ...
shardy_py.cli.shell.UsageError: unrecognized arguments: --loud
"""

from __future__ import annotations

import argparse
from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

from shardy_py.cli.shell import UsageError
from shardy_py.errors import ShardyError


class ArgumentParser(argparse.ArgumentParser):
    """An argparse parser that raises `UsageError` rather than leave the program."""

    def error(self, message: str) -> NoReturn:
        """Called by argparse with what is wrong."""
        raise UsageError(message)


@contextmanager
def argument(name: str) -> Generator[None]:
    """Reads the value of an argument: of a mistake in it the name is told.

    >>> with argument("--level"):
    ...     raise ShardyError("expected a level")
    Traceback (most recent call last):
        ...
    shardy_py.cli.shell.UsageError: argument --level: expected a level
    """
    try:
        yield
    except ShardyError as error:
        raise UsageError(f"argument {name}: {error.diagnostics[0].message}") from error
