"""The user's own partitioner: a function that may add and change shardings once propagation is done.

    def shard_the_rest(module: ModuleOp) -> None: ...

    with auto_partitioner(shard_the_rest):
        ...                                     the pipeline with enable-auto-partitioning

There is at most one. Not here: running and checking it (`auto_partition.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shardy_py.errors import ShardyError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

AutoPartitioner = Callable[["ModuleOp"], None]
"""Gets the module after propagation, and changes its shardings in place."""

_registered: list[AutoPartitioner] = []


def register_auto_partitioner(partitioner: AutoPartitioner) -> None:
    """Use `partitioner` from now on; an error if there is one already."""
    if _registered:
        raise ShardyError("auto-partitioner callback already registered")
    _registered.append(partitioner)


def clear_auto_partitioner() -> None:
    """Forget the partitioner, if there is one."""
    _registered.clear()


def registered_auto_partitioner() -> AutoPartitioner:
    """The partitioner; an error if there is none."""
    if not _registered:
        raise ShardyError("auto-partitioner callback wasn't registered")
    return _registered[0]


@contextmanager
def auto_partitioner(partitioner: AutoPartitioner) -> Generator[None]:
    """Use `partitioner` inside a with-block."""
    register_auto_partitioner(partitioner)
    try:
        yield
    finally:
        clear_auto_partitioner()
