"""Room for nested text: `MAX_NESTING` levels take more frames than Python allows by default.

Frames of Python functions live on the heap: the higher limit costs nothing and cannot overflow the stack.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

_FRAMES = 12_000
"""More than `MAX_NESTING` levels times the frames of a level, in reading and in printing."""


@contextmanager
def deep_stack() -> Generator[None]:
    """Allows as many frames as the deepest text needs, while the context lasts."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
