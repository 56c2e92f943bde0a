"""Memo tables, used from op to op and from program to program, owned by a session and bounded.

A program repeats few types, attributes and op signatures many times, and so do the next programs. Each table
maps a key to a value that can be computed again at any time; clearing one costs time and nothing else.

    _TEXTS: dict[int, tuple[str, Attribute]] = SESSION.table("attribute texts")

Tables whose keys are identities keep the keyed objects alive in their values. When all tables together exceed
the session's limit, they are emptied before the next program, all at once, because numbers of one table may
be keys of another. What was emptied is kept until that program ends, so that no identity is reused while a
report in another thread still works with it.

Not here: caches of fixed size (`functools.lru_cache`) and those of one run (fields of its objects).
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock
from typing import Any

DEFAULT_LIMIT = 1 << 16
"""Entries in all tables together, about 0.5 kB each: twice what a training step of 48 layers needs."""


class Session:
    """Memo tables with a common bound.

    limit: entries that the tables may hold together when a program begins.

    >>> session = Session(limit=2)
    >>> squares = session.table("squares")
    >>> squares.update({n: n * n for n in range(5)})
    >>> with session.program():
    ...     print(len(squares))
    0
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._tables: dict[str, dict[Any, Any]] = {}
        self._emptied: list[dict[Any, Any]] = []
        self._running = 0
        self._lock = Lock()

    def table(self, name: str) -> dict[Any, Any]:
        """Returns the table of that name, a new one if there is none."""
        return self._tables.setdefault(name, {})

    @property
    def sizes(self) -> dict[str, int]:
        """The number of entries of each table."""
        return {name: len(table) for name, table in self._tables.items()}

    @contextmanager
    def program(self) -> Generator[None]:
        """Surrounds the work on one program; empties the tables first if they exceed the limit.

        Programs may nest and run in several threads: tables are emptied only while none is being worked on.
        """
        with self._lock:
            if not self._running and sum(map(len, self._tables.values())) > self.limit:
                self._empty()
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._emptied = []

    def clear(self) -> None:
        """Forgets everything, unless a program is being worked on."""
        with self._lock:
            if not self._running:
                self._empty()
                self._emptied = []

    def _empty(self) -> None:
        self._emptied = [dict(table) for table in self._tables.values()]
        for table in self._tables.values():
            table.clear()


SESSION = Session()
"""The session of the process."""


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
