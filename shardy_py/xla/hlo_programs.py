"""HLO of any format, text and protocol buffers, as modules of HLO and of StableHLO.

>>> print(program_of("HloModule m\\nENTRY main { ROOT p = f32[4] parameter(0) }").sym_name.data)
m
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardy_py.base.inputs.formats import is_hlo_proto_text
from shardy_py.hlo.proto import encoded_module, read_proto
from shardy_py.hlo.text import HloModule, read_module
from shardy_py.xla.hlo_sharding.proto import hlo_sharding_from_proto

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def hlo_module(content: str | bytes, file: str = "-", first_line: int = 1) -> HloModule:
    """Returns the module of HLO that is text or a protocol buffer.

    Raises:
        ShardyError: the content is invalid, with its place.
    """
    if isinstance(content, str):
        if not is_hlo_proto_text(content):
            return read_module(content, file, first_line=first_line)
        content = encoded_module(content, file)
    return read_proto(content, file, lambda data: str(hlo_sharding_from_proto(data)))


def program_of(content: str | bytes, file: str = "-", first_line: int = 1) -> ModuleOp:
    """Returns HLO that is text or a protocol buffer as a module of StableHLO.

    Raises:
        ShardyError: the content is invalid or has an instruction that StableHLO has not, with its place.
    """
    from shardy_py.hlo.to_stablehlo import stablehlo_module  # analysis of HLO needs no xDSL

    return stablehlo_module(hlo_module(content, file, first_line))
