"""`shardy-lsp`: the language server for MLIR, which editors start.

    shardy-lsp --stdio

Not here: what it knows (`shardy_py.lsp`).
"""

from __future__ import annotations

import argparse
import gc
from importlib import import_module

from shardy_py.cli.arguments import EXIT_CODES, add_plugins, command_parser
from shardy_py.cli.shell import SUCCESS, Files, run_command, usage_error


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("shardy-lsp", _parse, _run, arguments, loads_plugins=True)


def _parse(arguments: list[str]) -> argparse.Namespace:
    description = "Language server for MLIR: what the linter finds, shardings, and why, in an editor."
    parser = command_parser("shardy-lsp", description, EXIT_CODES)
    transport = "speak with the editor by standard input and output (default)"
    parser.add_argument("--stdio", action="store_true", help=transport)
    add_plugins(parser)
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace, files: Files) -> int:
    try:
        server = import_module("shardy_py.lsp.server")
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        remedy = "pip install 'shardy_py[lsp]'"
        raise usage_error(f"{error.name}, which speaks the protocol, is not installed; {remedy}") from None
    gc.enable()  # the other commands read one program
    server.create_server().start_io()
    return SUCCESS
