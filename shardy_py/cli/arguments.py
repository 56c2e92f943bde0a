"""The command lines of all commands but `sdy-opt`: argparse, whose mistakes become `ShardyError`s.

Not here: LLVM's conventions for flags, which `sdy-opt` follows (`flags.py`).

>>> command_parser("greet", "").parse_args(["--loud"])
Traceback (most recent call last):
    ...
shardy_py.errors.ShardyError: <command line>:0:0: error: unrecognized arguments: --loud
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeVar

from shardy_py.cli.shell import STANDARD, Files, usage_error
from shardy_py.errors import ShardyError
from shardy_py.source_files import default_roots

if TYPE_CHECKING:
    from shardy_py.partition.cost import CostModel

Value = TypeVar("Value")


class ArgumentParser(argparse.ArgumentParser):
    """An argparse parser that raises `ShardyError` instead of exiting."""

    def print_help(self, file: object = None) -> None:
        """Called by argparse for --help."""
        Files().write(STANDARD, self.format_help())

    def error(self, message: str) -> NoReturn:
        """Called by argparse with its message."""
        raise usage_error(message)


def command_parser(name: str, description: str, epilog: str | None = None) -> ArgumentParser:
    """Returns the parser of a command, whose flags are written in full."""
    return ArgumentParser(name, description=description, epilog=epilog, allow_abbrev=False)


def reader(read: Callable[[str], Value]) -> Callable[[str], Value]:
    """The `type` of an argument that `read` reads: argparse adds its name to the error."""

    def read_argument(text: str) -> Value:
        try:
            return read(text)
        except ShardyError as error:
            raise argparse.ArgumentTypeError(error.first.message) from error

    return read_argument


def add_source_roots(parser: argparse.ArgumentParser) -> None:
    """Adds `--source-root`: `source_roots` is the list of folders, or None."""
    roots = (
        "read .py files that the program names below this folder; repeatable (default: the folders of the "
    )
    roots += "program and of the working directory)"
    parser.add_argument("--source-root", action="append", dest="source_roots", metavar="DIR", help=roots)


def source_roots(given: list[str] | None, program: str) -> tuple[str, ...]:
    """Returns the folders of `--source-root`, or the default ones for the file of a program."""
    return default_roots(program) if given is None else tuple(given)


def read_cost_model(text: str) -> CostModel:
    """The cost model of that text, as `cost_model` reads it, imported on demand."""
    from shardy_py.partition.cost import cost_model

    return cost_model(text)
