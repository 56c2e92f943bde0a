"""Programs that `torch.export.save` wrote, read by torch: it must be installed.

Archives hold weights, which are not needed but read by torch; sizes are checked before. Not here: exported
programs as StableHLO (`export.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from logging import CRITICAL, getLogger
from zipfile import BadZipFile, ZipFile

from xdsl.dialects.builtin import ModuleOp

from shardy_py.api import Mesh, Program
from shardy_py.base.errors import ShardyError, WholeFile, located
from shardy_py.base.inputs.formats import FORMATS, TORCH_EXPORT
from shardy_py.frontends.torch.calls import without_own_warnings
from shardy_py.frontends.torch.programs import from_exported

LARGEST = 1 << 36
"""Bytes that the files of an archive may hold together."""
_MOST_RATIO = 100
"""An archive whose files are larger than this many times itself, and than `_SMALL`, is not opened."""
_SMALL = 1 << 28


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
        raise ShardyError.unsupported(what, remedy=remedy) from None
    logger = getLogger("torch.export")  # logs tracebacks of damaged archives
    level = logger.level
    logger.setLevel(CRITICAL)
    try:
        with without_own_warnings():
            return export.load(BytesIO(data))
    except Exception as error:  # what torch raises for damaged archives is of any class
        got = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
        raise ShardyError.unexpected("", expected=FORMATS[TORCH_EXPORT], got=got) from None
    finally:
        logger.setLevel(level)


def _check_size(data: bytes) -> None:
    try:
        with ZipFile(BytesIO(data)) as archive:
            size = sum(info.file_size for info in archive.infolist())
    except (BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise ShardyError.unexpected("", expected="a zip archive", got=f"damaged data: {error}") from None
    if size > min(max(len(data) * _MOST_RATIO, _SMALL), LARGEST):
        expected = f"at most {_MOST_RATIO} times the size of the archive"
        raise ShardyError.unexpected("files in the archive", expected=expected, got=f"{size:,} bytes")
