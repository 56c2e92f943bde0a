"""MLIR bytecode to text, by jaxlib in a process of its own: damaged bytecode can end its reader.

>>> is_bytecode(b"module {}")
False
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from shardy_py.errors import ShardyError

_MAGIC = b"ML\xefR"
"""The first bytes of MLIR bytecode (MLIR, Bytecode Format)."""
_SECONDS = 60
"""How long the reader may take; damaged bytecode may keep it for ever."""
_READER = Path(__file__).with_name("bytecode_reader.py")
NO_JAXLIB, INVALID = 3, 4
"""Exit codes of the reader."""


def is_bytecode(data: bytes) -> bool:
    """Whether `data` is MLIR bytecode, which includes StableHLO portable artifacts."""
    return data.startswith(_MAGIC)


def text_of_bytecode(data: bytes) -> str:
    """Returns the text of a module, with locations.

    Raises:
        ShardyError: jaxlib is not installed, or cannot read the data.
    """
    command = [sys.executable, "-P", str(_READER)]  # -P: modules beside the reader must not hide others
    try:
        reader = subprocess.run(command, input=data, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise _unreadable(f"no end within {_SECONDS} s") from None
    match reader.returncode:
        case 0:
            return reader.stdout.decode("utf-8", "surrogateescape")
        case code if code == NO_JAXLIB:
            remedy = "pip install jax, or pass the text instead"
            raise ShardyError.unsupported("MLIR bytecode without jaxlib", remedy=remedy)
        case code if code == INVALID:
            raise _unreadable(reader.stdout.decode("utf-8", "replace"))
        case code:
            raise _unreadable(f"its reader ended with exit code {code}")


def _unreadable(why: str) -> ShardyError:
    return ShardyError(f"jaxlib cannot read this MLIR bytecode: {why}")
