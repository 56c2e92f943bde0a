"""What a target is, and how the answers of commands and calls are judged.

A target returns "output" or "diagnostic", or raises: `Fault` for an answer that breaks its promise, anything
else for a bug. Input that has lines gets diagnostics with a place in it.
"""

from __future__ import annotations

import atexit
import io
import os
import random
import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal

from shardy_py.base.errors import ShardyError
from shardy_py.cli.shell import TROUBLE
from tests.fuzz.mutation import damaged

Outcome = Literal["output", "diagnostic"]
Run = Callable[[bytes, random.Random], Outcome]

_PLACE = re.compile(r"^[^\n]*:\d+:\d+: (error|warning): ", re.MULTILINE)
_REMARK = re.compile(r"^.*: remark: .*\n", re.MULTILINE)
_FILE_ERROR = re.compile(r"^cannot open (input|output) file ")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Fault(Exception):
    """An answer that breaks a promise."""


@dataclass(frozen=True, slots=True)
class Target:
    """A reader.

    seeds: valid inputs. damage: makes an input from two of them. share: its part of all inputs.
    """

    name: str
    seeds: Callable[[], tuple[bytes, ...]]
    run: Run
    damage: Callable[[bytes, bytes, random.Random], bytes] = damaged
    share: float = 1


def work_folder() -> Path:
    """Returns a folder of this process for input files, which is removed when the run ends."""
    return _folder_of(os.getpid())


@cache
def _folder_of(process: int) -> Path:
    folder = _folder_of_run() / str(process)
    folder.mkdir()
    return folder


@cache
def _folder_of_run() -> Path:
    """The folder of a process and its children, some of which do not live to remove their own."""
    folder = Path(mkdtemp(prefix="fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def command(main: Callable[[list[str]], int], arguments: list[str], *, located: bool) -> Outcome:
    """Runs a command in this process and judges its exit code and messages.

    located: every failure must have a place in the input.
    """
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = main(arguments)
    message = errors.getvalue()
    if code not in (0, 1, TROUBLE) or "internal error" in message:
        raise Fault(f"exit code {code}: {_shown(message)} {shlex.join(arguments)}")
    for text in (message, output.getvalue()):
        if control := _CONTROL.search(text):
            raise Fault(f"control character {control.group()!r} in the output: {shlex.join(arguments)}")
    if code == 0:
        return "output"
    if not message and not output.getvalue():
        raise Fault(f"failed without a message: {shlex.join(arguments)}")
    place = _PLACE.search(message)
    diagnostics = message[place.start() :] if place else message  # behind what --trace prints
    if len(diagnostics) > 100_000:
        raise Fault(f"a message of {len(diagnostics)} characters: {shlex.join(arguments)}")
    rest = _REMARK.sub("", message)  # remarks are on the whole file
    if located and rest and not place and not _FILE_ERROR.search(message):
        raise Fault(f"no place: {_shown(message)} {shlex.join(arguments)}")
    if re.search(r":0:\d+: error", message):
        raise Fault(f"line 0: {_shown(message)} {shlex.join(arguments)}")
    return "diagnostic"


def _shown(message: str) -> str:
    return repr(message[:300])


def diagnosed(read: Callable[[], object]) -> Outcome:
    """Judges a call of the API: a result or a `ShardyError`."""
    try:
        read()
    except ShardyError as error:
        if len(str(error)) > 100_000:
            raise Fault(f"a message of {len(str(error))} characters") from None
        return "diagnostic"
    return "output"
