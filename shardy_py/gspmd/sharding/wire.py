"""The wire format of protocol buffers, as far as the messages of shardings need it.

Fields have a number and a value: an integer, or bytes (strings, messages, packed lists of integers). The
package `protobuf` is not used: it needs classes generated from XLA's `.proto` files, which no light package
ships. Source: https://protobuf.dev/programming-guides/encoding.

>>> encode([(3, b"hi"), (1, 3), (2, 0)])
b'\\x08\\x03\\x1a\\x02hi'
>>> decode(b"\\x08\\x03\\x1a\\x02hi").integer(1)
3
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shardy_py.errors import ShardyError

Value = int | bytes | str | Sequence[int]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
_WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class Message:
    """The fields of a message, in the order of its bytes; fields of other kinds than asked for are
    ignored."""

    fields: tuple[tuple[int, int | bytes], ...]

    def integer(self, number: int) -> int:
        """The last integer in a field; 0, the default of protocol buffers, if there is none."""
        return next((v for n, v in reversed(self.fields) if n == number and isinstance(v, int)), 0)

    def messages(self, number: int) -> list[bytes]:
        """The messages or strings of a repeated field."""
        return [value for n, value in self.fields if n == number and isinstance(value, bytes)]

    def integers(self, number: int) -> tuple[int, ...]:
        """The integers of a repeated field, packed or not."""
        result: list[int] = []
        for found, value in self.fields:
            if found == number:
                result += (value,) if isinstance(value, int) else unpack(value)
        return tuple(result)


def encode(fields: Iterable[tuple[int, Value]]) -> bytes:
    """Returns the message of `fields` in the order of their numbers.

    Sequences are packed. Default values (0, "", empty sequences) are left out; empty messages (b"") are not.
    """
    result = bytearray()
    for number, value in sorted(fields, key=lambda field: field[0]):
        if isinstance(value, int):
            result += _varint(number << 3 | _VARINT) + _varint(value) if value else b""
        elif value or isinstance(value, bytes):
            data = value.encode() if isinstance(value, str) else value
            data = data if isinstance(data, bytes) else packed(data)
            result += _varint(number << 3 | _BYTES) + _varint(len(data)) + data
    return bytes(result)


def decode(data: bytes) -> Message:
    """Parses a message; fields of fixed size, which shardings have none of, are dropped.

    Raises:
        ShardyError: `data` is malformed.
    """
    fields: list[tuple[int, int | bytes]] = []
    offset = 0
    while offset < len(data):
        key, offset = _read_varint(data, offset)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise _malformed(offset)
        if kind == _VARINT:
            value, offset = _read_varint(data, offset)
            fields.append((number, _signed(value)))
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
    return Message(tuple(fields))


def packed(values: Iterable[int]) -> bytes:
    """Returns integers as consecutive varints."""
    return b"".join(map(_varint, values))


def unpack(data: bytes) -> tuple[int, ...]:
    """Returns the integers of a packed list, as signed integers of 64 bits."""
    values: list[int] = []
    offset = 0
    while offset < len(data):
        value, offset = _read_varint(data, offset)
        values.append(_signed(value))
    return tuple(values)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the least significant first; a negative value as its two's complement of 64 bits."""
    value %= _WORD
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    result.append(value)
    return bytes(result)


def _signed(value: int) -> int:
    return value - _WORD if value >= _WORD >> 1 else value


def _read_varint(data: bytes, offset: int) -> tuple[int, int]:
    value = 0
    for index in range(offset, min(offset + 10, len(data))):
        value |= (data[index] & 127) << 7 * (index - offset)
        if data[index] < 128:
            return value % _WORD, index + 1
    raise _malformed(min(offset + 10, len(data)))


def _malformed(offset: int) -> ShardyError:
    return ShardyError(f"invalid xla.OpSharding: malformed at byte {offset}")
