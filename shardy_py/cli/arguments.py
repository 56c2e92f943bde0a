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
from typing import NoReturn

from shardy_py.cli.shell import UsageError


class ArgumentParser(argparse.ArgumentParser):
    """An argparse parser that raises `UsageError` rather than leave the program."""

    def error(self, message: str) -> NoReturn:
        """Called by argparse with what is wrong."""
        raise UsageError(message)
