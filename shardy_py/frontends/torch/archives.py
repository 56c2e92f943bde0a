"""Programs that `torch.export.save` wrote, read by torch: it must be installed.

Archives hold weights, which are not needed but read by torch; sizes are checked before. Not here: exported
programs as StableHLO (`export.py`).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from logging import LogRecord, getLogger
from zipfile import BadZipFile, ZipFile

from xdsl.dialects.builtin import ModuleOp

from shardy_py.api import Mesh, Program
from shardy_py.base.errors import Diagnostic, ShardyError, WholeFile, located
from shardy_py.base.inputs.formats import FORMATS, TORCH_EXPORT
from shardy_py.frontends.torch.calls import short_text, without_own_warnings
from shardy_py.frontends.torch.programs import from_exported

LARGEST = 1 << 36
"""Bytes that the files of an archive may hold together."""
_MOST_RATIO = 100
"""An archive whose files are larger than this many times itself, and than `_SMALL`, is not opened."""
_SMALL = 1 << 28
_REMEDIES = (
    (
        "failed to resolve .* to an operator",
        "import what registers the op: --load ops.py, in Python before Program.load; register_aten lowers it",
    ),
    (
        "schema version",
        "export it again by the torch that is installed here, or install the one that saved it",
    ),
)
"""Remedies by what torch says of an archive."""


def torch_module(data: bytes, file: str) -> ModuleOp:
    """Returns the module of an archive.

    Raises:
        ShardyError: torch is not installed or does not read the archive, or a part of it is unsupported.
    """
    return archived_program(data, file).module


def archived_program(
    data: bytes,
    file: str,
    mesh: Mesh | None = None,
    shardings: Mapping[str, object] | None = None,
    plan: object = None,
) -> Program:
    """Returns the program of an archive under a plan, as `from_exported` makes it.

    Raises:
        ShardyError: as of `torch_module`, and for what does not fit the program.
    """
    with located(WholeFile(file)):
        return from_exported(_exported(data), mesh, shardings, plan=plan)


def _exported(data: bytes) -> object:
    """The program that `torch.export.load` reads, which runs pickles in an archive; nothing else does."""
    _check_size(data)
    try:
        export = import_module("torch.export")
    except ImportError:
        remedy = "pip install torch, or save the program as text: print(Program.from_torch(...))"
        what = "what torch.export saves is read by torch, which is not installed"
        raise ShardyError(Diagnostic(what, remedy=remedy)) from None
    with without_own_warnings(), _logged("torch.export") as logged:
        try:
            return export.load(BytesIO(data))
        except Exception as error:  # what torch raises for damaged archives is of any class
            # Sentences behind the first are advice, which does not fit here.
            got = short_text(_first_cause(logged[-1] if logged else error)).partition(". ")[0]
            remedy = next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, got)), "")
            expected = FORMATS[TORCH_EXPORT]
            raise ShardyError.unexpected("", expected=expected, got=got, remedy=remedy) from None


@contextmanager
def _logged(name: str) -> Generator[list[BaseException]]:
    """Within it, the exceptions that a logger reports are in the list, and not written.

    torch logs why it does not read an archive, and raises an error that refers to the log.
    """
    logger, found = getLogger(name), list[BaseException]()

    def keep(record: LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None:
            found.append(record.exc_info[1])
        return False

    logger.addFilter(keep)
    try:
        yield found
    finally:
        logger.removeFilter(keep)


def _first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _check_size(data: bytes) -> None:
    try:
        with ZipFile(BytesIO(data)) as archive:
            size = sum(info.file_size for info in archive.infolist())
    except (BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise ShardyError.unexpected("", expected="a zip archive", got=f"damaged data: {error}") from None
    if size > min(max(len(data) * _MOST_RATIO, _SMALL), LARGEST):
        expected = f"at most {_MOST_RATIO} times the size of the archive"
        raise ShardyError.unexpected("files in the archive", expected=expected, got=f"{size:,} bytes")
