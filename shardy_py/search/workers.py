"""Work that an executor of `concurrent.futures` does: processes of this machine, or of a cluster.

    workers = Workers(executor, 4)
    pending = workers.begin(here, function, *arguments)
    pending.result()

A worker has one task at a time: others can be dropped, as long as they have not begun. What a worker that is
lost had is computed here. Not here: what is computed (`evaluating.py`).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import field
from functools import partial
from typing import Generic, TypeVar

from shardy_py.api import remarks
from shardy_py.api.arguments import expect_integer, shown
from shardy_py.base.errors import ShardyError
from shardy_py.base.plugins import load_plugins, loaded_plugins
from shardy_py.base.records import dataclass

R = TypeVar("R")
Made = TypeVar("Made", covariant=True)
_MOST = 1 << 10
_RENEWALS = 3
"""The times that processes which died are replaced."""


@dataclass(eq=False)
class PendingTask(Generic[Made]):
    """A result that is asked for later.

    here: computes it in this process. function, arguments: compute it in another one. workers: None if it is
    computed here. is_needless: says, before a worker begins it, whether it will hardly be asked for.
    """

    here: Callable[[], Made]
    function: Callable[..., Made] | None = None
    arguments: tuple[object, ...] = ()
    workers: Workers | None = None
    is_needless: Callable[[], bool] = lambda: False
    future: Future[Made] | None = None

    @property
    def found(self) -> Made | None:
        """The result, if a worker has computed it."""
        future = self.future
        if future is None or not future.done() or future.cancelled() or future.exception():
            return None
        return future.result()

    def result(self) -> Made:
        """Returns the result, when it is there; computes it if no worker does."""
        if self.workers is None or not self.workers.awaited(self):
            return self.here()
        assert self.future is not None
        try:
            return self.future.result()
        except Exception as error:
            self.workers.lose(error)
            return self.here()

    def drop(self) -> bool:
        """Forgets it, if no worker has begun it; returns whether it is forgotten."""
        return self.workers is not None and self.workers.drop(self)


_Task = PendingTask[object]


@dataclass(eq=False)
class Workers:
    """The workers of an executor.

    executor: None if everything is computed in this process. count: tasks at a time. renewed: makes another
    executor, if the first one was made here and breaks.
    """

    executor: Executor | None
    count: int
    renewed: Callable[[], Executor] | None = None
    _renewals: int = _RENEWALS
    _waiting: deque[_Task] = field(default_factory=deque[_Task])
    _running: list[_Task] = field(default_factory=list[_Task])
    _is_said: bool = False

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the processes that were started here, when they have computed what they began."""
        if self.renewed is not None and self.executor is not None:
            self.executor.shutdown(wait=False, cancel_futures=True)

    @property
    def are_none(self) -> bool:
        """True if everything is computed in this process."""
        return self.executor is None

    def begin(
        self,
        here: Callable[[], R],
        function: Callable[..., R],
        *arguments: object,
        is_needless: Callable[[], bool] = lambda: False,
    ) -> PendingTask[R]:
        """Returns a task, which the next worker that is free computes. The function must be picklable.

        is_needless: if it says so, no worker begins the task until it is asked for.
        """
        pending = PendingTask(here, function, arguments, self, is_needless)
        self._waiting.append(pending)
        self._fill()
        return pending

    def awaited(self, pending: _Task) -> bool:
        """Waits until a task has ended, while others begin; returns False if no worker takes it."""
        while pending.future is None or not pending.future.done():
            self._fill(pending)
            if pending.future is None and pending not in self._waiting:
                return False
            wait([each.future for each in self._running if each.future], return_when=FIRST_COMPLETED)
        self._fill()
        return True

    def drop(self, pending: _Task) -> bool:
        """Forgets a task, if no worker has begun it; returns whether it is forgotten."""
        if pending in self._waiting:
            self._waiting.remove(pending)
            return True
        return pending.future is None or pending.future.cancel()

    def prepare(self, function: Callable[[], object]) -> None:
        """Lets all workers begin a function, so that they start while this process does other work."""
        if self.renewed is not None or isinstance(self.executor, ProcessPoolExecutor):
            for _ in range(self.count):
                self.begin(lambda: None, function)

    def lose(self, error: Exception) -> None:
        """Notes that a worker has not computed what it had; says so once."""
        if not self._is_said:
            self._is_said = True
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
            what = f"a worker is lost, what it had is computed in this process: {reason}"
            remarks.say((what,), "workers")

    def _fill(self, asked: _Task | None = None) -> None:
        """Gives tasks to the workers that are free; asked: one that is not needless."""
        self._running = [each for each in self._running if each.future and not each.future.done()]
        while len(self._running) < self.count:
            needed = (each for each in self._waiting if each is asked or not each.is_needless())
            pending = next(needed, None)
            if pending is None:
                break
            self._waiting.remove(pending)
            pending.future = self._submitted(pending)
            if pending.future is not None:
                self._running.append(pending)

    def _submitted(self, pending: PendingTask[R]) -> Future[R] | None:
        while self.executor is not None and pending.function is not None:
            try:
                return self.executor.submit(pending.function, *pending.arguments)
            except Exception as error:  # it is broken or shut down, in the words of its package
                self.lose(error)
                can_renew, self._renewals = (
                    self.renewed is not None and self._renewals > 0,
                    self._renewals - 1,
                )
                self.executor = self.renewed() if can_renew and self.renewed is not None else None
        return None


def workers_of(executor: Executor | None = None, count: int | None = None) -> Workers:
    """Returns the workers of an executor, or so many processes of this machine; without either, none.

    Raises:
        ShardyError: the executor has no `submit`, or the number is not one.
    """
    if count is not None:
        expect_integer("workers", count, 1, _MOST)
    if executor is not None:
        if not callable(getattr(executor, "submit", None)):
            expected = "an executor as those of concurrent.futures, with a method submit"
            raise ShardyError.unexpected("executor", expected=expected, got=shown(executor))
        return Workers(executor, count or _count_of(executor))
    return (
        Workers(None, 1) if count is None else Workers(_processes(count), count, partial(_processes, count))
    )


def _count_of(executor: Executor) -> int:
    """The number of workers that an executor says it has; else of the processors here."""
    found = (getattr(executor, name, None) for name in ("_max_workers", "num_workers"))
    return next((n for n in found if isinstance(n, int) and n > 0), os.cpu_count() or 1)


def _processes(count: int) -> ProcessPoolExecutor:
    """Processes that are started anew, as a copy of one with threads may hang."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, context, _begin_process, (loaded_plugins(),))


def _begin_process(plugins: tuple[str, ...]) -> None:
    """Leaves interrupts of the terminal, which all of its processes get, to the process that waits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load_plugins(*plugins)
