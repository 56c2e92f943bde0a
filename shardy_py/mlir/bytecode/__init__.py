"""MLIR bytecode to IR in plain Python: all versions of the format, and of VHLO, without MLIR itself.

    module = read_bytecode(Path("model.mlirbc").read_bytes())

Other xDSL projects can use it as it is: the result is a `ModuleOp` of xDSL, with ops of the dialects that
xDSL and this package know, and of those that `register_dialect` adds. `encoding.py` has the primitives,
`sections.py` the parts of a file, `entries.py` and `rows.py` attributes and types by tables of dialects,
`ir_section.py` the ops.

`writing.py` writes what MLIR's tools read: `write_bytecode(module)`.

Not here: portable artifacts; which file is bytecode (`base/bytecode.py`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from shardy_py.mlir.bytecode.programs import parse_program

if TYPE_CHECKING:
    from shardy_py.mlir.bytecode.entries import Encodings
    from shardy_py.mlir.bytecode.module_reader import ENCODINGS, read_bytecode
    from shardy_py.mlir.bytecode.sections import BytecodeFile, read_file
    from shardy_py.mlir.bytecode.writing import write_bytecode

__all__ = [
    "ENCODINGS",
    "BytecodeFile",
    "Encodings",
    "parse_program",
    "read_bytecode",
    "read_file",
    "write_bytecode",
]

_MODULES = {
    "ENCODINGS": "module_reader",
    "read_bytecode": "module_reader",
    "Encodings": "entries",
    "BytecodeFile": "sections",
    "read_file": "sections",
    "write_bytecode": "writing",
}
"""The modules of names, which are imported when there is bytecode."""


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
