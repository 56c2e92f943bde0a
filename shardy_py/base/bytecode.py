"""MLIR bytecode to text, by jaxlib in a process of its own: damaged bytecode can end its reader.

>>> is_bytecode(b"module {}")
False
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from shardy_py.base.errors import ShardyError
from shardy_py.base.releases import Release, written_by

_MAGIC = b"ML\xefR"
"""The first bytes of MLIR bytecode (MLIR, Bytecode Format)."""
_PRODUCER = slice(len(_MAGIC), len(_MAGIC) + 100)
"""The version, an integer of variable length, and the name of the producer, which ends with a zero."""
_SECONDS, _BYTES_A_SECOND = 3, 1 << 20
"""Processor time of the reader: damaged bytecode may keep it for ever."""
_PATIENCE = 20
"""The factor of time allowed for a busy machine, and to import jaxlib."""
_READER = Path(__file__).with_name("bytecode_reader.py")
NO_JAXLIB, INVALID = 3, 4
"""Exit codes of the reader."""
OUT_OF_TIME = (24, 9)
"""Signals that end a process out of processor time: SIGXCPU, SIGKILL."""


def is_bytecode(data: bytes) -> bool:
    """True if `data` is MLIR bytecode, which includes StableHLO portable artifacts."""
    return data.startswith(_MAGIC)


def release_of(data: bytes) -> Release | None:
    """Returns the release of JAX whose jaxlib wrote bytecode, if that is certain.

    >>> str(release_of(bytes([*b"ML", 0xEF, *b"R", 13, *b"MLIR24.0.0git", 0])))
    'JAX 0.12'
    """
    producer = data[_PRODUCER][1:].partition(b"\0")[0]
    return written_by(producer.decode("ascii", "replace"))


def exported_module(data: bytes) -> bytes | None:
    """Returns the bytecode in what `Exported.serialize()` of `jax.export` returns; None in other data.

    That is a flatbuffer, whose root table has the module as a vector of bytes, in a field whose number
    depends on the release.
    """
    try:
        return next((each for each in _vectors(data) if is_bytecode(each)), None)
    except struct.error:
        return None


def _vectors(data: bytes) -> Iterator[bytes]:
    """The content of each field of the root table of a flatbuffer, if it is a vector of bytes.

    Raises:
        struct.error: the data ends before.
    """

    def number(kind: str, at: int) -> int:
        return struct.unpack_from(f"<{kind}", data, at)[0]

    table = number("I", 0)
    fields = table - number("i", table)
    for at in range(fields + 4, fields + number("H", fields), 2) if fields >= 0 else ():
        place = table + number("H", at)
        vector = place + number("I", place) if place + 4 <= len(data) else len(data)
        if table < place and vector + 4 <= len(data):
            yield data[vector + 4 : vector + 4 + number("I", vector)]


def text_of_bytecode(data: bytes) -> str:
    """Returns the text of a module, with locations.

    Raises:
        ShardyError: jaxlib is not installed, or cannot read the data.
    """
    import subprocess  # which most commands need not wait for

    seconds = _SECONDS + len(data) // _BYTES_A_SECOND
    # -P: modules beside the reader must not hide others
    command = [sys.executable, "-P", str(_READER), str(seconds)]
    patience = seconds * _PATIENCE
    try:
        reader = subprocess.run(command, input=data, capture_output=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        raise _unreadable(f"no end within {patience} s") from None
    match reader.returncode:
        case 0:
            return reader.stdout.decode("utf-8", "surrogateescape")
        case code if code == NO_JAXLIB:
            remedy = "pip install jax, or pass the text instead"
            raise ShardyError.unsupported("MLIR bytecode without jaxlib", remedy=remedy)
        case code if code == INVALID:
            raise _unreadable(reader.stdout.decode("utf-8", "replace"))
        case code if -code in OUT_OF_TIME:
            raise _unreadable(f"no end within {seconds} s of processor time, the limit for {len(data)} bytes")
        case code:
            raise _unreadable(f"its reader ended with exit code {code}")


def _unreadable(why: str) -> ShardyError:
    return ShardyError(f"jaxlib cannot read this MLIR bytecode: {why}")
