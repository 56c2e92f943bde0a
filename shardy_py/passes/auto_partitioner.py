"""The user's auto-partitioner: a function that may add and change shardings after propagation.

    def shard_the_rest(module: ModuleOp) -> None: ...

    with auto_partitioner(shard_the_rest):
        ...                                     the pipeline with enable-auto-partitioning

At most one is registered. Not here: running and verifying it (`auto_partition.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shardy_py.errors import ShardyError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

AutoPartitioner = Callable[["ModuleOp"], None]
"""Called with the module after propagation; changes its shardings in place."""

_registered: list[AutoPartitioner] = []


def register_auto_partitioner(partitioner: AutoPartitioner) -> None:
    """Registers `partitioner`. Raises `ShardyError` if there is one already."""
    if _registered:
        raise ShardyError("auto-partitioner callback already registered")
    _registered.append(partitioner)


def clear_auto_partitioner() -> None:
    """Unregisters the partitioner, if there is one."""
    _registered.clear()


def registered_auto_partitioner() -> AutoPartitioner:
    """The registered partitioner. Raises `ShardyError` if there is none."""
    if not _registered:
        raise ShardyError("auto-partitioner callback wasn't registered")
    return _registered[0]


@contextmanager
def auto_partitioner(partitioner: AutoPartitioner) -> Generator[None]:
    """Registers `partitioner` within a with-block."""
    register_auto_partitioner(partitioner)
    try:
        yield
    finally:
        clear_auto_partitioner()
