"""Reads programs of any format as modules of StableHLO.

What the content is decides, never the name of a file. Not here: files (`files.py`).

>>> print(parse_program("HloModule m\\nENTRY main { ROOT p = f32[4] parameter(0) }").sym_name.data)
m
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.inputs.formats import TORCH_EXPORT, format_of
from shardy_py.inputs.hlo import hlo_module
from shardy_py.mlir.bytecode import parse_program as parse_mlir


def parse_program(
    content: str | bytes, file: str = "-", *, allow_unregistered: bool = False, first_line: int = 1
) -> ModuleOp:
    """Returns the module of a program: text of MLIR or HLO, bytecode, a protocol buffer, a torch archive.

    Raises:
        ShardyError: the content is invalid, with its place.
    """
    if isinstance(content, bytes) and format_of(content) == TORCH_EXPORT:
        from shardy_py.inputs.torch_archives import torch_module

        return torch_module(content, file)
    if (module := hlo_module(content, file, first_line)) is not None:
        from shardy_py.hlo.to_stablehlo import stablehlo_module

        return stablehlo_module(module)
    return parse_mlir(content, file, allow_unregistered=allow_unregistered, first_line=first_line)
