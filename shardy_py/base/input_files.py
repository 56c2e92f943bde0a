"""Files of programs that are read: MLIR text, bytecode, what `jax.export` serializes, also by gzip.

All commands and the Python API read programs by these functions. Not here: parsing (`mlir/text/`,
`mlir/bytecode/`), files that are written (`files.py`).

>>> import gzip
>>> source_of(gzip.compress(b"module {}"), "x.mlir.gz").text
'module {}'
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from gzip import GzipFile
from io import BytesIO
from pathlib import Path

from shardy_py.base.bytecode import exported_module, is_bytecode, release_of
from shardy_py.base.errors import ShardyError
from shardy_py.base.releases import Release

LARGEST = 1 << 30
"""Bytes that a compressed file may hold, far more than any program: small files can be made to hold more."""
SUFFIXES = (".mlir", ".mlirbc", ".txt", ".gz")
"""The suffixes of files of programs."""

_LEADING = re.compile(r"(?>(?:\s++|//[^\n]*+|/\*.*?\*/)*)", re.DOTALL)
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_OTHER_FORMATS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}
"""Formats that are not read, by the first bytes of a file."""


@dataclass(frozen=True, slots=True)
class ProgramContent:
    """A program as text, or as MLIR bytecode."""

    content: str | bytes

    @property
    def text(self) -> str:
        """The text; empty if the program is bytecode."""
        return self.content if isinstance(self.content, str) else ""


@dataclass(frozen=True, slots=True)
class ProgramSource(ProgramContent):
    """A program, and the release of JAX that wrote it if that is certain."""

    release: Release | None = None


def is_hlo(text: str) -> bool:
    """Returns whether the first word of a text is that of an HLO module.

    >>> is_hlo("// made by hand\\nHloModule m"), is_hlo("module {}")
    (True, False)
    """
    leading = _LEADING.match(text)
    return text.startswith("HloModule", leading.end() if leading else 0)


def source_in(path: str) -> ProgramSource:
    """Returns the source of the program in a file.

    Raises:
        ShardyError: the file cannot be read, or is not that of a program.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ShardyError(f"cannot open input file '{path}': {error.strerror or error}") from None
    except ValueError as error:
        raise ShardyError(f"cannot open input file {path!r}: {error}") from None
    return source_of(data, path)


def source_of(data: bytes, file: str) -> ProgramSource:
    """Returns the source of a program, given the content of a file of that name.

    Raises:
        ShardyError: the data is damaged, too large once decompressed, or neither text nor bytecode.
    """
    if data.startswith(_GZIP):
        data = decompressed(data, file)
    if is_bytecode(data):
        return ProgramSource(data, release_of(data))
    try:
        return ProgramSource(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        exported = exported_module(data)
        if exported is not None:
            return ProgramSource(exported, release_of(exported))
        name = next((name for start, name in _OTHER_FORMATS.items() if data.startswith(start)), None)
        got = f"invalid UTF-8 at byte {error.start}" if name is None else f"a file compressed by {name}"
        remedy = "" if name is None else "decompress it, or compress it by gzip"
        expected = "text or MLIR bytecode"
        raise ShardyError.unexpected(file, expected=expected, got=got, remedy=remedy) from None


def decompressed(data: bytes, file: str) -> bytes:
    """Returns the content of a gzip file; never needs more memory than `LARGEST` asks for.

    Raises:
        ShardyError: the data is damaged, incomplete, or holds more than `LARGEST` bytes.
    """
    parts: list[bytes] = []
    size = 0
    try:
        with GzipFile(fileobj=BytesIO(data)) as reader:
            while part := reader.read(_CHUNK):
                size += len(part)
                if size > LARGEST:
                    expected, got = f"at most {LARGEST:,} bytes of text", "more"
                    what, remedy = f"{file}: decompressed by gzip", "decompress it first"
                    raise ShardyError.unexpected(what, expected=expected, got=got, remedy=remedy)
                parts.append(part)
    except EOFError:
        got = f"its end after {size:,} bytes of text"
        raise ShardyError.unexpected(file, expected="a complete gzip file", got=got) from None
    except (OSError, zlib.error) as error:
        raise ShardyError.unexpected(file, expected="a gzip file", got=f"damaged data: {error}") from None
    return b"".join(parts)
