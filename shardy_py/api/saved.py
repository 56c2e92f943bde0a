"""Results in files, to be compared later: the texts of both programs, and the options of propagation.

A file is compressed JSON: `source` and `propagated` as MLIR with locations, `options` by field (null: not
propagated here), `is_recorded`, `is_compiled` (how the source is taken; if it is missing, by the rule),
`jax` (the release whose Shardy propagated it; if it is missing, the oldest), the `format` and its `version`.
Loading propagates again, which gives the record that explanations need, and writes no files, whatever the
options say. Where that gives other shardings, as another version of the package may, the saved ones count:
no record then, and a warning.

Not here: pickled reports (`report/*/pickled.py`).
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from shardy_py.api.arguments import expect, expect_flags
from shardy_py.api.program import Program, restored_program
from shardy_py.base import releases
from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.files import write_whole
from shardy_py.base.terminal import json_text
from shardy_py.passes.pipeline_options import DumpOptions
from shardy_py.xla.prepare.taken import Taken

if TYPE_CHECKING:
    from shardy_py.api.result import Result

_GZIP = 31
"""The window of zlib that reads the format of gzip."""
_LARGEST = 1 << 29
"""Bytes of text."""
FORMAT, VERSION = "shardy_py result", 1
_TYPES: dict[str, tuple[type, ...]] = {
    "source": (str,),
    "propagated": (str,),
    "options": (dict, type(None)),
    "is_recorded": (bool,),
}
_WITHOUT_FILES = asdict(DumpOptions())
"""Options that say where files are written: they are not taken from a file that anybody may have made."""
_OTHER_SHARDINGS = "this version of shardy_py propagates other shardings than the saved ones, which are kept"


def write_text(path: str | PathLike[str], content: str | bytes) -> None:
    """Writes a file, whole or not at all. Raises `ShardyError` if it cannot be written."""
    expect(path, (str, PathLike), "the path of a file")
    try:
        write_whole(fspath(path), content)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ShardyError(f"cannot open output file '{fspath(path)}': {reason}") from None


def write_program(path: str | PathLike[str], program: Program, *, bytecode: bool) -> None:
    """Writes a program as text or bytecode. Raises `ShardyError` if the file cannot be written."""
    expect_flags(bytecode=bytecode)
    if bytecode:
        from shardy_py.mlir.bytecode import write_bytecode

        write_text(path, write_bytecode(program.module))
    else:
        write_text(path, program.text(debuginfo=True))


def saved(result: Result) -> bytes:
    """Returns the content of a file with a result; equal results give equal files."""
    options = None if result.options is None else {**asdict(result.options), **_WITHOUT_FILES}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "source": result.source.text(debuginfo=True),
        "propagated": result.program.text(debuginfo=True),
        "options": options,
        "is_recorded": result.record is not None,
        "is_compiled": result.source.taken.is_compiled,
        "jax": result.release.name,
    }
    return gzip.compress(json_text(document).encode(), 6, mtime=0)


def load(path: str | PathLike[str]) -> Result:
    """Returns the result in a file. Raises `ShardyError` if it cannot be read, or holds something else."""
    expect(path, (str, PathLike), "the path of a file")
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise ShardyError.unopened(fspath(path), error) from None
    return restored(data, fspath(path))


def restored(data: bytes, file: str = "<result>") -> Result:
    """Returns the result of the content of a file.

    Raises:
        ShardyError: it is not that of a saved result, or of another version.
    """
    document = _document(data, file)
    is_compiled = document.get("is_compiled")
    release = releases.named(str(document.get("jax", releases.RELEASES[0].name)))
    taken = Taken(is_compiled, release=release) if isinstance(is_compiled, bool) else None
    with releases.of(release):
        return _restored(document, taken, file)


def _restored(document: dict[str, Any], taken: Taken | None, file: str) -> Result:
    source = restored_program(document["source"], taken, file)
    try:
        result = _propagated(source, document["options"], is_recorded=document["is_recorded"])
    except ShardyError:  # a rule or option that this version or process lacks
        result = None
    if result is not None and result.program.text(debuginfo=True) == document["propagated"]:
        return result
    return _kept(source, restored_program(document["propagated"], taken, file), result, file)


def _decompressed(data: bytes) -> bytes:
    """The text of a file; raises MemoryError if it is larger than any program, as of a small file made so."""
    reader = zlib.decompressobj(wbits=_GZIP)
    text = reader.decompress(data, _LARGEST)
    if reader.unconsumed_tail:
        raise MemoryError(f"more than {_LARGEST >> 20} MiB of text")
    if not reader.eof:
        raise EOFError
    return text


def _document(data: bytes, file: str) -> dict[str, Any]:
    got, parsed = "", None
    try:
        parsed = json.loads(_decompressed(data))
    except (OSError, EOFError, zlib.error):
        got = "another file"
    except MemoryError as error:
        got = str(error)
    except (ValueError, RecursionError):
        got = "invalid JSON"
    document = cast("dict[str, Any]", parsed if isinstance(parsed, dict) else {})
    if not got and document.get("format") != FORMAT:
        got = "other JSON"
    if not got and document.get("version") != VERSION:
        got = f"version {str(document.get('version'))[:20]}"
    if not got:
        wrong = [name for name, types in _TYPES.items() if not isinstance(document.get(name, ...), types)]
        got = f"{'an invalid' if wrong[0] in document else 'no'} field '{wrong[0]}'" if wrong else ""
    if got:
        expected = f"a result of version {VERSION} as result.save writes it"
        raise ShardyError.unexpected(f"'{file}'", expected=expected, got=got)
    return document


def _propagated(source: Program, options: Mapping[str, object] | None, *, is_recorded: bool) -> Result | None:
    from shardy_py.api.propagating import Options, propagate

    if options is None:
        return None
    names = {each.name for each in fields(Options)}
    if not names >= set(options):
        raise ShardyError.unknown("option", min(set(options) - names), sorted(names))
    given: dict[str, Any] = {
        name: tuple(cast("list[str]", value)) if isinstance(value, list) else value
        for name, value in options.items()
    }
    kept = Options(**{**given, **_WITHOUT_FILES})
    kept = replace(kept, max_copied_ops=min(kept.max_copied_ops, Options().max_copied_ops))
    return propagate(source, kept, record=is_recorded, progress=False)


def _kept(source: Program, program: Program, again: Result | None, file: str) -> Result:
    """Returns the saved result without a record; propagated `again` it is different, or cannot be."""
    from shardy_py.api.propagating import Options, propagating
    from shardy_py.api.result import Result

    warnings = () if again is None else (Diagnostic(f"{file}: {_OTHER_SHARDINGS}", severity="warning"),)
    if source.text(debuginfo=True) == program.text(debuginfo=True):
        source = program
    repeat = propagating(Options()) if again is None else again.again
    options = None if again is None else again.options
    return Result(program, source, warnings, repeat, options=options)
