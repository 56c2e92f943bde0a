"""Counts lines that run, which are the same in each run, unlike times."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_by_file(action: Callable[[], object], is_counted: Callable[[str], bool]) -> Counter[str]:
    """Returns by file how many lines an action runs there. is_counted: whether a file counts, by its path."""
    found: Counter[str] = Counter()

    def in_file(frame: FrameType, event: str, _: object) -> Any:
        found[frame.f_code.co_filename] += event == "line"
        return in_file

    def entered(frame: FrameType, *_: object) -> Any:
        return in_file if is_counted(frame.f_code.co_filename) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        action()
    finally:
        sys.settrace(before)
    return found


def executed_lines(action: Callable[[], object], where: str = "") -> int:
    """Returns how many lines an action runs in files whose path has a part `where`."""
    return lines_by_file(action, lambda file: where in file).total()
