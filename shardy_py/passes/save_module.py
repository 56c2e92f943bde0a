"""`sdy-save-module`: writes the module to a file, for debugging; the module stays as it is.

    dump-directory=out file-name=after_propagation dump-index=3      out/03.after_propagation.mlir

A file that cannot be written is reported as a warning. Not here: which pipelines save what, and when
(`pipelines.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.dialects import print_module
from shardy_py.errors import warn


@dataclass(frozen=True)
class SaveModulePass(ModulePass):
    """Writes the module to a file."""

    name = "sdy-save-module"
    dump_directory: str = ""
    file_name: str = "module"
    dump_index: int = -1

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        save_module(op, self.dump_directory, self.file_name, self.dump_index)


def save_module(module: ModuleOp, directory: str, name: str, index: int = -1) -> None:
    """Write the module to `index.name.mlir` in a folder that exists; nothing happens if `directory` is empty.

    index: two digits at least; below 0 for a name without a number.
    """
    if not directory:
        return
    path = Path(directory) / (f"{index:02}.{name}.mlir" if index >= 0 else f"{name}.mlir")
    try:
        path.write_text(print_module(module))
    except OSError as error:
        warn(f"error when writing file {path}: {error.strerror}")
