"""The place of new ops while a Python function is traced, and the line of it that they come from.

Not here: the ops (`emit.py`).
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from types import TracebackType

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from shardy_py.api.annotate import Editor
from shardy_py.base.errors import Position, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.source import position_of

_PACKAGE = str(Path(__file__).parent.parent) + os.sep
_CONTEXTLIB = contextlib.__file__
MOST_NESTED = 100
"""The deepest nesting of regions; MLIR's text is not read much deeper."""
Signatures = dict[object, tuple[dict[str, Attribute], list[Attribute]]]


@dataclass(eq=False)
class Trace:
    """One program under construction.

    functions: those called so far, by the Python function and the types of its arguments.
    signatures: properties and result types of verified ops, by the key that determines them.
    blocks: all blocks, by identity. locations: by file and line.
    kept: objects that the other fields identify, kept alive.
    """

    module: ModuleOp
    editor: Editor
    functions: dict[object, tuple[FuncOp, bool] | None] = field(
        default_factory=dict[object, "tuple[FuncOp, bool] | None"]
    )
    signatures: Signatures = field(default_factory=Signatures)
    blocks: dict[int, Block] = field(default_factory=dict[int, Block])
    locations: dict[tuple[str, int], Attribute] = field(default_factory=dict[tuple[str, int], Attribute])
    kept: list[object] = field(default_factory=list[object])


@dataclass(frozen=True, slots=True, eq=False)
class _Scope:
    """The block that ops go to, and the identities of those whose values they may use."""

    block: Block
    visible: frozenset[int]


_TRACE: ContextVar[Trace | None] = ContextVar("trace", default=None)
_SCOPE: ContextVar[_Scope | None] = ContextVar("scope", default=None)


def current_trace() -> Trace:
    """The program under construction. Raises `ShardyError` outside of a traced function."""
    trace = _TRACE.get()
    if trace is None:
        raise ShardyError("no program is under construction; ops are built in a function passed to `build`")
    return trace


def current_block() -> Block:
    """The block that ops go to. Raises `ShardyError` outside of a traced function."""
    current_trace()
    scope = _SCOPE.get()
    assert scope is not None
    return scope.block


def insert(op: Operation) -> None:
    """Appends an op to the current block. Raises `ShardyError` if it uses a value out of scope."""
    trace, scope = current_trace(), _SCOPE.get()
    assert scope is not None
    for operand in operands_of(op):
        block = operand.op.parent if isinstance(operand, OpResult) else operand.owner
        if id(block) not in scope.visible:
            op.drop_all_references()
            raise ShardyError(_out_of_scope(operand, id(block) in trace.blocks))
    scope.block.add_op(op)


def _out_of_scope(value: SSAValue, is_of_trace: bool) -> str:
    text = attribute_text(value.type)
    if is_of_trace:
        return (
            f"a {text} of another function, from outside a manual computation, or of a finished region "
            "is used; pass it to `call` or `manual_computation` as an argument, or return it"
        )
    return f"a {text} of another program is used; each call of `build` makes a separate program"


@contextmanager
def tracing(trace: Trace) -> Generator[None]:
    """Within, `trace` is the program under construction."""
    token, scope = _TRACE.set(trace), _SCOPE.set(None)
    try:
        yield
    finally:
        _SCOPE.reset(scope)
        _TRACE.reset(token)


@contextmanager
def inserting_into(block: Block, *, isolated: bool = False) -> Generator[None]:
    """Within, ops go to the end of `block`; isolated: values from outside are invalid."""
    outer = _SCOPE.get()
    visible = frozenset[int]() if isolated or outer is None else outer.visible
    if len(visible) >= MOST_NESTED:
        raise ShardyError(f"regions nest deeper than {MOST_NESTED} levels; use a loop or `call`")
    current_trace().blocks[id(block)] = block
    token = _SCOPE.set(_Scope(block, visible | {id(block)}))
    try:
        yield
    finally:
        _SCOPE.reset(token)


def caller_location() -> Attribute:
    """The line of the innermost caller outside of this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return UnknownLoc()
    place, trace = (frame.f_code.co_filename, frame.f_lineno), _TRACE.get()
    known = None if trace is None else trace.locations.get(place)
    if known is None:
        known = FileLineColLoc(StringAttr(place[0]), IntAttr(place[1]), IntAttr(1))
        if trace is not None:
            trace.locations[place] = known
    return known


@lru_cache(maxsize=4096)
def _is_ours(file: str) -> bool:
    """Returns whether a frame is of this package, or of the context managers in it."""
    return file.startswith((_PACKAGE, _CONTEXTLIB))


@contextmanager
def blaming_caller() -> Generator[None]:
    """Errors without a location raised within get the innermost line outside of this package."""
    try:
        yield
    except ShardyError as error:
        place = _blamed(error.__traceback__) or position_of(caller_location())
        if place is None or all(d.where for d in error.diagnostics):
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
