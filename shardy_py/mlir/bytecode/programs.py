"""Reads programs as text or as bytecode, whose tables are imported when there is some.

>>> parse_program("module @m {}").sym_name.data
'm'
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.mlir.dialects import parse_module


def parse_program(
    content: str | bytes, file: str = "-", *, allow_unregistered: bool = False, first_line: int = 1
) -> ModuleOp:
    """Returns the module that a text spells, as `parse_module` does, or that bytecode holds.

    Raises:
        ShardyError: the content is invalid, with its place.
    """
    if isinstance(content, str):
        return parse_module(content, file, allow_unregistered=allow_unregistered, first_line=first_line)
    from shardy_py.mlir.bytecode.module_reader import read_bytecode

    return read_bytecode(content, file, allow_unregistered=allow_unregistered)
