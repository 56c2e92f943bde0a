"""Reads a compiled program that a command line names.

Not here: which of the files of a folder it is (`xla/compiled_programs.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardy_py.base.errors import Diagnostic, ShardyError, WholeFile, located
from shardy_py.cli.shell import WHOLE_FILE, Files, log
from shardy_py.cli.understood import write_remarks

if TYPE_CHECKING:
    from shardy_py.xla.compiled_programs import CompiledInput


def compiled_input(path: str, files: Files, name: str = "") -> CompiledInput:
    """Returns the compiled program in a file, or in a folder that XLA dumped.

    name: of the module that is meant, of those that a folder has.

    Raises:
        ShardyError: it cannot be read, or is invalid.
    """
    from shardy_py.xla.compiled_programs import (
        CompiledInput,
        assigned_memory,
        compiled_files,
        compiled_module,
    )

    try:
        found = compiled_files(path, name)
    except ShardyError as error:
        if error.first.where is not None:
            raise
        raise ShardyError(Diagnostic(error.first.message, WHOLE_FILE)) from None
    memory = assigned_memory(found)
    if found.remark:
        write_remarks((found.remark,), found.hlo, log)
    read = files.read(found.hlo)
    with located(WholeFile(read.file)):
        return CompiledInput(compiled_module(read.content, read.file), memory)
