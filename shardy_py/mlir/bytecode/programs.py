"""Reads programs as text or as bytecode, whose tables are imported when there is some.

>>> parse_program("module @m {}").sym_name.data
'm'
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.verification import verify_module


def parse_program(
    content: str | bytes,
    file: str = "-",
    *,
    allow_unregistered: bool = False,
    first_line: int = 1,
    verified: bool = False,
) -> ModuleOp:
    """Returns the module that a text spells, as `parse_module` does, or that bytecode holds.

    Raises:
        ShardyError: the content is invalid, with its place; if `verified`, also the faults of the module.
    """
    if isinstance(content, str):
        return parse_module(
            content, file, allow_unregistered=allow_unregistered, first_line=first_line, verified=verified
        )
    from shardy_py.mlir.bytecode.module_reader import read_bytecode

    module = read_bytecode(content, file, allow_unregistered=allow_unregistered)
    if verified:
        verify_module(module)
    return module
