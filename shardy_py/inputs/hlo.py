"""HLO modules of any format: text, and protocol buffers. Not here: their programs (`programs.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardy_py.base.bytecode import is_bytecode
from shardy_py.inputs.formats import is_hlo

if TYPE_CHECKING:
    from shardy_py.hlo.text import HloModule


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
