"""The wire format of protocol buffers: keys and values as bytes.

Source: https://protobuf.dev/programming-guides/encoding. Not here: the messages (`xla/hlo_sharding/proto.py`,
`report/time/chakra.py`).

>>> integer_field(1, 150).hex(), bytes_field(2, b"hi").hex()
('089601', '12026869')
"""

from __future__ import annotations

from collections.abc import Iterable

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""The kinds of values that the last three bits of a key tell."""
_WORD = 1 << 64


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
