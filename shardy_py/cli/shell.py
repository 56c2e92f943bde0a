"""The shell of every command: arguments, files, output, failures without a traceback, exit codes.

A command is two functions, which `run_command` calls: one reads its arguments, one does its work. They raise

| raised | printed | exit code |
|---|---|---|
| `ShardyError` by the first, or at `COMMAND_LINE` | `name: message` | `failure` |
| `ShardyError` of a file that cannot be read or written | the message | `failure` |
| any other `ShardyError` | its diagnostics, with the lines of the files that were read | `failure` |
| `MemoryError`, `RecursionError` | that memory is short, or the program nested too deeply | `failure` |
| `KeyboardInterrupt`, `BrokenPipeError` | nothing | `INTERRUPTED`, `failure` |
| anything else | a request to report it; with `SDY_OPT_TRACEBACK` set, its traceback | `BUG` |

Not here: command lines (`flags.py` of sdy-opt, `arguments.py` of the others), errors placed in the value of a
flag (`flag_values.py`), the work of any one command.

>>> run_command("greet", lambda arguments: arguments[0], lambda name, files: files.show(name), ["you"])
you
0
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from errno import EBADF
from typing import NoReturn, TypeVar

from shardy_py.base.errors import Diagnostic, Position, ShardyError, WholeFile
from shardy_py.base.files import staged, write_whole
from shardy_py.base.inputs.files import ProgramSource, decompressed, source_of
from shardy_py.base.inputs.formats import GZIP, text_of
from shardy_py.base.plugins import TRACEBACK, load_installed_plugins
from shardy_py.base.records import dataclass
from shardy_py.base.terminal import without_controls

SUCCESS, FAILURE, BUG, INTERRUPTED = 0, 1, 2, 130
TROUBLE = 2
"""The exit code of invalid input and use for commands whose `FAILURE` is an answer, as for diff and grep."""

MOST_COLUMNS = 100
"""The most columns of the help of any command."""
STANDARD = "-"
"""The name of standard input and of standard output on the command line."""

COMMAND_LINE = Position("<command line>", 0, 0)
"""The place of a mistake in the arguments."""
WHOLE_FILE = Position("<file>", 0, 0)
"""The place of a mistake in a file as a whole; the message names it."""

Options = TypeVar("Options")
_ASCII = str.maketrans("┌┐└┘├┤┬┴┼─│┊┈·…", "+++++++++-|:..~")


class Interrupts:
    """The handler of interrupts of a process that runs one command.

    is_pending: whether there was one: extensions that load report it as an error of another kind.
    """

    is_pending = False

    def __call__(self, *_: object) -> NoReturn:
        """Ends the command."""
        self.is_pending = True
        raise KeyboardInterrupt


INTERRUPTS = Interrupts()


@dataclass(frozen=True, slots=True)
class InputFile(ProgramSource):
    """A program that was read; `file` is its name in diagnostics: "-", or the file of a folder."""

    @property
    def start(self) -> Position:
        """The place of an error whose op has no location in a file."""
        return WholeFile(self.file) if isinstance(self.content, bytes) else Position(self.file, 1, 1)


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one run of a command: read and written by the names on its command line."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    """The texts read so far, by their names in diagnostics."""
    names: dict[str, None] = field(default_factory=dict[str, None])
    """The names in diagnostics of the files read so far, in order."""

    def read(self, name: str, input_format: str = "") -> InputFile:
        """Returns the program in a file or folder; on standard input for `-`. Remarks say what was read.

        input_format: the name of its format; "": by content.

        Raises:
            ShardyError: the file does not exist, cannot be read, is damaged, or is not that of a program.
        """
        remarks: tuple[str, ...] = ()
        if name != STANDARD and os.path.isdir(name):
            from shardy_py.base.inputs.folders import chosen_file

            try:
                chosen, remark = chosen_file(name)
            except OSError as error:
                raise _file_error("input", name, error) from error
            name, remarks = chosen, (remark,)
        data, shown = self._data(name), "<stdin>" if name == STANDARD else name
        try:
            read = source_of(data, shown, input_format)
        except ShardyError as error:
            raise ShardyError(Diagnostic(_named(shown, error.first.message), WHOLE_FILE)) from None
        self.names[shown] = None
        if isinstance(read.content, str):
            self.texts[shown] = read.content
        for remark in (*remarks, *read.remarks):
            log(without_controls(f"{shown}: remark: {remark}") + "\n")
        return InputFile(read.content, read.release, file=shown)

    def read_text(self, name: str) -> InputFile:
        """Returns the text of a file other than a program; of standard input for `-`.

        Raises:
            ShardyError: the file does not exist, cannot be read, or is not UTF-8.
        """
        data, shown = self._data(name), "<stdin>" if name == STANDARD else name
        if data.startswith(GZIP):
            try:
                data = decompressed(data, shown)
            except ShardyError as error:
                raise ShardyError(Diagnostic(_named(shown, error.first.message), WHOLE_FILE)) from None
        text = text_of(data)
        if text is None:
            raise ShardyError(Diagnostic(_named(shown, "expected text, got invalid UTF-8"), WHOLE_FILE))
        self.texts[shown] = text
        return InputFile(text, file=shown)

    def _data(self, name: str) -> bytes:
        try:
            if name == STANDARD:
                if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
                    raise OSError(EBADF, os.strerror(EBADF))
                return sys.stdin.buffer.read()
            with open(name, "rb") as file:
                return file.read()
        except (OSError, ValueError) as error:
            raise _file_error("input", name, error) from error

    def write(self, name: str, text: str, *, styled: bool = False) -> None:
        """Writes a file whole or not at all; to standard output for `-`, in characters that it can show.

        styled: the text holds escape sequences of its own for a terminal.

        Raises:
            ShardyError: the file cannot be written.
        """
        with _output(name):
            if name == STANDARD:
                _write_standard(text if styled else without_controls(text))
            else:
                write_whole(name, text)

    def write_bytes(self, name: str, data: bytes) -> None:
        """Writes a binary file whole or not at all, or standard output. Raises `ShardyError` if it cannot."""
        with _output(name):
            if name == STANDARD:
                sys.stdout.buffer.write(data)
            else:
                write_whole(name, data)

    def write_all(self, outputs: Iterable[tuple[str, str | bytes]], *, styled: bool = False) -> None:
        """Writes several outputs: all files or none, then what goes to standard output, as `write` does.

        Raises:
            ShardyError: a file cannot be written, or is named twice.
        """
        listed = list(outputs)
        names = [os.path.realpath(name) for name, _ in listed if name != STANDARD]
        if len(set(names)) < len(names):
            raise usage_error("two outputs have the same file")
        with ExitStack() as stack:
            for name, text in listed:
                if name != STANDARD:
                    stack.enter_context(_output(name))
                    stack.enter_context(staged(name, text))
        for text in (text for name, text in listed if name == STANDARD):
            if isinstance(text, bytes):
                self.write_bytes(STANDARD, text)
            else:
                self.write(STANDARD, text, styled=styled)

    def forget(self) -> None:
        """Drops the texts and names of the files read so far."""
        self.texts.clear()
        self.names.clear()

    def show(self, text: str, *, styled: bool = False) -> int:
        """Prints a line to standard output; returns `SUCCESS`."""
        self.write(STANDARD, f"{text}\n", styled=styled)
        return SUCCESS


def run_command(
    name: str,
    parse: Callable[[list[str]], Options],
    work: Callable[[Options, Files], int],
    arguments: list[str] | None = None,
    *,
    failure: int = FAILURE,
    loads_plugins: bool = False,
) -> int:
    """Runs a command and returns its exit code; failures are printed to standard error.

    arguments: those of the process by default. failure: the exit code of invalid input and use.
    loads_plugins: whether installed plugins are loaded before the arguments are read.

    Cyclic garbage is not collected: a program is one large graph that lives to the end of the process, and
    the interpreter need not traverse it at exit either.
    """
    files = Files()
    gc.disable()
    try:
        with argument():
            if loads_plugins:
                load_installed_plugins()
            options = parse(sys.argv[1:] if arguments is None else arguments)
        return work(options, files)
    except ShardyError as error:
        log(f"{rendered(name, error, files)}\n")
        return failure
    except BrokenPipeError:
        _discard_output()
        return failure
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit:  # of argparse, after --help or --version
        return SUCCESS
    except Exception as error:
        if INTERRUPTS.is_pending:
            return INTERRUPTED
        if TRACEBACK in os.environ:
            raise
        if isinstance(error, MemoryError):
            log(f"{next(reversed(files.texts), name)}: error: out of memory{_reason(error)}\n")
            return failure
        if isinstance(error, RecursionError):
            log(f"{next(reversed(files.texts), name)}: error: the program is nested too deeply\n")
            return failure
        remedy = f"Please report it with the input. {TRACEBACK}=1 shows where it happened."
        log(f"{name}: internal error: {type(error).__name__}: {error}\n{remedy}\n")
        return BUG
    finally:
        gc.freeze()


@contextmanager
def argument(name: str = "", *values: str, parts_only: bool = False) -> Generator[None]:
    """Places errors raised within at the command line, in the argument of that name.

    values: those of the argument; one that an error is about a part of is shown, with a caret.
    parts_only: other errors pass.

    >>> with argument("--level"):
    ...     raise ShardyError("expected a level")
    Traceback (most recent call last):
        ...
    shardy_py.base.errors.ShardyError: <command line>:0:0: error: argument --level: expected a level
    >>> with argument("--mesh", "data=4,model=x"):
    ...     raise ShardyError.unexpected("", expected="a number", got="'x'")
    Traceback (most recent call last):
        ...
    shardy_py.base.errors.ShardyError: <command line>:0:0: error: argument --mesh: expected a number, got 'x'
    data=4,model=x
                 ^
    """
    try:
        yield
    except ShardyError as error:
        from shardy_py.cli.flag_values import subject_start

        fault = error.first
        if fault.where is not None and fault.where is not COMMAND_LINE:
            raise
        starts = ((value, subject_start(fault, value)) for value in values)
        value, start = next(((value, start) for value, start in starts if start is not None), ("", None))
        if parts_only and start is None:
            raise
        caret = f"\n{value}\n{' ' * start}^" if start is not None and value != fault.subject else ""
        said = f"argument {name}: {fault.message}{caret}" if name else fault.message
        raise usage_error(said) from error


def usage_error(message: str) -> ShardyError:
    """The error for a command line that is invalid."""
    return ShardyError(Diagnostic(message, COMMAND_LINE))


def rendered(name: str, error: ShardyError, files: Files) -> str:
    """Returns the diagnostics of an error as they are printed by the command of that name.

    One without a place is at the file if a single one was read, else it is the command's.
    """
    unplaced = WholeFile(next(iter(files.names)) if len(files.names) == 1 else name)
    diagnostics = [diagnostic.at(unplaced) for diagnostic in error.diagnostics]
    texts = [_plain(name, diagnostic) for diagnostic in diagnostics]
    if None not in texts:
        return "\n".join(map(str, texts))
    from shardy_py.cli.flag_values import texts_of
    from shardy_py.mlir.text.source import render_all

    return render_all(diagnostics, {**files.texts, **texts_of(error)})


def _plain(name: str, diagnostic: Diagnostic) -> str | None:
    """A diagnostic of the command line or of a file as a whole; None for one with a place in a text."""
    if diagnostic.where is COMMAND_LINE:
        return without_controls(f"{name}: {diagnostic.message}")
    if diagnostic.where is WHOLE_FILE:
        return without_controls(diagnostic.message)
    return None


def _file_error(kind: str, name: str, error: OSError | ValueError) -> ShardyError:
    """The error for a file as a whole. The message is MLIR's."""
    reason = getattr(error, "strerror", None) or str(error)
    return ShardyError(Diagnostic(f"cannot open {kind} file '{name}': {reason}", WHOLE_FILE))


def _named(file: str, message: str) -> str:
    """The message of an error in a file as a whole, which may begin with the name of the file."""
    return f"{file}: error: {message.removeprefix(f'{file}: ')}"


@contextmanager
def _output(name: str) -> Generator[None]:
    """Reports failures to write to the file of that name."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        if name == STANDARD:
            _discard_output()
        raise _file_error("output", name, error) from error


def _write_standard(text: str) -> None:
    """Writes to standard output, in characters that it can show."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise OSError(EBADF, os.strerror(EBADF))
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding
        plain = text.translate(_ASCII).encode(encoding, "backslashreplace")
        sys.stdout.write(plain.decode(encoding))
    sys.stdout.flush()


def _reason(error: MemoryError) -> str:
    """The array that did not fit, as numpy describes it."""
    return without_controls(f": {error}") if str(error) else ""


def _discard_output() -> None:
    """Sends what is left in the buffer of standard output nowhere: Python would fail on it again at exit."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def log(text: str) -> None:
    """Writes to standard error; if that is closed or full, nothing is reported."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()
