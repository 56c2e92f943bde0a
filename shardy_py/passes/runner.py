"""Runs sequences of passes on a module, with verification, observers and recording; nothing else does.

    run_passes(module, propagation_passes())
    run_passes(module, calls, verify="each", observers=(progress_observer(begin),))

`pipeline.py`, `api/` and `sdy-opt` all use it. Not here: which passes run (`pipelines.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Literal

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.ir import OpIndex, indexed
from shardy_py.mlir.movements import recorded
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.passes.registration import PassCall
from shardy_py.propagation.graph.run_record import Record

Observer = Callable[[PassCall | None, ModuleOp], AbstractContextManager[object]]
"""Returns a context manager that is entered around a pass, or, given None, around the verifier."""


def run_passes(
    module: ModuleOp,
    calls: Iterable[PassCall],
    *,
    verify: Literal["end", "each", "never"] = "end",
    observers: Sequence[Observer] = (),
) -> ModuleOp:
    """Runs passes on `module` in place, in order, and returns it.

    verify: whether the module is verified after the last pass, after each pass, or not at all.
    observers: entered in this order around each pass and each run of the verifier.

    Raises:
        ShardyError: a pass rejects the program, or what it leaves is invalid.
    """

    def observed(call: PassCall | None, work: Callable[[], object]) -> None:
        if not observers:
            work()
            return
        with ExitStack() as stack:
            for observer in observers:
                stack.enter_context(observer(call, module))
            work()

    ops = _Ops(module)
    with SESSION.program(), deep_stack():
        for call in calls:
            observed(call, lambda call=call: ops.run(call))
            if verify == "each":
                observed(None, lambda: verify_module(module))
        if verify == "end":
            observed(None, lambda: verify_module(module))
    return module


class _Ops:
    """The ops of a module, searched once for many passes; passes without an op to work on are left out."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._index: OpIndex | None = None

    def run(self, call: PassCall) -> None:
        """Runs a pass, unless it would change nothing."""
        row = call.row
        if self._index is None and (row.needs or row.tracked):
            self._index = OpIndex(self._module)
        if row.needs and not _has_options(call) and self._has_none(row.needs):
            return
        if not row.tracked:
            self._index = None
        with indexed(self._index):
            call.run(self._module)

    def _has_none(self, names: frozenset[str]) -> bool:
        """Returns whether it is known that the module has no op of these names."""
        known = () if self._index is None else self._index.samples
        return self._index is not None and not any(op_class.name in names for op_class, _ in known)


def _has_options(call: PassCall) -> bool:
    return any(value for _, value in call.options)


def progress_observer(begin: Callable[[str], None]) -> Observer:
    """Calls `begin` with the name of each pass; `progress` gives such a function."""

    def observe(call: PassCall | None, module: ModuleOp) -> AbstractContextManager[object]:
        if call is not None:
            begin(call.row.name)
        return nullcontext()

    return observe


@contextmanager
def recording() -> Generator[Record]:
    """Yields the record of what all passes run within do to shardings.

    Recording changes no pass and costs little: the record is evaluated only when it is queried.
    """
    with recorded() as events:
        yield Record(events)
