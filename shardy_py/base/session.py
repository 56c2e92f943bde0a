"""Memo tables, used from op to op and from program to program, owned by a session and bounded.

A program repeats few types, attributes and op signatures many times, and so do the next programs. Each table
maps a key to a value that can be computed again at any time; clearing one costs time and nothing else.

    _TYPES: dict[str, Attribute] = SESSION.table("types by text")
    _TEXTS: Identities[str] = SESSION.identities("attribute texts")

    @SESSION.cache(4096)
    def _elements_of(sizes: tuple[int, ...]) -> int: ...

What is known of one object is in a table of identities: an entry dies with its object, so that these tables
are as large as the programs that are alive. All others keep what they hold: when together they exceed the
session's limit, they are emptied before the next program, all at once, because identities of what one table
holds may be keys of another. Between reports on one program they may hold more, if reading it added much: a
program of many different constants needs that many entries, and would fill the tables again for each report.
What was emptied is kept until that program ends, so that no identity is reused
while a report in another thread still works with it. Threads may fill a table at once: `setdefault` adds an
entry, so that all have one object, and identities that are keys are those of objects that are kept.

A cache keeps the last results of a function of values of programs. It has a size of its own, and is emptied
with the tables: what a process holds after many programs is then what it held after the first that filled
them, instead of growing until the slowest cache is full.

Not here: caches by class, name of an op or order of a series (`functools.lru_cache`), of which there are few,
and those of one run (fields of its objects).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any, Generic, ParamSpec, TypeVar, cast
from weakref import ref

V = TypeVar("V")
Parameters = ParamSpec("Parameters")

DEFAULT_LIMIT = 1 << 16
"""Entries in all tables together, up to 1 kB each: twice what a training step of 48 layers needs."""
PER_READ = 32
"""Entries that all reports on a program need for each that reading it added: most programs need 20."""
PARTS_PER_ENTRY = 16
LARGE_TEXT = 1 << 8
"""Longer texts are not memoized: there are few in a program, and different ones in the next."""


class _Key(ref[Any]):
    """A weak reference that knows its entry."""

    __slots__ = ("identity", "table")
    identity: int
    table: dict[int, Any]


def _forget(key: Any) -> None:
    # As Python ends there are no globals any more, as the class of the key.
    key.table.pop(key.identity, None)


class Identities(dict[int, tuple[V, _Key]], Generic[V]):
    """Values by the identity of objects; an entry dies with its object.

    `known = table.get(id(thing))`, then `known[0]`, is the look-up: a method would double its time.

    >>> class Thing: pass
    >>> thing, lengths = Thing(), Identities[int]()
    >>> lengths.remember(thing, 5), lengths[id(thing)][0]
    (5, 5)
    >>> del thing
    >>> lengths
    {}
    """

    def remember(self, thing: object, value: V) -> V:
        """Keeps `value` as long as `thing` lives; returns it. The value must not hold the thing."""
        key = _Key(thing, _forget)
        key.identity, key.table = id(thing), self
        self[key.identity] = value, key
        return value


class Session:
    """Memo tables with a common bound.

    limit: entries that the tables may hold together when a program is read. When more work on it begins,
    `PER_READ` more for each that reading it added, of `limit` at most.

    >>> session = Session(limit=2)
    >>> squares = session.table("squares")
    >>> squares.update({n: n * n for n in range(5)})
    >>> with session.program():
    ...     print(len(squares))
    0
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._tables: dict[str, dict[object, object]] = {}
        self._identities: dict[str, Identities[Any]] = {}
        self._referring: dict[str, Identities[Any]] = {}
        self._caches: list[Callable[[], None]] = []
        self._emptied: list[dict[object, object]] = []
        self._running = 0
        self._charged = 0
        self._read = 0
        self._lock = Lock()

    def table(self, name: str) -> dict[Any, Any]:
        """Returns the table of that name, a new one if there is none."""
        return self._tables.setdefault(name, {})

    def identities(self, name: str, *, refers_to_tables: bool = False) -> Identities[Any]:
        """Returns the table of identities of that name, a new one if there is none.

        refers_to_tables: whether it is emptied with the other tables, as what it holds is from one of these.
        """
        found = self._identities.setdefault(name, Identities())
        if refers_to_tables:
            self._referring[name] = found
        return found

    def cache(self, size: int) -> Callable[[Callable[Parameters, V]], Callable[Parameters, V]]:
        """Decorates a function whose last results, `size` at most, are kept until the tables are emptied.

        >>> session = Session()
        >>> @session.cache(8)
        ... def square(n: int) -> int:
        ...     print("computed")
        ...     return n * n
        >>> square(3) + square(3)
        computed
        18
        """

        def decorated(function: Callable[Parameters, V]) -> Callable[Parameters, V]:
            found = lru_cache(maxsize=size)(function)
            self._caches.append(found.cache_clear)
            return cast("Callable[Parameters, V]", found)

        return decorated

    def charge(self, parts: int) -> None:
        """Counts an entry of many parts, such as the signature of an op with 1,000 operands, as several."""
        self._charged += parts // PARTS_PER_ENTRY

    @property
    def sizes(self) -> dict[str, int]:
        """The number of entries of each table."""
        return {name: len(table) for name, table in (self._tables | self._identities).items()}

    @contextmanager
    def program(self, *, is_read: bool = False) -> Generator[None]:
        """Surrounds the work on one program; empties the tables first if they exceed the limit.

        Programs may nest and run in several threads: tables are emptied only while none is being worked on.

        is_read: whether a program is read within.
        """
        with self._lock:
            more = 0 if is_read else PER_READ * min(self._read, self.limit)
            if not self._running and self._entries > self.limit + more:
                self._empty()
                if is_read:
                    self._read = 0
            self._running += 1
            before = self._entries
        try:
            yield
        finally:
            with self._lock:
                if is_read:  # known ones add little: what was added for them counts, until it is emptied
                    self._read = max(self._read, self._entries - before)
                self._running -= 1
                if not self._running:
                    self._emptied = []

    @property
    def _entries(self) -> int:
        """Entries, with those that are charged, of all tables that keep what they hold."""
        return sum(map(len, self._tables.values())) + self._charged

    def clear(self) -> None:
        """Forgets everything, unless a program is being worked on."""
        with self._lock:
            if not self._running:
                self._empty()
                self._emptied = []
                for table in self._identities.values():
                    table.clear()

    def _empty(self) -> None:
        self._charged = 0
        self._emptied = [dict(table) for table in self._tables.values()]
        for table in (*self._tables.values(), *self._referring.values()):
            table.clear()
        for clear_cache in self._caches:
            clear_cache()
        _OLD.expect_garbage()


