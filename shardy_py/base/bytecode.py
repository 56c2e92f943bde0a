"""Which data is MLIR bytecode, who wrote it, and the bytecode in what `jax.export` serializes.

Not here: what bytecode says (`mlir/bytecode/`).

>>> is_bytecode(b"module {}")
False
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from shardy_py.base.releases import Release, written_by

MAGIC = b"ML\xefR"
"""The first bytes of MLIR bytecode (MLIR, Bytecode Format)."""
_PRODUCER = slice(len(MAGIC), len(MAGIC) + 100)
"""The version, an integer of variable length, and the name of the producer, which ends with a zero."""


def is_bytecode(data: bytes) -> bool:
    """True if `data` is MLIR bytecode, which includes StableHLO portable artifacts."""
    return data.startswith(MAGIC)


def release_of(data: bytes) -> Release | None:
    """Returns the newest release of JAX whose jaxlib writes such bytecode; None if none is known to.

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
