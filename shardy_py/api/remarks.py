"""Remarks on programs: the logger `shardy_py` says what was done to a program, or is missing in it.

Not here: warnings of passes, which results have.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from shardy_py.base.terminal import without_controls

_LOGGER = logging.getLogger("shardy_py")


def say(remarks: Iterable[str], file: str, level: int = logging.WARNING) -> None:
    """Logs remarks on a program; by default as warnings, which are shown by default."""
    for remark in remarks:
        _LOGGER.log(level, "%s", without_controls(f"{file}: remark: {remark}"))