SESSION = Session()
"""The session of the process."""


@contextmanager
def without_collection(*, begins_program: bool = False) -> Generator[None]:
    """Disable the cyclic garbage collector within; restores its state afterwards.

    What was made within is mostly kept, so it enters the oldest generation at once: the collector does not
    traverse it in each younger one. It does when as many objects came this way as were alive before.

    begins_program: whether a program is read within. Those before it may have ended, and their IR is cyclic:
    it is collected first if it may be large, so that a process that reads many programs stays small.

    >>> with without_collection():
    ...     gc.isenabled()
    False
    """
    was_enabled = gc.isenabled()
    if was_enabled and begins_program:
        _OLD.begin_program()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _OLD.take_young()
            gc.enable()


def _alive() -> int:
    """The number of objects that the collector knows, without a list of them."""
    gc.freeze()
    count = gc.get_freeze_count()
    gc.unfreeze()
    return count


class _OldGeneration:
    """Counts the objects that entered the oldest generation without being traversed."""

    FEWEST = 4_000_000
    """Objects, of about 100 bytes, that may enter between two collections while one program is worked on."""
    FEWEST_OF_ENDED = 200_000
    """Objects that may have entered, and be garbage, when the next program is read."""

    def __init__(self) -> None:
        self._entered = 0
        self._alive = 0
        self._bound = self.FEWEST
        self._is_due = False

    def expect_garbage(self) -> None:
        """Has the next program begin with a collection: tables were emptied.

        They and the garbage of programs grow at paces of their own. Were the two not brought in step, the
        process would be largest when both happen to be, which takes many thousands of programs.
        """
        self._is_due = True

    def begin_program(self) -> None:
        """Collects what earlier programs left, if that may be more than is alive."""
        is_due = self._is_due or self._entered > max(self.FEWEST_OF_ENDED, self._alive * 2 // 3)
        if is_due and not gc.get_freeze_count():
            self._collect()

    def take_young(self) -> None:
        """Moves all young objects to the oldest generation; collects that if it may have doubled."""
        if gc.get_freeze_count():
            return  # the program froze objects, which `unfreeze` would release
        made = gc.get_count()[0]
        self._entered += made
        gc.freeze()
        gc.unfreeze()
        # A call that made little leaves the collection to one that makes much, unless there is none.
        bound = self._bound * (1 if made * 4 > self._bound else 2)
        if self._entered > bound:
            self._entered = _alive() - self._alive  # without those that have died since they entered
            if self._entered > bound:
                self._collect()

    def _collect(self) -> None:
        gc.collect()
        self._entered, self._alive, self._is_due = 0, _alive(), False
        self._bound = max(self.FEWEST, self._alive)


_OLD = _OldGeneration()
