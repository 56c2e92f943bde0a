"""`sdy-opt`: program text in, passes in the order written, program text out.

This file opens and writes files and gives the exit code; it decides nothing. The command line is read by
`flags.py` (passes and their options: `pass_text.py`, `option_text.py`), followed by `driver.py`.

    sdy-opt program.mlir --sdy-propagation-pipeline -o propagated.mlir
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from shardy_py import __version__
from shardy_py.cli.flags import Command, UsageError, parse_command
from shardy_py.cli.help import help_text

SUCCESS, FAILURE, BUG, INTERRUPTED = 0, 1, 2, 130


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    gc.disable()  # a program is one large graph that lives to the end: collections find nothing
    try:
        return _follow(parse_command(sys.argv[1:] if arguments is None else arguments))
    except UsageError as error:
        return _fail(f"sdy-opt: {error}")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if "SDY_OPT_TRACEBACK" in os.environ:
            raise
        _fail(
            f"sdy-opt: internal error: {type(error).__name__}: {error}\n"
            "Please report it with the input. SDY_OPT_TRACEBACK=1 shows where it happened."
        )
        return BUG
    finally:
        gc.freeze()  # nor need the interpreter look through it once more on its way out


def _follow(command: Command) -> int:
    match command.shows:
        case "help":
            return _show(help_text())
        case "version":
            return _show(f"sdy-opt {__version__}")
        case "dialects":
            from shardy_py.dialects import syntax_table

            return _show(f"Available Dialects: {','.join(sorted(syntax_table().dialects))}")
        case "":
            return _transform(command)


def _transform(command: Command) -> int:
    from shardy_py.cli.driver import run  # loads xDSL, which --help need not wait for

    try:
        source = _read(command.input)
    except (OSError, UnicodeDecodeError) as error:
        return _fail(f"cannot open input file '{command.input}': {_reason(error)}")
    outcome = run(command, source, "<stdin>" if command.input == "-" else command.input, sys.stderr.write)
    try:
        if command.output == "-":
            sys.stdout.write(outcome.output)
            sys.stdout.flush()
        elif outcome.succeeded:
            write_whole(Path(command.output), outcome.output)
    except BrokenPipeError:
        raise
    except OSError as error:
        return _fail(f"cannot open output file '{command.output}': {_reason(error)}")
    return SUCCESS if outcome.succeeded else FAILURE


def write_whole(path: Path, text: str) -> None:
    """Writes a file in one step, so that nobody ever sees half of it; devices and pipes directly."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask)
        os.replace(name, path.resolve())
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _read(name: str) -> str:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    return data.decode("utf-8")


def _reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    return error.strerror or str(error)


def _show(text: str) -> int:
    print(text)
    return SUCCESS


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return FAILURE
