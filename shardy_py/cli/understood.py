"""Shardings that reports do not read: imported, with a remark on standard error.

Not here: the import, and which shardings those are (`xla/gspmd/understanding.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardy_py.base.terminal import without_controls
from shardy_py.cli.shell import log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from xdsl.dialects.builtin import ModuleOp

    from shardy_py.passes import PassCall


def understood(module: ModuleOp, file: str, write: Callable[[str], object] = log) -> ModuleOp:
    """Returns the module, changed in place if its shardings are not those of sdy.

    Raises:
        ShardyError: they cannot be imported.
    """
    from shardy_py.xla.gspmd.understanding import understand

    write_remarks(understand(module), file, write)
    return module


def say_unread(
    module: ModuleOp, file: str, calls: Sequence[PassCall], write: Callable[[str], object]
) -> None:
    """Writes a remark if passes that propagate do not read the shardings of the module."""
    from shardy_py.xla.gspmd.understanding import split_imports, unread

    if not split_imports(calls)[0]:
        write_remarks(unread(module), file, write)


def write_remarks(remarks: Iterable[str], file: str, write: Callable[[str], object]) -> None:
    """Writes remarks on the program of a file."""
    for remark in remarks:
        write(without_controls(f"{file}: remark: {remark}") + "\n")
