"""Remarks on programs: the logger `shardy_py` says what was done to a program, or is missing in it.

Not here: warnings of passes, which results have.
"""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.base.terminal import without_controls

INFO, WARNING = 20, 30
"""The levels of these names in `logging`, which is imported when there is a remark."""


def say(remarks: Iterable[str], file: str, level: int = WARNING) -> None:
    """Logs remarks on a program; by default as warnings, which are shown by default."""
    for remark in remarks:
        from logging import getLogger

        getLogger("shardy_py").log(level, "%s", without_controls(f"{file}: remark: {remark}"))
