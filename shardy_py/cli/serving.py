"""`shardy-serve`: a command, such as a suite of tests, whose commands of this package start in no time.

    shardy-serve lit -v filecheck

Starting Python and loading what `sdy-opt` uses takes most of the time of a run on a small file. Here one
process has loaded it; each command, which finds the server by `SHARDY_SERVER`, is a fork of it that has the
folder, environment, arguments and streams of its caller, so that commands share nothing else. What one of
them had to load, the server loads as well, for those that follow. A fork ends with its caller, the server
with the command that it was made for. Not here: the other end (`remote.py`).
"""

from __future__ import annotations

import fcntl
import gc
import io
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import NoReturn

from shardy_py.cli import remote
from shardy_py.cli.commands import run_here
from shardy_py.cli.shell import FAILURE, Files, log, run_command, usage_error
from shardy_py.cli.version import version_text

_USE = "usage: shardy-serve COMMAND [ARGUMENT ...]"
_HELP = f"""{_USE}

Runs a command, such as a suite of tests, while a server runs the sdy-opt, sdy-check, ... that it
starts: each is a fork of one process that has loaded what they use.

Exit codes: 0 to 255: those of the command; 1: wrong use; 126: the command cannot be run; 127: it
is not found."""
_SHOWN: dict[str, Callable[[], str]] = {
    "-h": lambda: _HELP,
    "--help": lambda: _HELP,
    "--version": lambda: version_text("shardy-serve"),
}
_NOT_FOUND, _NOT_EXECUTABLE, _SIGNALLED = 127, 126, 128
"""Exit codes, those of shells; of a command ended by a signal: its number more."""
_PRELOADED = ("shardy_py.", "xdsl.")
"""The modules that the server loads after a command had to: those of plugins belong to the command alone."""
_MODES = ("rb", "wb", "wb")
"""How the streams are opened, by their descriptors."""
_STDERR = 2
_BYTE = 0xFF
_PIPE_BYTES = 1 << 16
"""The capacity of a pipe: all messages in it are read at once, and each is whole."""
_FLUSH_FAILED = 120
"""Python's own exit code for output that could not be written at exit."""


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("shardy-serve", _parse, _run, arguments)


def _parse(arguments: list[str]) -> tuple[str, ...]:
    if not arguments:
        raise usage_error(f"expected a command\n{_USE}")
    if arguments[0].startswith("-") and arguments[0] not in _SHOWN:
        raise usage_error(f"unknown argument {arguments[0]!r}\n{_USE}")
    return tuple(arguments)


def _run(command: tuple[str, ...], files: Files) -> int:
    if shown := _SHOWN.get(command[0]):
        return files.show(shown())
    if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
        raise usage_error("a server needs a system with fork and descriptors sent over sockets")
    with TemporaryDirectory(prefix="shardy-") as folder, socket.socket(socket.AF_UNIX) as listening:
        address = os.path.join(folder, "server")
        listening.bind(address)
        listening.listen(socket.SOMAXCONN)
        ended, held = os.pipe()
        server = os.fork()
        if not server:
            os.close(held)
            _serve(listening, ended)
        os.close(ended)
        try:
            return _ended(command, {**os.environ, remote.SERVER: address})
        finally:
            os.close(held)
            os.waitpid(server, 0)


def _ended(command: tuple[str, ...], environment: dict[str, str]) -> int:
    """Runs a command to its end, also after an interrupt, which it gets too; returns its code as a shell."""
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        log(f"shardy-serve: cannot run '{command[0]}': {error.strerror}\n")
        return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE
    while True:
        with suppress(KeyboardInterrupt):
            code = process.wait()
            return code if code >= 0 else _SIGNALLED - code


def _serve(listening: socket.socket, ended: int) -> NoReturn:
    """Answers requests until the other end of the pipe `ended` is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that nobody need wait for the forks
    loaded, loads = os.pipe()
    with selectors.DefaultSelector() as waiting:
        for source in (listening, ended, loaded):
            waiting.register(source, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in waiting.select()}
            if ended in ready:
                os._exit(0)
            if loaded in ready:
                _load(os.read(loaded, _PIPE_BYTES).decode().split())
            if listening in ready:
                connection, _ = listening.accept()
                if not os.fork():
                    waiting.close()
                    listening.close()
                    _answer(connection, loads)
                connection.close()


def _load(modules: Iterable[str]) -> None:
    """Imports modules for the forks to come."""
    for module in modules:
        with suppress(ImportError):
            import_module(module)
    gc.collect()
    gc.freeze()  # pages of what is loaded stay shared with the forks


def _answer(connection: socket.socket, loads: int) -> NoReturn:
    """Runs the command of one request, and sends its exit code."""
    code = FAILURE
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        known = {*sys.modules}
        module = _take_over(connection)
        with _ended_with(connection):
            code = _exit_code(module)
        connection.send(bytes([code & _BYTE]))
        _report(loads, [name for name in sys.modules if name not in known and name.startswith(_PRELOADED)])
    finally:
        os._exit(code)


def _take_over(connection: socket.socket) -> str:
    """Takes streams, folder, arguments and environment of a request; returns the module of its command."""
    length, streams, _, _ = socket.recv_fds(connection, remote.LENGTH_BYTES, len(_MODES))
    with connection.makefile("rb") as request:
        texts = map(os.fsdecode, request.read(int.from_bytes(length, "big")).split(b"\0")[:-1])
    module, folder = next(texts), next(texts)
    opened: list[io.TextIOWrapper] = []
    for number, (stream, mode) in enumerate(zip(streams, _MODES, strict=True)):
        os.dup2(stream, number)
        os.close(stream)
        buffer = os.fdopen(number, mode, closefd=False)
        opened.append(io.TextIOWrapper(buffer, next(texts), next(texts), line_buffering=number == _STDERR))
    sys.stdin, sys.stdout, sys.stderr = opened
    sys.argv[1:] = [next(texts) for _ in range(int(next(texts)))]
    os.environ.clear()
    os.environ.update(dict(text.split("=", 1) for text in texts))
    os.chdir(folder)
    return module


@contextmanager
def _ended_with(connection: socket.socket) -> Generator[None]:
    """Ends this process, by a signal, when the one that waits for the answer ends."""
    flags = fcntl.fcntl(connection, fcntl.F_GETFL)
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, flags | os.O_ASYNC)
    with suppress(BlockingIOError):
        if not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
            os._exit(FAILURE)  # it has ended already, which no signal will say
    try:
        yield
    finally:
        fcntl.fcntl(connection, fcntl.F_SETFL, flags)


def _exit_code(module: str) -> int:
    """Runs the command of a module as Python runs a console script; returns its exit code."""
    try:
        code = run_here(module)
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else FAILURE
    except BaseException:
        traceback.print_exc()
        code = FAILURE
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        return _FLUSH_FAILED
    return code


def _report(loads: int, modules: Sequence[str]) -> None:
    """Tells the server what a command had to load, in messages that nothing comes between."""
    message = b""
    for module in modules:
        name = module.encode() + b"\n"
        if len(message) + len(name) > select.PIPE_BUF:
            os.write(loads, message)
            message = b""
        message += name
    os.write(loads, message)
