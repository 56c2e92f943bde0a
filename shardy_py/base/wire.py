"""The wire format of protocol buffers: keys and values as bytes.

Source: https://protobuf.dev/programming-guides/encoding. Not here: packed lists, which numpy reads
(`packed.py`), the messages (`hlo/proto/`, `xla/hlo_sharding/proto.py`, `report/time/chakra.py`).

>>> integer_field(1, 150).hex(), bytes_field(2, b"hi").hex()
('089601', '12026869')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shardy_py.base.errors import ShardyError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""The kinds of values, in the last three bits of a key."""
_WORD = 1 << 64
MAX_LENGTH = 10
"""The most bytes of an integer."""
_SIZES = {FIXED64: 8, FIXED32: 4}


def varint(value: int) -> bytes:
    """Returns an integer as groups of seven bits, least first; a negative one in two's complement of 64."""
    value %= _WORD
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def integer_field(number: int, value: int) -> bytes:
    """Returns a field of an integer, a bool or an enum, also of the default value."""
    return varint(number << 3 | VARINT) + varint(value)


def bytes_field(number: int, data: bytes) -> bytes:
    """Returns a field of bytes: a string, a message, or packed integers."""
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def packed(values: Iterable[int]) -> bytes:
    """Returns the integers of a packed repeated field."""
    return b"".join(map(varint, values))


def fields_of(data: bytes, name: str = "protocol buffer") -> Iterator[tuple[int, int, int | bytes]]:
    """Returns the fields of a message: number, kind on the wire, value; integers are signed.

    name: of the message, for errors.

    Raises:
        ShardyError: the data is malformed.
    """
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at, name)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise malformed(at, name)
        if kind == VARINT:
            value, at = _varint(data, at, name)
            yield number, kind, value - _WORD if value >= _WORD >> 1 else value
            continue
        size = _SIZES.get(kind)
        if kind == BYTES:
            size, at = _varint(data, at, name)
        if size is None or at + size > end:
            raise malformed(at, name)
        yield number, kind, data[at : at + size]
        at += size


def _varint(data: bytes, at: int, name: str) -> tuple[int, int]:
    value = 0
    for index in range(at, min(at + MAX_LENGTH, len(data))):
        byte = data[index]
        value |= (byte & 127) << 7 * (index - at)
        if byte < 128:
            return value % _WORD, index + 1
    raise malformed(min(at + MAX_LENGTH, len(data)), name)


def malformed(offset: int, name: str = "protocol buffer") -> ShardyError:
    """Returns the error for a message of that name that is invalid from an offset on."""
    return ShardyError(f"invalid {name}: malformed at byte {offset}")
