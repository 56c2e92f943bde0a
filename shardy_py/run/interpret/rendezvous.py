"""The meeting point of devices: communication between groups of devices that do not run in lockstep.

Devices that take different branches, or run different functions, are tasks: threads of which one runs at a
time. A task that reaches a collective waits until all members of its groups have reached it. When all tasks
wait, the program is in deadlock. Devices in lockstep meet without any of this.

Not here: what collectives compute (`collectives.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextvars import copy_context
from dataclasses import field
from threading import Condition, Thread

import numpy as np

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.run.interpret.values import Value

Key = Hashable
"""The identity of a meeting: op, channel and groups."""


class _Cancelled(Exception):
    """Ends a task because another one failed."""


@dataclass(eq=False)
class _Meeting:
    """The values that processes brought to one meeting, each with the position of its lane."""

    brought: dict[int, tuple[Sequence[Value], int]] = field(
        default_factory=dict[int, tuple[Sequence[Value], int]]
    )
    left: set[int] = field(default_factory=set[int])


@dataclass(eq=False)
class _Task:
    waits_for: Callable[[], bool] | None = None
    reason: Callable[[], Diagnostic] | None = None
    result: list[Value] | None = None
    error: BaseException | None = None
    is_done: bool = False


class Rendezvous:
    """The meetings of one run, and its tasks."""

    def __init__(self) -> None:
        self._meetings: dict[tuple[Key, int], _Meeting] = {}
        self._visits: dict[Key, Counter[int]] = {}
        self._baton = Condition()
        self._running: _Task | None = None
        self._tasks: list[_Task] = [_Task()]
        self._running = self._tasks[0]
        self._failed = False
        self._queues: dict[int, list[Sequence[Value]]] = {}

    # ------------------------------------------------------------------ tasks

    def run_all(self, work: Sequence[Callable[[], list[Value]]]) -> list[list[Value]]:
        """Runs functions as tasks beside each other; returns the results of all, in order.

        Raises:
            ShardyError: a task failed, or all of them wait for each other.
        """
        parent = self._running
        assert parent is not None
        tasks = [_Task() for _ in work]
        threads = [
            Thread(target=copy_context().run, args=(self._run_task, task, run), daemon=True)
            for task, run in zip(tasks, work, strict=True)
        ]
        self._tasks += tasks
        for thread in threads:
            thread.start()
        try:
            self._wait(parent, lambda: all(task.is_done for task in tasks), None)
        finally:
            if not all(task.is_done for task in tasks):  # a failure elsewhere, or Ctrl-C
                self._failed = True
                with self._baton:
                    self._running = None
                    self._baton.notify_all()
            for thread in threads:
                thread.join()
            self._tasks = [task for task in self._tasks if task not in tasks]
            self._running = parent
        errors = [task.error for task in tasks if task.error is not None]
        own = [error for error in errors if not isinstance(error, _Cancelled)]
        if errors:
            raise (own or errors)[0]
        return [task.result or [] for task in tasks]

    def _run_task(self, task: _Task, run: Callable[[], list[Value]]) -> None:
        with self._baton:
            self._baton.wait_for(lambda: self._running is task or self._failed)
        try:
            if self._failed:
                raise _Cancelled
            with deep_stack(), np.errstate(all="ignore"):
                task.result = run()
        except BaseException as error:
            task.error = error
            self._failed = True
        task.is_done = True
        with self._baton:
            self._pass_on()

    def _wait(self, task: _Task, ready: Callable[[], bool], reason: Callable[[], Diagnostic] | None) -> None:
        """Lets other tasks run until `ready`."""
        task.waits_for, task.reason = ready, reason
        with self._baton:
            self._pass_on()
            self._baton.wait_for(lambda: self._running is task or self._failed)
        task.waits_for = task.reason = None
        if self._failed and reason is not None:
            if task.error is not None:
                raise task.error
            raise _Cancelled

    def _pass_on(self) -> None:
        """Hands the baton to a task that can run; if there is none, the waiting ones fail."""
        for task in reversed(self._tasks):
            if not task.is_done and (task.waits_for is None or task.waits_for()):
                self._running = task
                break
        else:
            blocked = [task for task in self._tasks if not task.is_done and task.reason is not None]
            if blocked:
                blocked[0].error = ShardyError(
                    *(task.reason() for task in blocked if task.reason is not None)
                )
            self._failed = True
            self._running = None
        self._baton.notify_all()

    # ------------------------------------------------------------------ meetings

    def meet(
        self,
        key: Key,
        members: Iterable[int],
        groups: Sequence[Sequence[int]],
        operands: Sequence[Value],
        describe: Callable[[Sequence[int]], Diagnostic],
    ) -> dict[int, tuple[Sequence[Value], int]]:
        """Waits until all processes of the members' groups have come.

        describe: makes the message of a deadlock from the processes that never came.

        Returns the operands of each process of these groups, with the position of its lane.
        """
        own = list(members)
        needed = sorted({p for group in groups for p in group if not set(own).isdisjoint(group)} | set(own))
        visits = self._visits.setdefault(key, Counter())
        turn = {process: visits[process] for process in own}
        for lane, process in enumerate(own):
            visits[process] += 1
            self._meeting(key, turn[process]).brought[process] = (operands, lane)
        round_ = turn[own[0]]
        meeting = self._meeting(key, round_)

        def missing() -> list[int]:
            return [process for process in needed if process not in meeting.brought]

        if missing():
            task = self._running
            assert task is not None
            if len(self._tasks) == 1:
                raise ShardyError(describe(missing()))
            self._wait(task, lambda: not missing(), lambda: describe(missing()))
        brought = {process: meeting.brought[process] for process in needed}
        meeting.left.update(own)
        if meeting.left >= meeting.brought.keys():
            self._meetings.pop((key, round_), None)
        return brought

    def _meeting(self, key: Key, turn: int) -> _Meeting:
        return self._meetings.setdefault((key, turn), _Meeting())

    # ------------------------------------------------------------------ channels

    def send(self, channel: int, values: Sequence[Value]) -> None:
        """Puts values into a channel."""
        self._queues.setdefault(channel, []).append(values)

    def receive(self, channel: int, describe: Callable[[Sequence[int]], Diagnostic]) -> Sequence[Value]:
        """Waits for values in a channel."""
        queue: list[Value] = self._queues.setdefault(channel, [])
        if not queue:
            task = self._running
            assert task is not None
            if len(self._tasks) == 1:
                raise ShardyError(describe(()))
            self._wait(task, lambda: bool(queue), lambda: describe(()))
        return queue.pop(0)
