"""The programs that Model Explorer asks for: read, propagated, and kept while their file does not change."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import PurePath
from threading import Lock

from shardy_py.api import Program, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.base.session import without_collection
from shardy_py.viewer.explorer import Subject
from shardy_py.viewer.model_explorer_graphs import ModelExplorerGraphs, model_explorer_of

_one_at_a_time = Lock()  # the server answers each request in a thread of its own


@without_collection()
def graphs_of_file(path: str, *, is_propagated: bool) -> ModelExplorerGraphs:
    """Returns the graphs of an MLIR file.

    is_propagated: after propagation, of a program of JAX as its compiler does, with collectives; otherwise as
    it is written, with the shardings in it.

    Raises:
        ShardyError: the file cannot be read, or a pass rejects the program.
    """
    try:
        changed = os.stat(path).st_mtime_ns
    except OSError as error:
        raise ShardyError.unopened(path, error) from error
    with _one_at_a_time:
        return _graphs(path, changed, is_propagated)


@lru_cache(maxsize=4)
def _graphs(path: str, changed: int, is_propagated: bool) -> ModelExplorerGraphs:
    title = PurePath(path).name
    if not is_propagated:
        program = Program.load(path, as_compiled=False)
        return model_explorer_of(Subject(title, program.values.table))
    return propagate(Program.load(path), progress=False).model_explorer(title=title)
