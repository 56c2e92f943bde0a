"""What every command has around its work: exit codes, files, and failures told without a traceback.

A command is a function from its `Files` to an exit code; `run_command` runs it. It may raise

| raised | shown | exit code |
|---|---|---|
| `UsageError` | `name: message` | `FAILURE` |
| `FileError` | the message | `FAILURE` |
| `ShardyError` | its diagnostics, with the lines of the files that were read | `FAILURE` |
| `KeyboardInterrupt`, `BrokenPipeError` | nothing | `INTERRUPTED`, `FAILURE` |
| anything else | a request to report it; with `SDY_OPT_TRACEBACK` set, its traceback | `BUG` |

Not here: command lines (`flags.py` of sdy-opt, `arguments.py` of the others), the work of any one command.

>>> run_command("greet", lambda files: show("hello"))
hello
0
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from shardy_py.errors import ShardyError

SUCCESS, FAILURE, BUG, INTERRUPTED = 0, 1, 2, 130

STANDARD = "-"
"""The name of standard input and of standard output on the command line."""


class UsageError(Exception):
    """A command line that cannot be followed; the message is ready to print."""


class FileError(Exception):
    """A file that cannot be read or written: which, and why."""


@dataclass(frozen=True, slots=True)
class Source:
    """A text that was read, and the name of its file in diagnostics."""

    text: str
    file: str


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one run of a command: read and written by the names on its command line."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    """What has been read, by the name in diagnostics."""

    def read(self, name: str) -> Source:
        """The text of a file; of standard input for `-`.

        Raises:
            FileError: there is no such file, it cannot be read, or it is not UTF-8.
        """
        try:
            data = sys.stdin.buffer.read() if name == STANDARD else Path(name).read_bytes()
            source = Source(data.decode("utf-8"), "<stdin>" if name == STANDARD else name)
        except UnicodeDecodeError as error:
            raise FileError(f"cannot open input file '{name}': not UTF-8 at byte {error.start}") from error
        except (OSError, ValueError) as error:
            raise FileError(f"cannot open input file '{name}': {_reason(error)}") from error
        self.texts[source.file] = source.text
        return source

    def write(self, name: str, text: str) -> None:
        """Writes a file whole or not at all; to standard output for `-`.

        Raises:
            FileError: the file cannot be written.
        """
        if name == STANDARD:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        try:
            write_whole(Path(name), text)
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as error:
            raise FileError(f"cannot open output file '{name}': {_reason(error)}") from error


def run_command(name: str, work: Callable[[Files], int]) -> int:
    """Runs a command and returns its exit code; its failures go to standard error."""
    files = Files()
    try:
        return work(files)
    except UsageError as error:
        return fail(f"{name}: {error}")
    except FileError as error:
        return fail(str(error))
    except ShardyError as error:
        from shardy_py.text.diagnostics import render

        return fail("\n".join(render(diagnostic, files.texts) for diagnostic in error.diagnostics))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if "SDY_OPT_TRACEBACK" in os.environ:
            raise
        if isinstance(error, RecursionError):
            return fail(f"{next(reversed(files.texts), name)}: error: the program nests too deep")
        fail(
            f"{name}: internal error: {type(error).__name__}: {error}\n"
            "Please report it with the input. SDY_OPT_TRACEBACK=1 shows where it happened."
        )
        return BUG


def run_on_program(name: str, work: Callable[[Files], int]) -> int:
    """As `run_command`, for work on programs: one large graph that lives to the end of the process.

    Collections would find nothing in it, nor need the interpreter look through it on its way out.
    """
    gc.disable()
    try:
        return run_command(name, work)
    finally:
        gc.freeze()


def show(text: str) -> int:
    """Prints a line to standard output: all went well."""
    print(text)
    return SUCCESS


def fail(message: str) -> int:
    """Prints a line to standard error: the command failed."""
    print(message, file=sys.stderr)
    return FAILURE


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


def _reason(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
