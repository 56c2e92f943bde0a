"""The console scripts: each loads its command and runs it; an interrupt meanwhile leaves no traceback.

Not here: the commands (`cli/`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

_INTERRUPTED = 130
"""The exit code of a command that a signal ended, as shells report it."""


def run(module: str) -> int:
    """Runs the command of a module with the arguments of the process; returns the exit code."""
    try:
        return import_module(module).main()
    except KeyboardInterrupt:
        return _INTERRUPTED


sdy_opt: Callable[[], int] = partial(run, "shardy_py.cli")
hlo_indexing: Callable[[], int] = partial(run, "shardy_py.cli.hlo_indexing")
hlo_layout: Callable[[], int] = partial(run, "shardy_py.cli.layout")
sdy_check: Callable[[], int] = partial(run, "shardy_py.cli.check")
sdy_diff: Callable[[], int] = partial(run, "shardy_py.cli.diff")
shardy_view: Callable[[], int] = partial(run, "shardy_py.cli.view")
