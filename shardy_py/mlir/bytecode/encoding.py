"""The primitives of MLIR bytecode: integers of variable length, strings, blobs, sections.

Source: MLIR, "Bytecode Format". Every read is checked against the end of the section that it is in, and what
counts the things that follow against the bytes that are left, so that no file can ask for more than its own
size. Not here: what sections hold (`sections.py`).

>>> ByteCursor(bytes([0x0B, 0x16, 0x03])).varint()  # 5 in one byte
5
>>> ByteCursor(bytes([0b10, 0x40])).varint(), ByteCursor(bytes([0b101])).signed()
(4096, 1)
>>> ByteCursor(b"").varint()
Traceback (most recent call last):
...
shardy_py.base.errors.ShardyError: error: at byte 0: expected a number, got the end of the section
"""

from __future__ import annotations

from typing import NoReturn

from shardy_py.base.errors import Diagnostic, ShardyError

_FOLLOWING = bytes(8 if not byte else (byte & -byte).bit_length() - 1 for byte in range(256))
"""The number of bytes that follow the first byte of an integer: as many as it has zeros at its low end."""
_PADDING = 0xCB
_WORD = 1 << 64


class ByteCursor:
    """Reads a stretch of a file from its start to its end.

    at: the offset of the next byte in the whole file; end: the offset behind the stretch.
    """

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end

    @property
    def is_at_end(self) -> bool:
        """True if everything was read."""
        return self.at >= self.end

    @property
    def left(self) -> int:
        """The number of bytes that are left."""
        return self.end - self.at

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raises the error that something is wrong at an offset of the file, by default at the next byte."""
        raise ShardyError(Diagnostic(f"at byte {self.at if at is None else at}: {message}"))

    def byte(self) -> int:
        """A byte."""
        at = self.at
        if at >= self.end:
            self._fail_at_end("a byte")
        self.at = at + 1
        return self.data[at]

    def varint(self) -> int:
        """An unsigned integer of 64 bits in one to nine bytes."""
        at = self.at
        if at >= self.end:
            self._fail_at_end("a number")
        first = self.data[at]
        if first & 1:
            self.at = at + 1
            return first >> 1
        following = _FOLLOWING[first]
        last = at + following + 1
        if last > self.end:
            self._fail_at_end("a number")
        self.at = last
        if following == 8:
            return int.from_bytes(self.data[at + 1 : last], "little")
        return int.from_bytes(self.data[at:last], "little") >> (following + 1)

    def signed(self) -> int:
        """A signed integer of 64 bits, whose lowest bit is its sign."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def flagged(self) -> tuple[int, bool]:
        """An unsigned integer of 63 bits and a flag, which is its lowest bit."""
        value = self.varint()
        return value >> 1, bool(value & 1)

    def count(self, what: str) -> int:
        """How many things follow, each of at least one byte; `what` names them."""
        return self.bounded(self.varint(), what)

    def bounded(self, count: int, what: str) -> int:
        """Returns the number of things that follow, each of at least one byte, or fails."""
        if count > self.end - self.at:
            self.fail(f"expected {count} {what}, got the end of the section after {self.left} bytes")
        return count

    def take(self, size: int, what: str = "data") -> bytes:
        """That many bytes."""
        start = self._skip(size, what)
        return self.data[start : self.at]

    def part(self, size: int, what: str) -> ByteCursor:
        """A cursor over that many bytes, which this one steps over."""
        start = self._skip(size, what)
        return ByteCursor(self.data, start, self.at)

    def blob(self) -> bytes:
        """Bytes behind their number."""
        return self.take(self.varint(), "a blob")

    def terminated(self) -> str:
        """A string that ends with a zero."""
        end = self.data.find(b"\0", self.at, self.end)
        if end < 0:
            self.fail("expected a string that ends with a zero, got the end of the section")
        start, self.at = self.at, end + 1
        return decoded(self.data[start:end])

    def align(self, alignment: int) -> None:
        """Steps over the padding up to a multiple of `alignment`, a power of two."""
        if alignment <= 0 or alignment & (alignment - 1):
            self.fail(f"expected an alignment that is a power of two, got {alignment}")
        while self.at % alignment:
            if self.byte() != _PADDING:
                self.fail("expected padding up to the alignment of what follows", self.at - 1)

    def section(self) -> tuple[int, ByteCursor]:
        """The number and the content of a section."""
        kind, length = self.byte(), self.varint()
        if kind & 0x80:
            self.align(self.varint())
        return kind & 0x7F, self.part(length, "a section")

    def expect_end(self, what: str) -> None:
        """Fails if something is left of `what`."""
        if self.at != self.end:
            self.fail(f"expected the end of {what}, got {self.left} more bytes")

    def _skip(self, size: int, what: str) -> int:
        start = self.at
        if size > self.end - start:
            self.fail(f"expected {what} of {size} bytes, got the end of the section after {self.left}")
        self.at = start + size
        return start

    def _fail_at_end(self, what: str) -> NoReturn:
        self.fail(f"expected {what}, got the end of the section")


def decoded(data: bytes) -> str:
    """Returns the text of a string; bytes that are not UTF-8 become surrogates, as in text that is read."""
    return data.decode("utf-8", "surrogateescape")


def as_signed(value: int) -> int:
    """Returns the integer of 64 bits whose two's complement is `value`.

    >>> as_signed((1 << 64) - 1)
    -1
    """
    return value - _WORD if value >> 63 else value
