"""`sdy-save-module`: writes the module to a file, for debugging.

    dump-directory=out file-name=after_propagation dump-index=3      out/03.after_propagation.mlir

A file that cannot be written is reported as a warning. Not here: which pipelines save what, and when
(`pipelines.py`).
"""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from shardy_py.dialects import print_module
from shardy_py.errors import warn
from shardy_py.passes.options import SaveModuleOptions


def save_module(module: ModuleOp, options: SaveModuleOptions) -> None:
    """Writes the module to a file."""
    if not options.dump_directory:
        return
    number = f"{options.dump_index:02}." if options.dump_index >= 0 else ""
    path = Path(options.dump_directory) / f"{number}{options.file_name}.mlir"
    try:
        path.write_text(print_module(module))
    except OSError as error:
        warn(f"error when writing file {path}: {error.strerror}")
