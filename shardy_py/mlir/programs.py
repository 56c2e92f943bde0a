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
from shardy_py.mlir.dialects.verification import verify_module


def parse_program(
    content: str | bytes,
    file: str = "-",
    *,
    allow_unregistered: bool = False,
    first_line: int = 1,
    verified: bool = False,
) -> ModuleOp:
    """Returns the module of a program: text of MLIR or HLO, bytecode, a protocol buffer, a torch archive.

    Raises:
        ShardyError: the content is invalid, with its place; if `verified`, also the faults of the module.
    """
    if holds_hlo(content):
        module = extension("hlo").program_of(content, file, first_line)
    elif isinstance(content, bytes) and format_of(content) == TORCH_EXPORT:
        module = extension("torch.archives").torch_module(content, file)
    else:
        return parse_mlir(
            content, file, allow_unregistered=allow_unregistered, first_line=first_line, verified=verified
        )
    if verified:
        verify_module(module)
    return module
