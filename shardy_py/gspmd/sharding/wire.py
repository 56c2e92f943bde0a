"""The wire format of protocol buffers: fields of a message as numbers and values, and back.

Only what the messages of shardings use: varints and length-delimited fields (strings, messages, packed
lists). The package `protobuf` is not used: it needs classes generated from XLA's `.proto` files, which no
light package ships, while the format itself is a few functions. Source: https://protobuf.dev/programming-guides/encoding.

>>> encode(((1, 3), (3, b"hi")))
b'\\x08\\x03\\x1a\\x02hi'
>>> decode(b"\\x08\\x03\\x1a\\x02hi")
((1, 3), (3, b'hi'))
"""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.errors import ShardyError

Field = tuple[int, int | bytes]
"""Number and value of a field; messages, strings and packed lists are bytes."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
_WORD = 1 << 64


def varint(value: int) -> bytes:
    """Seven bits a byte, the least significant first; a negative value as its two's complement of 64 bits."""
    value %= _WORD
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    result.append(value)
    return bytes(result)


def packed(values: Iterable[int]) -> bytes:
    """Varints one behind the other."""
    return b"".join(map(varint, values))


def encode(fields: Iterable[Field]) -> bytes:
    """The message of `fields`, in their order."""
    result = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            result += varint(number << 3 | _VARINT) + varint(value)
        else:
            result += varint(number << 3 | _BYTES) + varint(len(value)) + value
    return bytes(result)


def decode(data: bytes) -> tuple[Field, ...]:
    """The fields of a message; fields of fixed size, which shardings have none of, are left out."""
    fields: list[Field] = []
    offset = 0
    while offset < len(data):
        key, offset = _read_varint(data, offset)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise _malformed(offset)
        if kind == _VARINT:
            value, offset = _read_varint(data, offset)
            fields.append((number, value))
        elif kind == _BYTES:
            size, offset = _read_varint(data, offset)
            if offset + size > len(data):
                raise _malformed(offset)
            fields.append((number, data[offset : offset + size]))
            offset += size
        elif kind in _FIXED_SIZES and offset + _FIXED_SIZES[kind] <= len(data):
            offset += _FIXED_SIZES[kind]
        else:
            raise _malformed(offset)
    return tuple(fields)


def unpack(data: bytes) -> tuple[int, ...]:
    """The varints of a packed list, as signed integers of 64 bits."""
    values: list[int] = []
    offset = 0
    while offset < len(data):
        value, offset = _read_varint(data, offset)
        values.append(value)
    return tuple(map(signed, values))


def signed(value: int) -> int:
    """A varint as a signed integer of 64 bits."""
    return value - _WORD if value >= _WORD >> 1 else value


def _read_varint(data: bytes, offset: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if offset >= len(data):
            break
        byte = data[offset]
        offset += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value % _WORD, offset
    raise _malformed(offset)


def _malformed(offset: int) -> ShardyError:
    return ShardyError(
        f"no protocol buffer: malformed at byte {offset}; expected a serialized xla.OpSharding"
    )
