"""Suspends Python's garbage collector during long work.

A program is one large graph of live objects: each collection visits all of it and frees nothing, which can
double the time for a large program. Not here: commands, which disable the collector altogether (`cli/`).
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Generator[None]:
    """Disable the cyclic garbage collector within; restores its state afterwards.

    >>> with without_collection():
    ...     gc.isenabled()
    False
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
