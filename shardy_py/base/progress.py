"""A progress bar for long work: shown on a terminal after one second, removed at the end.

`rich` is imported when the bar appears, so shorter work costs only a timer. Not here: the steps
(`api/propagating.py`, `cli/driver.py`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from shardy_py.base.terminal import without_controls

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY_SECONDS = 1.0


@contextmanager
def progress(steps: int, *, shown: bool = True) -> Generator[Callable[[str], None]]:
    """Yields a function to call with the name of each of `steps` steps when it begins.

    shown: whether to show a bar if standard error is a terminal that can move its cursor.
    """
    if not (shown and steps and can_show()):
        yield lambda name: None
        return
    bar = _Bar(steps)
    try:
        yield bar.begin
    finally:
        bar.close()


def can_show() -> bool:
    """Returns whether standard error shows a bar."""
    return _is_terminal(sys.stderr)


def _is_terminal(stream: TextIO | None) -> bool:
    """Returns whether a stream is a terminal that can move its cursor."""
    if stream is None or stream.closed or not stream.isatty():
        return False
    return os.environ.get("TERM", "dumb") not in ("dumb", "unknown")


class _Bar:
    """Counts the steps begun, and shows the bar from a timer's thread."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._start = monotonic()
        self._begun = 0
        self._name = ""
        self._shown: tuple[Progress, TaskID] | None = None
        self._is_closed = False
        self._lock = Lock()
        self._timer = Timer(DELAY_SECONDS, self._show)
        self._timer.daemon = True
        self._timer.start()

    def begin(self, name: str) -> None:
        with self._lock:
            self._begun += 1
            self._name = name = without_controls(name, lines=False)
            if self._shown is not None:
                bar, task = self._shown
                bar.update(task, completed=self._begun - 1, description=name, refresh=True)

    def close(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_closed = True
            if self._shown is not None:
                self._shown[0].stop()
        self._timer.join()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._is_closed:
                return
            columns = (
                MofNCompleteColumn(),
                BarColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.description}", markup=False),
            )
            bar = Progress(*columns, console=Console(file=sys.stderr), transient=True)
            task = bar.add_task(self._name, total=self._steps, completed=max(self._begun - 1, 0))
            bar.tasks[task].start_time = self._start
            self._shown = bar, task
            bar.start()
