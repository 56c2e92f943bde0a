"""The programs that names of a command line stand for: files, folders, patterns.

| name | programs |
|---|---|
| a file, `-` | itself |
| a folder that XLA or Shardy dumped | itself |
| another folder | the programs in it and in its folders |
| a pattern: `models/**/*.mlir` | the files and folders that it matches |

Not here: what a file holds (`formats.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from shardy_py.base.errors import Diagnostic, ShardyError, WholeFile
from shardy_py.base.inputs.folders import programs_below
from shardy_py.base.records import dataclass


@dataclass(frozen=True, slots=True)
class NamedProgram:
    """A program to be read; is_found: it was found in a folder or by a pattern, not named itself."""

    name: str
    is_found: bool


def listed_programs(names: Iterable[str], excludes: Callable[[str], bool]) -> list[NamedProgram]:
    """Returns the programs, each once, in the order of the names.

    excludes: whether one is left out that was found, not named.

    Raises:
        ShardyError: nothing is found for a name.
    """
    found: dict[str, NamedProgram] = {}
    for name in names:
        for program in _of_name(name, excludes):
            found.setdefault(os.path.realpath(program.name), program)
    return [*found.values()]


def _of_name(name: str, excludes: Callable[[str], bool]) -> Iterator[NamedProgram]:
    if name == "-" or os.path.isfile(name):
        yield NamedProgram(name, False)
        return
    from glob import glob, has_magic  # for names of several programs only

    if not (os.path.isdir(name) or has_magic(name)):
        yield NamedProgram(name, False)
        return
    if os.path.isdir(name):
        programs = _below(name)
        if not programs:
            from shardy_py.base.inputs.folders import chosen_file

            chosen_file(name)  # raises what says what is in it
    else:
        matches = sorted(glob(name, recursive=True))
        if not matches:
            raise ShardyError.unexpected(
                "", expected="a file that matches", got="none", where=WholeFile(name)
            )
        folders = (_below(match) if os.path.isdir(match) else [match] for match in matches)
        programs = [program for programs in folders for program in programs]
    for program in programs:
        if program == name:
            yield NamedProgram(program, False)
        elif not excludes(program):
            yield NamedProgram(program, True)


def _below(folder: str) -> list[str]:
    try:
        return programs_below(folder)
    except OSError as error:
        raise ShardyError(Diagnostic(error.strerror or str(error), WholeFile(folder))) from None
