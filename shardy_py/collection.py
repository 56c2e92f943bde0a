"""Work during which Python's garbage collector rests.

A program is one large graph of objects that lives on: a collection walks all of it and finds nothing, which
can double the time that a large one takes. Not here: commands, which end with their work and do without the
collector altogether (`cli/`).
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Generator[None]:
    """Within, no garbage is collected but what nothing refers to; afterwards all is as before.

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
