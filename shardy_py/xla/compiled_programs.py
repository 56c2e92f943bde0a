"""Compiled programs: the last stage of a folder that XLA dumped, or a file, with its buffer assignment.

| path | program | buffer assignment |
|---|---|---|
| a folder of `--xla_dump_to` | the last stage of the largest module, or of the module of a name | beside it |
| a file | it is | beside it, if XLA wrote one |

Not here: the program that was compiled (`base/inputs/`), reading either (`hlo/`).
"""

from __future__ import annotations

import os
from pathlib import Path

from shardy_py.base.errors import ShardyError, WholeFile, located
from shardy_py.base.inputs.files import source_in
from shardy_py.base.inputs.folders import chosen_file, last_stage
from shardy_py.base.inputs.formats import holds_hlo
from shardy_py.base.records import dataclass
from shardy_py.hlo.buffers import AllocatedMemory, read_assignment
from shardy_py.hlo.text import HloModule
from shardy_py.xla.hlo_programs import hlo_module

_ASSIGNMENT = "-buffer-assignment.txt"
_ENDS = (".txt", ".hlo", ".hlo.pb", ".pb")
_LARGEST = 1 << 28
"""Bytes of a buffer assignment that is read."""


@dataclass(frozen=True, slots=True)
class CompiledFiles:
    """The files of a compiled program. assignment, remark on what was chosen: "": there is none."""

    hlo: str
    assignment: str = ""
    remark: str = ""


@dataclass(frozen=True)
class CompiledInput:
    """A compiled program.

    memory: as XLA assigned it; device_bytes: of the device that it was compiled for; None: not known.
    """

    module: HloModule
    memory: AllocatedMemory | None = None
    device_bytes: int | None = None


def compiled_files(path: str, name: str = "") -> CompiledFiles:
    """Returns the files of a compiled program.

    name: of the module that is meant, of those that a folder has.

    Raises:
        ShardyError: a folder has no compiled program, or cannot be read.
    """
    try:
        if not os.path.isdir(path):
            return CompiledFiles(path, _beside(path))
        found = last_stage(path, name)
        if found is not None:
            return CompiledFiles(found[0], _beside(found[0]), found[1])
        file, remark = chosen_file(path)
        return CompiledFiles(file, _beside(file), remark)
    except OSError as error:
        raise ShardyError.unopened(path, error) from None


def _beside(file: str) -> str:
    """The buffer assignment that XLA wrote beside a file; "" if there is none."""
    name = file.removesuffix(".gz")
    stem = next((name.removesuffix(end) for end in _ENDS if name.endswith(end)), "")
    found = Path(f"{stem}{_ASSIGNMENT}")
    return str(found) if stem and found.is_file() and found.stat().st_size <= _LARGEST else ""


def assigned_memory(files: CompiledFiles) -> AllocatedMemory | None:
    """Returns the memory of a compiled program by its buffer assignment; None if there is none.

    Raises:
        ShardyError: it cannot be read, or is invalid.
    """
    if not files.assignment:
        return None
    try:
        text = Path(files.assignment).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ShardyError.unopened(files.assignment, error) from None
    with located(WholeFile(files.assignment)):
        return read_assignment(text)


def compiled_module(content: str | bytes, file: str = "-") -> HloModule:
    """Returns the module of a compiled program, as text or as a protocol buffer.

    Raises:
        ShardyError: it is another program, or invalid.
    """
    if not holds_hlo(content):
        remedy = "pass compiled.as_text(), or a folder that XLA dumped"
        expected, place = "HLO of a compiled program", WholeFile(file)
        raise ShardyError.unexpected("", expected=expected, got="MLIR", remedy=remedy, where=place)
    return hlo_module(content, file)


def compiled_in(path: str, name: str = "") -> CompiledInput:
    """Returns the compiled program in a file or folder.

    Raises:
        ShardyError: it cannot be read, or is another program.
    """
    files = compiled_files(path, name)
    return CompiledInput(compiled_module(source_in(files.hlo).content, files.hlo), assigned_memory(files))
