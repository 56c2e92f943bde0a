"""Reads programs of any format as modules of StableHLO.

What the content is decides, never the name of a file. Not here: files (`files.py`).

>>> print(parse_program("HloModule m\\nENTRY main { ROOT p = f32[4] parameter(0) }").sym_name.data)
m
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.bytecode import is_bytecode
from shardy_py.inputs.formats import TORCH_EXPORT, format_of, is_hlo
from shardy_py.mlir.bytecode import parse_program as parse_mlir

if TYPE_CHECKING:
    from shardy_py.hlo.text import HloModule


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


def hlo_module(content: str | bytes, file: str = "-", first_line: int = 1) -> HloModule | None:
    """Returns the module of a program that is HLO, as text or as a protocol buffer; None for others.

    Raises:
        ShardyError: the content is invalid, with its place.
    """
    if isinstance(content, str):
        if not is_hlo(content):
            return None
        from shardy_py.hlo.text import read_module

        return read_module(content, file, first_line=first_line)
    if is_bytecode(content):
        return None
    from shardy_py.hlo.proto import read_proto
    from shardy_py.xla.hlo_sharding.proto import hlo_sharding_from_proto

    return read_proto(content, file, lambda data: str(hlo_sharding_from_proto(data)))
