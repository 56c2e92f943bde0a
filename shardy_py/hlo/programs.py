"""Reads programs of any form as modules of StableHLO: MLIR text and bytecode, HLO text.

What the content is decides, never the name of a file. Not here: files (`base/input_files.py`).

>>> print(parse_program("HloModule m\\nENTRY main { ROOT p = f32[4] parameter(0) }").sym_name.data)
m
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.input_files import is_hlo
from shardy_py.mlir.bytecode import parse_program as parse_mlir


def parse_program(
    content: str | bytes, file: str = "-", *, allow_unregistered: bool = False, first_line: int = 1
) -> ModuleOp:
    """Returns the module of a program: text of MLIR or HLO, or bytecode.

    Raises:
        ShardyError: the content is invalid, with its place.
    """
    if isinstance(content, str) and is_hlo(content):
        from shardy_py.hlo.text import read_module
        from shardy_py.hlo.to_stablehlo import stablehlo_module

        return stablehlo_module(read_module(content, file, first_line=first_line))
    return parse_mlir(content, file, allow_unregistered=allow_unregistered, first_line=first_line)
