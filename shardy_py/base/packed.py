"""Packed lists of integers in protocol buffers, read by numpy. Not here: other values (`wire.py`)."""

from __future__ import annotations

from shardy_py.base.deferred import np
from shardy_py.base.wire import MAX_LENGTH, malformed


def unpacked(data: bytes, name: str = "protocol buffer") -> list[int]:
    """Returns the integers of a packed list, signed.

    >>> unpacked(bytes.fromhex("0196018ff8ffffffffffffff01"))
    [1, 150, -1009]
    """
    found = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(found < 128)
    if not found.size:
        return []
    if not ends.size or ends[-1] != found.size - 1:
        raise malformed(len(data), name)
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1))
    lengths = ends - starts + 1
    if int(lengths.max()) > MAX_LENGTH:
        raise malformed(int(starts[int(lengths.argmax())]), name)
    values = np.zeros(ends.size, np.uint64)
    for place in range(int(lengths.max())):
        has = lengths > place
        bits = found[starts[has] + place].astype(np.uint64) & np.uint64(127)
        values[has] |= bits << np.uint64(7 * place)
    return values.view(np.int64).tolist()
