"""Where ops go while a Python function is traced, and from which line of it they come.

Not here: the ops (`emit.py`).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation

from shardy_py.api.annotate import Editor
from shardy_py.errors import Position, ShardyError
from shardy_py.text.source import position_of

_PACKAGE = str(Path(__file__).parent.parent)
_CONTEXTLIB = contextlib.__file__


@dataclass(eq=False)
class Trace:
    """One program under construction.

    functions: those called so far, by the Python function and the types of its arguments.
    """

    module: ModuleOp
    editor: Editor
    functions: dict[object, Operation] = field(default_factory=dict[object, Operation])


_TRACE: ContextVar[Trace | None] = ContextVar("trace", default=None)
_BLOCK: ContextVar[Block | None] = ContextVar("block", default=None)


def current_trace() -> Trace:
    """The program under construction. Raises `ShardyError` outside of a traced function."""
    trace = _TRACE.get()
    if trace is None:
        raise ShardyError(
            "there is no program under construction: ops are built in a function given to `build`"
        )
    return trace


def insert(op: Operation) -> None:
    """Put an op last in the current block."""
    current_trace()
    block = _BLOCK.get()
    assert block is not None
    block.add_op(op)


@contextmanager
def tracing(trace: Trace) -> Generator[None]:
    """Within, `trace` is the program under construction."""
    token = _TRACE.set(trace)
    try:
        yield
    finally:
        _TRACE.reset(token)


@contextmanager
def inserting_into(block: Block) -> Generator[None]:
    """Within, ops go to the end of `block`."""
    token = _BLOCK.set(block)
    try:
        yield
    finally:
        _BLOCK.reset(token)


def caller_location() -> Attribute:
    """The line of the innermost caller outside of this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return UnknownLoc()
    return FileLineColLoc(StringAttr(frame.f_code.co_filename), IntAttr(frame.f_lineno), IntAttr(1))


def _is_ours(file: str) -> bool:
    """Whether a frame is of this package, or of the context managers in it."""
    return file.startswith((_PACKAGE, _CONTEXTLIB))


@contextmanager
def blaming_caller() -> Generator[None]:
    """Errors raised within that know no place get the innermost line outside of this package."""
    try:
        yield
    except ShardyError as error:
        place = _blamed(error.__traceback__) or position_of(caller_location())
        if place is None or all(d.position for d in error.diagnostics):
            raise
        raise ShardyError(*(d.at(place) for d in error.diagnostics)) from None


def _blamed(traceback: TracebackType | None) -> Position | None:
    place = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not _is_ours(file):
            place = Position(file, traceback.tb_lineno, 1)
        traceback = traceback.tb_next
    return place
