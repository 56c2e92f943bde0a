"""The formats of programs, recognised by content; the names are those of `--input-format`.

>>> format_of(b"module {}"), format_of(b"HloModule m"), format_of(b"ENTRY %main (p: f32[]) -> f32[] {")
('mlir', 'hlo', 'hlo')

Not here: gzip, around any of them, and folders (`files.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO

from shardy_py.base.bytecode import exported_module, is_bytecode
from shardy_py.base.errors import ShardyError
from shardy_py.base.hlo_protos import module_in
from shardy_py.base.records import dataclass
from shardy_py.base.wire import fields_of

MLIR, BYTECODE, HLO, HLO_PROTO = "mlir", "bytecode", "hlo", "hlo-proto"
JAX_EXPORT, TORCH_EXPORT, RESULT = "jax-export", "torch-export", "result"
FORMATS: dict[str, str] = {
    MLIR: "MLIR text",
    BYTECODE: "MLIR bytecode",
    HLO: "HLO text",
    HLO_PROTO: "an HLO module as a protocol buffer",
    JAX_EXPORT: "what jax.export serializes",
    TORCH_EXPORT: "what torch.export saves",
    RESULT: "a saved result",
}
"""The formats that are read, by name."""
GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_RESULT = '"shardy_py result"'
_RESULT_WITHIN = 200
"""The characters at the beginning of a saved result within which it says what it is."""
_LEADING = re.compile(r"(?>(?:\s++|//[^\n]*+|/\*.*?\*/)*)", re.DOTALL)
_COMPUTATION = re.compile(r"HloModule\b|ENTRY\s+%?[\w.\-]+\s*[({]|%[\w.\-]+[ \t]*\([^\n]*\{[ \t\r]*\n")
_PROTO_TEXT = re.compile(
    r"""(?>(?:\s++|\#[^\n]*+)*)(?:
        (?:hlo\s*:?\s*[{<]\s*)?hlo_module\s*:?\s*[{<]
        |(?:name\s*:\s*(?:"[^"\n]*"|'[^'\n]*')[\s,;]*)?(?:entry_computation_(?:name|id)\s*:|computations\s*:?\s*[{<\[])
    )""",
    re.VERBOSE,
)
_LARGEST_FIELD = 1000
"""The largest number of a field of a file that is taken for a protocol buffer."""
_MOST_ENTRIES = 100_000
_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Other:
    """A format that is not read.

    start: its first bytes. what: its name in messages. remedy: what to do with such a file.
    """

    start: bytes
    what: str
    remedy: str


_DECOMPRESS = "decompress it, or compress it by gzip"
_NUMBERS = "pass the program; --inputs of stablehlo-interpret takes arrays"
OTHERS = (
    Other(b"\x28\xb5\x2f\xfd", "a file compressed by zstd", _DECOMPRESS),
    Other(b"\xfd7zXZ\x00", "a file compressed by xz", _DECOMPRESS),
    Other(b"BZh", "a file compressed by bzip2", _DECOMPRESS),
    Other(b"\x04\x22\x4d\x18", "a file compressed by lz4", _DECOMPRESS),
    Other(GZIP, "gzip within gzip", _DECOMPRESS),
    Other(b"\x93NUMPY", "an array of numpy", _NUMBERS),
    Other(b"\x89HDF\r\n", "a file of HDF5", "pass the program, not its weights"),
    Other(b"\x7fELF", "a compiled library or program", "pass the program that it was compiled from"),
    Other(b"\x80\x02", "a pickle", "pickles are not read, as they run code; save a program as text"),
    Other(b"\x80\x03", "a pickle", "pickles are not read, as they run code; save a program as text"),
    Other(b"\x80\x04", "a pickle", "pickles are not read, as they run code; save a program as text"),
    Other(b"\x80\x05", "a pickle", "pickles are not read, as they run code; save a program as text"),
    Other(b"BC\xc0\xde", "LLVM bitcode", "pass the HLO that it was compiled from"),
    Other(b"\x89PNG", "a picture", "pass a program"),
    Other(b"%PDF", "a document", "pass a program"),
)
"""Formats that are not read, by the first bytes of a file."""
_EXPORT = "export the model instead: torch.export.save(torch.export.export(model, args), 'model.pt2')"
_ARCHIVES = (
    (re.compile(r"/code/.*\.py"), "a model of TorchScript", _EXPORT),
    (re.compile(r"/aotinductor/"), "a model that AOTInductor compiled", _EXPORT),
    (re.compile(r"/data\.pkl"), "weights or objects that torch.save wrote", _EXPORT),
    (re.compile(r"\.npy"), "arrays of numpy", _NUMBERS),
)
"""Zip archives that are not read: a part of the name of a file in them, what they are, and what to do."""
_TENSORFLOW_LITE = Other(b"TFL3", "a model of TensorFlow Lite", "pass the StableHLO that it was made of")


def is_hlo(text: str) -> bool:
    """Returns whether a text begins as that of an HLO module, or of a computation of HLO, does.

    >>> is_hlo("// made by hand\\nHloModule m"), is_hlo("module {}")
    (True, False)
    """
    leading = _LEADING.match(text)
    return _COMPUTATION.match(text, leading.end() if leading else 0) is not None


def is_hlo_proto_text(text: str) -> bool:
    """Returns whether a text is a protocol buffer with an HLO module.

    >>> is_hlo_proto_text('name: "jit_f"\\nentry_computation_name: "main"'), is_hlo_proto_text("name: 1")
    (True, False)
    """
    return _PROTO_TEXT.match(text) is not None


def holds_hlo(content: str | bytes) -> bool:
    """Returns whether a program is HLO: text, or a protocol buffer, as data that is nothing else is taken."""
    if isinstance(content, str):
        return is_hlo(content) or is_hlo_proto_text(content)
    return not is_bytecode(content) and format_of(content) != TORCH_EXPORT


def is_result(text: str) -> bool:
    """Returns whether a text is that of a saved result."""
    return text.startswith("{") and _RESULT in text[:_RESULT_WITHIN]


def text_of(data: bytes) -> str | None:
    """Returns the text of a file; None if it is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def format_of(data: bytes) -> str:
    """Returns the name of the format of a file that is not compressed; "" if none is recognised."""
    if is_bytecode(data):
        return BYTECODE
    if data.startswith(_ZIP):
        return TORCH_EXPORT if is_torch_export(data) else ""
    text = text_of(data)
    if text is not None and "\0" not in text:
        if is_hlo_proto_text(text):
            return HLO_PROTO
        return RESULT if is_result(text) else HLO if is_hlo(text) else MLIR
    if module_in(data) is not None:
        return HLO_PROTO
    return MLIR if text is not None else JAX_EXPORT if exported_module(data) is not None else ""


def is_torch_export(data: bytes) -> bool:
    """Returns whether a zip archive is one that torch.export saves, by the names in it."""
    names = _names(data)
    return any(name.endswith(("serialized_exported_program.json", "models/model.json")) for name in names)


def _names(data: bytes) -> list[str]:
    """The names of the files in a zip archive; none if it is damaged."""
    from zipfile import BadZipFile, ZipFile  # takes longer to import than most files to read

    try:
        with ZipFile(BytesIO(data)) as archive:
            return archive.namelist()[:_MOST_ENTRIES]
    except (BadZipFile, ValueError, OSError, NotImplementedError, EOFError):
        return []


def is_message(data: bytes) -> bool:
    """Returns whether data has the form of a protocol buffer; text may have that by chance."""
    try:
        numbers = [number for number, _, _ in fields_of(data)]
    except ShardyError:
        return False
    return bool(numbers) and max(numbers) <= _LARGEST_FIELD


def unread(data: bytes, file: str, wanted: str = "") -> ShardyError:
    """Returns the error for a file of another format, which names what it is and what to do.

    wanted: the format that was asked for; "": any.
    """
    expected = FORMATS[wanted] if wanted else "a program as text, bytecode or a protocol buffer"
    found, remedy = _described(data)
    if wanted and (format_ := format_of(data)):
        found, remedy = FORMATS[format_], f"pass --input-format={format_}, or leave it out"
    return ShardyError.unexpected(file, expected=expected, got=found, remedy=remedy)


def _described(data: bytes) -> tuple[str, str]:
    if data[4:8] == _TENSORFLOW_LITE.start:
        return _TENSORFLOW_LITE.what, _TENSORFLOW_LITE.remedy
    if data.startswith(_ZIP):
        return _described_archive(_names(data))
    for other in OTHERS:
        if data.startswith(other.start):
            return other.what, other.remedy
    if is_message(data):
        return "a protocol buffer without an HLO module", "pass *.hlo.pb, or HLO text"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"invalid UTF-8 at byte {error.start}", ""
    return "text", ""


def _described_archive(names: Sequence[str]) -> tuple[str, str]:
    """The kind of a zip archive with files of these names, and what to do with it."""
    if not names:
        return "a damaged zip archive", "copy or write it again"
    for part, what, remedy in _ARCHIVES:
        if any(map(part.search, names)):
            return what, remedy
    listed = ", ".join(name[:60] for name in names[:_MOST_SHOWN])
    return f"a zip archive with {listed}", "unpack it and pass a file of it"
