"""Room for nested text: `MAX_NESTING` levels take more frames than Python allows by default.

Frames of Python functions live on the heap: the higher limit costs nothing and cannot overflow the stack. The
limit belongs to the process, so it is lowered again only when no thread needs it: lowering it below the depth
of another thread would end the process.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import field
from threading import Lock

from shardy_py.base.records import dataclass

_FRAMES = 12_000
"""More than `MAX_NESTING` levels times the frames of a level, in reading and in printing."""


@dataclass(slots=True)
class _Limit:
    """The recursion limit before it was raised, and how many contexts need the higher one."""

    before: int = 0
    contexts: int = 0
    lock: Lock = field(default_factory=Lock)


_LIMIT = _Limit()


@contextmanager
def deep_stack() -> Generator[None]:
    """Allows as many frames as the deepest text needs, while a context of any thread lasts."""
    with _LIMIT.lock:
        if not _LIMIT.contexts:
            _LIMIT.before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_LIMIT.before, _FRAMES))
        _LIMIT.contexts += 1
    try:
        yield
    finally:
        with _LIMIT.lock:
            _LIMIT.contexts -= 1
            if not _LIMIT.contexts:
                sys.setrecursionlimit(_LIMIT.before)
