"""Reads programs of any format as modules of StableHLO.

What the content is decides, never the name of a file. Readers of other formats than MLIR are above this
room, and asked by name (`base/extensions.py`). Not here: files (`base/inputs/`).

>>> print(parse_program("HloModule m\\nENTRY main { ROOT p = f32[4] parameter(0) }").sym_name.data)
m
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.extensions import extension
from shardy_py.base.inputs.formats import TORCH_EXPORT, format_of, holds_hlo
from shardy_py.mlir.bytecode import parse_program as parse_mlir


def parse_program(
    content: str | bytes, file: str = "-", *, allow_unregistered: bool = False, first_line: int = 1
) -> ModuleOp:
    """Returns the module of a program: text of MLIR or HLO, bytecode, a protocol buffer, a torch archive.

    Raises:
        ShardyError: the content is invalid, with its place.
    """
    if holds_hlo(content):
        return extension("hlo").program_of(content, file, first_line)
    if isinstance(content, bytes) and format_of(content) == TORCH_EXPORT:
        return extension("torch.archives").torch_module(content, file)
    return parse_mlir(content, file, allow_unregistered=allow_unregistered, first_line=first_line)
