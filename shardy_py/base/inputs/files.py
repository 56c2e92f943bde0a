"""Files of programs: what they hold, and the release of JAX that wrote it.

All commands and the Python API read programs by these functions. A path is a file, also by gzip, or a folder
that XLA or Shardy dumped. Not here: which formats there are (`formats.py`), parsing (`mlir/programs.py`),
files that are written (`base/files.py`).

>>> import gzip
>>> source_of(gzip.compress(b"module {}"), "x.mlir.gz").text
'module {}'
"""

from __future__ import annotations

import zlib
from io import BytesIO
from pathlib import Path

from shardy_py.base.bytecode import exported_module, release_of
from shardy_py.base.errors import ShardyError
from shardy_py.base.inputs import formats
from shardy_py.base.inputs.formats import GZIP
from shardy_py.base.narrowing import is_mapping
from shardy_py.base.records import dataclass
from shardy_py.base.releases import Release

LARGEST = 1 << 30
"""Bytes that a compressed file may hold, far more than any program: small files can be made to hold more."""
SUFFIXES = (".mlir", ".mlirbc", ".txt", ".gz", ".hlo", ".pb", ".pt2")
"""The suffixes of files of programs."""

_CHUNK = 1 << 20
_OF_RESULT = "a saved result: the program that it is of is read; Result.load reads the result"


@dataclass(frozen=True, slots=True)
class ProgramContent:
    """A program as text of MLIR or HLO, or as bytes: MLIR bytecode, a protocol buffer, a torch archive."""

    content: str | bytes

    @property
    def text(self) -> str:
        """The text; empty if the program is none."""
        return self.content if isinstance(self.content, str) else ""


@dataclass(frozen=True, slots=True)
class ProgramSource(ProgramContent):
    """A program, and the release of JAX that wrote it if that is certain.

    remarks: what was read of several things. file: the file of a folder that was read; "": the path itself.
    """

    release: Release | None = None
    remarks: tuple[str, ...] = ()
    file: str = ""


def source_in(path: str, input_format: str = "") -> ProgramSource:
    """Returns the source of the program in a file or folder.

    input_format: the name of its format; "": by content.

    Raises:
        ShardyError: the file cannot be read, or is not that of a program.
    """
    try:
        if not Path(path).is_dir():
            return source_of(Path(path).read_bytes(), path, input_format)
        from shardy_py.base.inputs.folders import chosen_file

        file, remark = chosen_file(path)
        found = source_of(Path(file).read_bytes(), file, input_format)
    except (OSError, ValueError) as error:
        raise ShardyError.unopened(path, error) from None
    return ProgramSource(found.content, found.release, (remark, *found.remarks), file)


def source_of(data: bytes, file: str, input_format: str = "") -> ProgramSource:
    """Returns the source of a program, given the content of a file of that name.

    Raises:
        ShardyError: the data is damaged, too large once decompressed, or not that of a program.
    """
    if data.startswith(GZIP):
        data = decompressed(data, file)
    is_text = isinstance(input_format, str)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not is_text or input_format not in ("", *formats.FORMATS):
        raise ShardyError.unknown("input format", str(input_format), formats.FORMATS)
    found = input_format or formats.format_of(data)
    match found:
        case formats.MLIR | formats.HLO | formats.RESULT:
            return _of_text(data, file, input_format, found)
        case formats.JAX_EXPORT:
            module = exported_module(data)
            if module is not None:
                return ProgramSource(module, release_of(module))
        case formats.HLO_PROTO if formats.is_hlo_proto_text(text := formats.text_of(data) or ""):
            return ProgramSource(text)
        case formats.BYTECODE | formats.HLO_PROTO | formats.TORCH_EXPORT if formats.format_of(data) == found:
            return ProgramSource(data, release_of(data) if found == formats.BYTECODE else None)
        case _:
            pass
    raise formats.unread(data, file, input_format)


def _of_text(data: bytes, file: str, wanted: str, found: str) -> ProgramSource:
    text = formats.text_of(data)
    if text is None or (wanted and formats.is_result(text) != (found == formats.RESULT)):
        raise formats.unread(data, file, wanted)
    if found == formats.RESULT:
        return ProgramSource(_program_of_result(text, file), remarks=(_OF_RESULT,))
    if wanted == formats.HLO and not formats.is_hlo(text):
        text = f"HloModule input {text}"  # a computation without the header
    elif wanted == formats.MLIR and formats.is_hlo(text):
        raise formats.unread(data, file, wanted)
    return ProgramSource(text)


def _program_of_result(text: str, file: str) -> str:
    """The program in a saved result, of any version."""
    try:
        import json  # for saved results only

        document: object = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    found = document.get("source") if is_mapping(document) else None
    if not isinstance(found, str):
        raise ShardyError.unexpected(file, expected=formats.FORMATS[formats.RESULT], got="damaged JSON")
    return found


def decompressed(data: bytes, file: str) -> bytes:
    """Returns the content of a gzip file; never needs more memory than `LARGEST` asks for.

    Raises:
        ShardyError: the data is damaged, incomplete, or holds more than `LARGEST` bytes.
    """
    parts: list[bytes] = []
    size = 0
    try:
        from gzip import GzipFile

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
